"""The table of all that the five papers show: what of it was run, at which scale, by which version, and what came out.

It is made of the papers' data (``spaces/papers/*.yaml``) and of the pages' own commands, versions and tables.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from skipstack.search.analysis.confirmation.papers import papers
from skipstack.search.study.study_files.document import presets
from tests.results.printed import PrintedPage, printed
from tests.results.source import RESULTS

COMMAND = re.compile(r"^    (skipstack search (?:[^\\\n]|\\\n)*)$", re.MULTILINE)
NOT_COMPARED: Final = "not compared"
"""What is said of a page that has no table of the paper's; where another page has it, that one stands alone."""

SHOWN: Final = ("--epochs", "--trials")
"""Options that leave out something of a preset: the scale names them."""


@dataclass(frozen=True, eq=False)
class Run:
    """A page that ran the study of a ``preset``, and the options that made it another study than that."""

    page: PrintedPage
    preset: str
    options: Mapping[str, str]

    @property
    def scale(self) -> str:
        """The scale, and what was cut beside it."""
        cut = [f"`{option} {self.options[option]}`" for option in SHOWN if option in self.options]
        cut += [each for each in self.options.get("--set", "").split() if each.startswith("model.stack.hidden=")]
        return ", ".join([self.options.get("--scale", "full"), *cut])


def coverage() -> str:
    """The table, in Markdown."""
    runs = list(all_runs())
    lines = ["| paper | shows | run here | scale | version | significant gains |", f"|{'---|' * 6}"]
    for name, paper in papers().items():
        shown = {**paper.tables, **paper.others}
        labels = sorted(shown, key=lambda each: (each.startswith("figure"), each))
        for place, label in enumerate(labels):
            own = {run.page.name: run for run in reversed(runs) if run.preset and run.preset == shown[label].preset}
            what = f"{_called(label)}: {shown[label].title}"
            if not own:
                lines.append(f"| {name} | {what} | {getattr(shown[label], 'why', '') or 'not run'} |  |  |  |")
            found_by = {run: confirmed(run.page, f"{name}/{label}") for run in own.values()}
            compared = {run: found for run, found in found_by.items() if found != NOT_COMPARED}
            for run, found in (compared or found_by).items():
                before = first_with_these(run.page, [f"{name}/{each}" for each in labels[: place + 1]])
                found = f"the same as in {_called(before.partition('/')[2])}" if before else found
                link = f"[{run.page.name}]({run.page.name}.md)"
                lines.append(f"| {name} | {what} | {link} | {run.scale} | {run.page.version} | {found} |")
    return "\n".join(lines)


def all_runs() -> Iterator[Run]:
    """What the pages say was typed."""
    for path in sorted(RESULTS.glob("*.md")):
        if path.stem == "README":
            continue
        page = printed(path.stem)
        if not page.was_run:
            continue
        for command in COMMAND.findall(page.text):
            words = shlex.split(command.replace("\\\n", " "))[2:]
            options: dict[str, str] = {}
            for option, value in pairwise(words):
                if option.startswith("--"):
                    options[option] = f"{options.get(option, '')} {value}".strip()
            if words[0] in presets():
                yield Run(page, words[0], options)


def confirmed(page: PrintedPage, table: str) -> str:
    """Of the gains over the base how many are significant, with the paper's sign and with the other."""
    tested = page.compared(table)
    if tested is None:
        return NOT_COMPARED
    marked = [row for row in tested if row.cells["ours: gain"].endswith("*")]
    same = sum(row["paper: gain"].value * row["ours: gain"].value > 0 for row in marked)
    others = len(marked) - same
    return f"{same} of {len(tested)} as in the paper" + (f", {others} against it" if others else "")


def first_with_these(page: PrintedPage, tables: Sequence[str]) -> str:
    """The first of a paper's ``tables``, all but the last one, in which the page has the very gains of ours that it has
    in the last; empty if there is none. A gain that stands beside several tables is one finding.
    """
    *earlier, last = [[row.cells["ours: gain"] for row in page.compared(table) or ()] for table in tables]
    return next((table for table, ours in zip(tables, earlier, strict=False) if last and ours == last), "")


def _called(label: str) -> str:
    """``table 5 (21)`` for ``table-5-21``."""
    kind, _, rest = label.partition("-")
    number, _, part = rest.partition("-")
    return f"{kind} {number}{f' ({part})' if part else ''}".strip()
