"""The table of all that the five papers show: what of it was run, at which scale, by which version, and what came out.

It is made of the papers' data (``spaces/papers/*.yaml``) and of the pages' own commands, versions and tables.
"""

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from skipstack.search.analysis.confirmation.papers import papers
from skipstack.search.study_files.document import presets
from tests.results.printed import PrintedPage, printed
from tests.results.source import RESULTS

COMMAND = re.compile(r"^    (skipstack search .*(?:\\\n.*)*)$", re.MULTILINE)
AGAINST: Final = "against {}:"
"""In the heading of a comparison with a table."""

FIRST_WITH_TESTS: Final = (0, 2)
"""Marks of earlier versions are differences beyond a standard error, which show nothing."""


@dataclass(frozen=True)
class Run:
    """A command of a page that ran a study of the ``preset``, and the options that made it another study than that."""

    page: PrintedPage
    preset: str
    options: Mapping[str, str]

    @property
    def scale(self) -> str:
        """The scale, and what was set beside it."""
        if "--scale" in self.options:
            return self.options["--scale"]
        return "full, smaller network" if "hidden" in self.options.get("--set", "") else "full"


def coverage() -> str:
    """The table, in Markdown."""
    runs = list(all_runs())
    lines = ["| paper | shows | preset | run here | scale | version | differences that are significant |", f"|{'---|' * 7}"]
    for name, paper in papers().items():
        shown = {**paper.tables, **paper.others}
        for label in sorted(shown):
            preset, why = shown[label].preset, getattr(shown[label], "why", "")
            own = [run for run in runs if run.preset == preset]
            what = f"{_called(label)}: {shown[label].title}"
            for run in own or [None]:
                cells = (
                    ("", "", "") if run is None
                    else (run.scale, run.page.version, confirmed(run.page, f"{name}/{label}"))
                )
                where = why or "not run" if run is None else f"[{run.page.name}]({run.page.name}.md)"
                lines.append(f"| {' | '.join([name, what, f'`{preset}`' * bool(preset), where, *cells])} |")
    return "\n".join(lines)


def all_runs() -> Iterator[Run]:
    """What the pages say was typed."""
    for path in sorted(RESULTS.glob("*.md")):
        if path.stem == "README":
            continue
        page = printed(path.stem)
        for command in COMMAND.findall(page.text):
            words = shlex.split(command.replace("\\\n", " "))[2:]
            options: dict[str, str] = {}
            for option, value in zip(words[1:], words[2:], strict=False):
                if option.startswith("--"):
                    options[option] = f"{options.get(option, '')} {value}".strip()
            if words[0] in presets():
                yield Run(page, words[0], options)


def confirmed(page: PrintedPage, table: str) -> str:
    """Of the differences to the base how many are significant, with the paper's sign and with the other."""
    part = page.part(AGAINST.format(table))
    if part is None:
        return "not compared"
    if tuple(map(int, page.version.split(".")))[:2] < FIRST_WITH_TESTS:
        return "not tested"
    tested = [row for row in part.rows() if all(row.has(f"{whose}: difference") for whose in ("paper", "ours"))]
    marked = [row for row in tested if row.cells["ours: difference"].endswith("*")]
    same = sum(row["paper: difference"].value * row["ours: difference"].value > 0 for row in marked)
    others = len(marked) - same
    return f"{same} of {len(tested)} as in the paper" + (f", {others} against it" if others else "")


def _called(label: str) -> str:
    """``table 5 (21)`` for ``table-5-21``."""
    kind, _, rest = label.partition("-")
    number, _, part = rest.partition("-")
    return f"{kind} {number}{f' ({part})' if part else ''}".strip()
