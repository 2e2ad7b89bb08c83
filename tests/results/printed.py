"""The tables of a page as it stands, for pages that speak of others: what they quote cannot differ from what is there."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from skipstack.data.basis.errors import UserError, unknown
from tests.results.figures import Figure
from tests.results.source import RESULTS

CELL = re.compile(r"(?P<value>[+-]?\d[\d,]*(?:\.\d+)?)(?: ± (?P<half>\d+\.\d+|–))?(?P<mark>\\\*)?$")


class PrintedRow(NamedTuple):
    """A row: the text of each cell by heading, and the cells of its first columns as it is called."""

    name: str
    marked: bool
    cells: Mapping[str, str]

    def has(self, heading: str) -> bool:
        """Whether a figure stands in this column."""
        return CELL.match(self.cells.get(heading, "")) is not None

    def __getitem__(self, heading: object) -> Figure:  # type: ignore[override]
        """The figure in the column of this heading."""
        if heading not in self.cells:
            raise UserError(unknown("column", str(heading), self.cells))
        text = self.cells[str(heading)]
        found = CELL.match(text)
        if found is None:
            raise UserError(f"{self.name}, {heading}: got {text!r} (allowed: a figure)")
        value = float(found["value"].replace(",", ""))
        half = None if found["half"] in (None, "–") else float(found["half"])
        ends = (None, None) if half is None else (value - half, value + half)
        return Figure(value, *ends, text.removesuffix("\\*"))


class PrintedPage:
    """The tables of a page of results."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text

    def row(self, name: str, heading: str = "") -> PrintedRow:
        """The row that is called so, in the first table that has it, and the column ``heading`` if that is named."""
        rows = [row for row in self.rows() if row.name == name and (not heading or heading in row.cells)]
        if not rows:
            raise UserError(f"{self.name}: {unknown('row', name, {row.name for row in self.rows()})}")
        return rows[0]

    def rows(self) -> Iterator[PrintedRow]:
        """All rows of all tables."""
        for table in re.findall(r"(?:^\|.*\n)+", self.text, re.MULTILINE):
            headings, rules, *rows = (_cells(line) for line in table.splitlines())
            names = sum(not rule.endswith(":") for rule in rules)
            for cells in rows:
                *_, last = (cells[:names] or cells[:1])
                name = re.sub(r"^(?:\*|≠|›) ", "", last).strip("`")
                yield PrintedRow(name, last.startswith("* "), dict(zip(headings, cells, strict=True)))

    def part(self, heading: str) -> "PrintedPage | None":
        """What stands below the first heading that has these words; None if there is none."""
        for part in re.split(r"^(?=## )", self.text, flags=re.MULTILINE)[1:]:
            if heading in part.partition("\n")[0]:
                return PrintedPage(self.name, part)
        return None

    @property
    def version(self) -> str:
        """The version of skipstack that its first lines name."""
        found = re.search(r"skipstack (\d+\.\d+\.\d+)", self.text)
        if found is None:
            raise UserError(f"{self.name}: says nowhere which version of skipstack its numbers are of")
        return found[1]


@cache
def printed(name: str) -> PrintedPage:
    """The page called ``name``. Raises UserError if there is none."""
    names = {path.stem for path in RESULTS.glob("*.md")}
    if name not in names:
        raise UserError(unknown("page", name, names))
    return PrintedPage(name, (RESULTS / f"{name}.md").read_text())


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
