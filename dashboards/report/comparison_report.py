"""A study beside a table of a paper, in every format; printing it is the command line's.

As in a report, what people read is written from the numbers that the machine-readable formats carry.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from skipstack.dashboards.report.ablation_report import EXCEEDS, NONE, Numbers, headed, with_error
from skipstack.dashboards.report.rendering import Format, csv_lines, escaped, markdown_row
from skipstack.dashboards.report.text import printed
from skipstack.data.tasks.metrics import Measure
from skipstack.search.ablation.against import ComparedRow, Comparison
from skipstack.spaces.trial import Scalar

DISAGREES = "≠"
"""Marks a row whose difference has the other sign than the paper's, by more than its standard error."""

NARROWEST_PAGE = 80
"""Where no width is given, sentences are broken at this width or that of the table."""

NARROWEST_LABEL = 12
"""Characters that a label keeps at least before it goes on in the next line."""

MARK, GAP = 2, 2
"""Characters before a label, for the mark, and between columns."""

NUMBERS: Mapping[str, Callable[[ComparedRow], Scalar]] = {
    "row": lambda row: row.label,
    "is_base": lambda row: row.is_base,
    "disagrees": lambda row: row.disagrees,
    "paper_dev": lambda row: row.paper_dev,
    "paper_test": lambda row: row.paper_test,
    "paper_difference": lambda row: row.paper_difference,
    "trial": lambda row: row.trial,
    "state": lambda row: row.state,
    "whole": lambda row: row.whole,
    "seeds": lambda row: len(row.seeds),
    "dev_mean": lambda row: row.dev.mean if row.dev else None,
    "dev_deviation": lambda row: row.dev.deviation if row.dev else None,
    "difference": lambda row: row.difference.mean if row.difference else None,
    "difference_standard_error": lambda row: row.difference.standard_error if row.difference else None,
    "difference_exceeds_error": lambda row: row.difference.exceeds_error if row.difference else None,
    "test_mean": lambda row: row.test.mean if row.test else None,
    "test_deviation": lambda row: row.test.deviation if row.test else None,
}
"""The numbers of a row by their full names. Scores and their differences are those of ``data.tasks.metrics``."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column for people: whose it is, its heading, and how a cell is written from the numbers of a row."""

    whose: str
    heading: str
    write: Callable[[Numbers, Measure], str]

    def headed(self, measure: Measure) -> str:
        """Whose it is, and the heading as it is printed over scores of this kind."""
        return f"{self.whose}: {headed(self.heading, measure)}"


def _paper(name: str, form: str) -> Callable[[Numbers, Measure], str]:
    return lambda numbers, measure: with_error(numbers[f"paper_{name}"], None, form, measure).partition(" ")[0]


def _ours(name: str) -> Callable[[Numbers, Measure], str]:
    return lambda numbers, measure: with_error(numbers[f"{name}_mean"], numbers[f"{name}_deviation"], ".2f", measure)


def _paper_difference(numbers: Numbers, measure: Measure) -> str:
    return "base" if numbers["is_base"] else _paper("difference", "+.2f")(numbers, measure)


def _our_difference(numbers: Numbers, measure: Measure) -> str:
    if numbers["is_base"] and numbers["trial"] is not None:
        return "base "
    if numbers["trial"] is not None and not numbers["whole"]:
        return f"{numbers['state']} "
    mark = EXCEEDS if numbers["difference_exceeds_error"] else " "
    return with_error(numbers["difference"], numbers["difference_standard_error"], "+.2f", measure) + mark


COLUMNS = (
    Column("paper", "dev %", _paper("dev", ".2f")),
    Column("paper", "test %", _paper("test", ".2f")),
    Column("paper", "difference", _paper_difference),
    Column("ours", "dev %", _ours("dev")),
    Column("ours", "difference", _our_difference),
    Column("ours", "test %", _ours("test")),
    Column("ours", "trial", lambda numbers, _: NONE if numbers["trial"] is None else str(numbers["trial"])),
)


def render(comparison: Comparison, form: Format, *, width: int | None = None, terminal: bool = False) -> str:
    """The comparison, ending in a line break; formats, ``width`` and ``terminal`` are those of a report."""
    lines = [{name: read(row) for name, read in NUMBERS.items()} for row in comparison.rows]
    match form:
        case "text":
            return _text(comparison, lines, width, terminal=terminal)
        case "markdown":
            return _markdown(comparison, lines)
        case "csv":
            return csv_lines(lines, list(NUMBERS))
        case "json":
            return _json(comparison, lines)
        case _:
            assert_never(form)


def title(comparison: Comparison) -> str:
    """What is compared with what."""
    return f"{comparison.study} on {comparison.corpus}, against {comparison.table}: {comparison.title}"


def sentences(comparison: Comparison) -> Iterator[str]:
    """What the table says as a whole, and what its marks mean."""
    value = "not defined" if comparison.correlation is None else f"{comparison.correlation:+.2f}"
    rows = "1 row that both have" if comparison.shared == 1 else f"{comparison.shared} rows that both have"
    yield f"Spearman's rank correlation of paper and ours on {comparison.split}, over {rows}: {value}"
    base = next(row for row in comparison.rows if row.is_base)
    compared = [row for row in comparison.rows if row.paper_difference is not None and row.difference is not None]
    disagreeing = sum(row.disagrees for row in compared)
    if base.trial is None:
        yield f"no differences of ours: the paper's base, {base.label}, was not tried"
    elif not base.whole:
        yield f"no differences of ours: the paper's base, {base.label}, is not trained to its end"
    else:
        yield f"{DISAGREES} {disagreeing} of {len(compared)} differences: another sign, by more than our standard error"
    cut = sorted({row.state for row in comparison.rows if row.state is not None and not row.whole})
    if cut:
        yield f"{', '.join(cut)}: not trained to its end, so without a difference and not ranked"
    if comparison.note:
        yield f"note: {comparison.note}"
    seeds = max((len(row.seeds) for row in comparison.rows), default=0)
    over = f" over {seeds} seeds" if seeds > 1 else f" ({NONE}: one seed has none)"
    yield (
        f"Ours: the base with what the row has and nothing else, ± standard deviation{over}. "
        f"Difference: to the base on {comparison.split}, in points; ours paired by seed, ± standard error "
        f"({EXCEEDS}: exceeds it). {NONE}: not in the paper, or not tried."
    )


def _cells(numbers: Numbers, measure: Measure) -> list[str]:
    return [column.write(numbers, measure) for column in COLUMNS]


def _markdown(comparison: Comparison, lines: Sequence[Numbers]) -> str:
    headings = ["row", *(column.headed(comparison.measure) for column in COLUMNS)]
    rows = [
        [
            f"{DISAGREES} " * bool(line["disagrees"]) + escaped(str(line["row"])),
            *(cell.strip() for cell in _cells(line, comparison.measure)),
        ]
        for line in lines
    ]
    table = [markdown_row(headings), "|---|" + "---:|" * len(COLUMNS)]
    table += [markdown_row([row[0], *map(escaped, row[1:])]) for row in rows]
    told = [part for sentence in sentences(comparison) for part in ("", escaped(sentence))]
    return "\n".join([f"## {escaped(title(comparison))}", "", *table, *told, ""])


def _json(comparison: Comparison, lines: Sequence[Numbers]) -> str:
    spreads = [{"dev": row.dev, "difference": row.difference, "test": row.test} for row in comparison.rows]
    by_seed = [{name: each.values for name, each in spread.items() if each is not None} for spread in spreads]
    content = {
        "study": comparison.study,
        "corpus": comparison.corpus,
        "table": comparison.table,
        "title": comparison.title,
        "note": comparison.note,
        "measure": comparison.measure,
        "split": comparison.split,
        "rows": [
            {**line, "by_seed": {"seeds": row.seeds, **values}}
            for line, row, values in zip(lines, comparison.rows, by_seed, strict=True)
        ],
        "shared_rows": comparison.shared,
        "rank_correlation": comparison.correlation,
    }
    return json.dumps(content, indent=2, allow_nan=False) + "\n"


def _text(comparison: Comparison, lines: Sequence[Numbers], width: int | None, *, terminal: bool) -> str:
    cells = [_cells(line, comparison.measure) for line in lines]
    widths = [
        max(cell_len(text) for text in (headed(column.heading, comparison.measure), *each))
        for column, *each in zip(COLUMNS, *cells, strict=True)
    ]
    label = max(cell_len(str(line["row"])) for line in lines)
    width = max(NARROWEST_PAGE, MARK + label + sum(GAP + each for each in widths)) if width is None else width
    shown = _fitting(comparison, widths, label, width)
    label = min(label, max(NARROWEST_LABEL, width - MARK - sum(GAP + widths[place] for place in shown)))
    left_out = [column.headed(comparison.measure) for place, column in enumerate(COLUMNS) if place not in shown]
    page = Group(
        Text(title(comparison), style="bold"),
        "",
        _grid(lines, cells, shown, [label, *widths], comparison.measure),
        "",
        *(Text(sentence) for sentence in sentences(comparison)),
        *([Text(f"left out at this width: {', '.join(left_out)}", style="dim")] if left_out else []),
    )
    return printed(page, width, terminal=terminal)


def _fitting(comparison: Comparison, widths: Sequence[int], label: int, width: int) -> list[int]:
    """The places of the columns that are shown: as many as fit, those that the comparison is about last to go."""
    other = "test %" if comparison.split == "dev" else "dev %"
    shown = list(range(len(COLUMNS)))
    for whose, heading in (("ours", "trial"), ("ours", other), ("paper", other)):
        if MARK + label + sum(GAP + widths[place] for place in shown) <= width:
            break
        shown = [place for place in shown if (COLUMNS[place].whose, COLUMNS[place].heading) != (whose, heading)]
    return shown


def _grid(
    lines: Sequence[Numbers],
    cells: Sequence[Sequence[str]],
    shown: Sequence[int],
    widths: Sequence[int],
    measure: Measure,
) -> RenderableType:
    grid = Table.grid()
    grid.add_column(width=MARK)
    grid.add_column(width=widths[0], overflow="fold")
    for place in shown:
        grid.add_column(width=GAP + widths[1 + place], justify="right", no_wrap=True)
    whose = [COLUMNS[place].whose for place in shown]
    firsts = [each if each not in whose[:number] else "" for number, each in enumerate(whose)]
    grid.add_row("", "", *(Text(each, style="bold cyan") for each in firsts))
    grid.add_row("", "", *(Text(headed(COLUMNS[place].heading, measure), style="bold") for place in shown))
    for line, row in zip(lines, cells, strict=True):
        style = "bold" if line["is_base"] else "" if line["trial"] is not None else "dim"
        mark = Text(DISAGREES if line["disagrees"] else "", style="red")
        grid.add_row(mark, Text(str(line["row"]), style=style), *(Text(row[place], style=style) for place in shown))
    return grid
