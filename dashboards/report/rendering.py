"""The report of a study in every format, as text; printing it is the command line's."""

import json
from collections.abc import Sequence
from typing import Literal, assert_never

import pandas as pd

from skipstack.dashboards.report import text
from skipstack.dashboards.report.ablation_report import COLUMNS, LEADS, NUMBERS, Line, Numbers, Sheet, sheet
from skipstack.search.ablation.ablation import Ablation

Format = Literal["text", "markdown", "csv", "json"]


def render(ablation: Ablation, form: Format, *, width: int | None = None, terminal: bool = False) -> str:
    """The report, ending in a line break.

    ``text`` is laid out to ``width`` columns; without one, as wide as its table is. It has colours
    where ``terminal`` says that one will show them. ``markdown`` is a GitHub table. ``csv`` has a line
    for each row of the table and ``json`` holds everything; both carry raw numbers by their full
    names, scores in [0, 1], and leave empty (``null``) what is not defined.
    """
    made = sheet(ablation)
    match form:
        case "text":
            return text.coloured(made, width) if terminal else text.plain(made, width)
        case "markdown":
            return _markdown(made)
        case "csv":
            return csv_lines([line.numbers for line in made.lines], list(NUMBERS))
        case "json":
            return _json(made)
        case _:
            assert_never(form)


def _markdown(sheet: Sheet) -> str:
    changes = [f"- {_code(change)}" for change in sheet.changes]
    return "\n".join(
        [
            f"## {escaped(sheet.study)}",
            "",
            markdown_row(["axis", "value", *(column.headed(sheet.measure) for column in COLUMNS)]),
            "|---|---|" + "---:|" * len(COLUMNS),
            *(markdown_row(_markdown_cells(line)) for line in sheet.lines),
            "",
            escaped(sheet.counts),
            "",
            escaped(sheet.best_config),
            *(["", *changes] if changes else []),
            *(["", escaped(sheet.front_heading), ""] if sheet.front else []),
            *(f"- {escaped(each.told)}" for each in sheet.front),
            "",
            escaped(sheet.footnote),
            "",
        ]
    )


def _markdown_cells(line: Line) -> list[str]:
    cells = [escaped(cell.strip()) for cell in line.cells]
    if not line.of_axis:
        return [line.axis, escaped(line.value), *cells]
    return [_code(line.axis), f"{LEADS} {_code(line.value)}" if line.leads else _code(line.value), *cells]


def markdown_row(cells: Sequence[str]) -> str:
    """A row of a GitHub table."""
    return f"| {' | '.join(cells)} |"


def _code(text: str) -> str:
    """Text as code; a bar would end its cell even there. A backtick could not stand in it."""
    return escaped(text) if "`" in text else f"`{text.replace('|', chr(92) + '|')}`"


def escaped(text: str) -> str:
    """Text whose characters Markdown leaves alone."""
    return "".join(f"\\{character}" if character in "\\`*_[]<>|#~" else character for character in text)


def csv_lines(lines: Sequence[Numbers], names: Sequence[str]) -> str:
    """A line of names, then one for each of ``lines``."""
    # As objects: whole numbers stay whole beside cells that are empty, and floats keep every digit.
    frame = pd.DataFrame(lines, columns=list(names), dtype=object)
    return frame.to_csv(index=False, lineterminator="\n")


def _json(sheet: Sheet) -> str:
    best = sheet.best
    content = {
        "study": sheet.study,
        "measure": sheet.measure,
        "rows": [{**line.numbers, "by_seed": line.by_seed} for line in sheet.lines],
        "ends": sheet.ends,
        "reused": sheet.reused,
        "epochs": sheet.epochs,
        "seconds": sheet.seconds,
        "objectives": list(sheet.objectives),
        "front": [{"trial": each.trial, **each.objectives} for each in sheet.front],
        "best": best
        and {"trial": best.trial, "identity": best.identity, "changes": best.changes, "config": best.config},
    }
    return json.dumps(content, indent=2, allow_nan=False) + "\n"
