"""The tables of a page as it stands, for pages that speak of others: what they quote is what is there."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from skipstack.data.basis.errors import UserError, unknown
from tests.results.figures import Figure
from tests.results.source import RESULTS

CELL = re.compile(r"(?P<value>[+-]?\d[\d,]*(?:\.\d+)?)(?: ± (?P<half>\d+\.\d+|–))?(?:\\\*)?$")
NOT_RUN: Final = "**Nothing of this page was run yet"
NAME = re.compile(r"([*≠›] )?(.*)")


@dataclass(frozen=True)
class PrintedRow:
    """The cells of a row by heading, and what its mark says."""

    name: str
    marked: bool
    cells: Mapping[str, str]

    def has(self, heading: str) -> bool:
        """Whether a figure stands in this column."""
        return CELL.match(self.cells.get(heading, "")) is not None

    def __getitem__(self, heading: str) -> Figure:
        """The figure in the column of this heading."""
        if heading not in self.cells:
            raise UserError(unknown("column", heading, self.cells))
        text = self.cells[heading]
        found = CELL.match(text)
        if found is None:
            raise UserError(f"{self.name}, {heading}: got {text!r} (allowed: a figure)")
        value = float(found["value"].replace(",", ""))
        half = None if found["half"] in (None, "–") else float(found["half"])
        ends = () if half is None else (value - half, value + half)
        return Figure(value, text.removesuffix("\\*"), *ends)


@dataclass(frozen=True)
class PrintedPage:
    """The tables of a page of results."""

    name: str
    text: str

    def row(self, name: str, heading: str) -> PrintedRow:
        """The row that is called so, of the first table that has it, and a column ``heading``. What it brings along, in
        brackets, need not be named.
        """
        rows = {row.name: row for row in reversed(list(self.rows())) if heading in row.cells}
        found = rows.get(name) or next((row for each, row in rows.items() if each.startswith(f"{name} (")), None)
        if found is None:
            raise UserError(f"{self.name}: {unknown('row', name, rows)}")
        return found

    def rows(self) -> Iterator[PrintedRow]:
        """All rows of all tables."""
        for table in re.findall(r"(?:^\|.*\n)+", self.text, re.MULTILINE):
            headings, rules, *rows = (_cells(line) for line in table.splitlines())
            names = max(1, sum(1 for _ in takewhile(lambda rule: not rule.endswith(":"), rules)))
            for cells in rows:
                mark, name = NAME.fullmatch(cells[names - 1]).groups()
                yield PrintedRow(
                    name.strip("`").replace("\\_", "_"), mark == "* ", dict(zip(headings, cells, strict=True))
                )

    def part(self, heading: str) -> "PrintedPage | None":
        """What stands below the first heading that has these words; None if there is none."""
        for part in re.split(r"^(?=## )", self.text, flags=re.MULTILINE)[1:]:
            if heading in part.partition("\n")[0]:
                return PrintedPage(self.name, part)
        return None

    def compared(self, table: str) -> "list[PrintedRow] | None":
        """The rows of its comparison with a paper's table that have both gains; None without that comparison."""
        part = self.part(f"against {table}:")
        both = ("paper: gain", "ours: gain")
        return None if part is None else [row for row in part.rows() if all(map(row.has, both))]

    @property
    def was_run(self) -> bool:
        """Whether it has numbers: a page whose studies nobody has run yet says that instead."""
        return NOT_RUN not in self.text

    @property
    def version(self) -> str:
        """The version of skipstack that its first lines name."""
        found = re.search(r"skipstack (\d+\.\d+\.\d+)", self.text)
        if found is None:
            raise UserError(f"{self.name}: says nowhere which version of skipstack its numbers are of")
        return found[1]


def printed(name: str) -> PrintedPage:
    """The page called ``name``. Raises UserError if there is none."""
    names = {path.stem for path in RESULTS.glob("*.md")}
    if name not in names:
        raise UserError(unknown("page", name, names))
    return PrintedPage(name, (RESULTS / f"{name}.md").read_text())


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
