"""The report that compares a study with a paper's table."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from skipstack.dashboards.formats.page import (
    Cell,
    Column,
    FoldedPart,
    Numbers,
    Page,
    Report,
    Sentence,
    Table,
    TableRow,
)
from skipstack.dashboards.reports.confirmation.confirmation_report import Writer, rows_by_themselves
from skipstack.dashboards.reports.confirmation.estimates import (
    MARK,
    best_scores,
    confirmed_numbers,
    gain_text,
    meaning,
)
from skipstack.dashboards.reports.pictures.confirmed_pictures import compared_chart
from skipstack.dashboards.reports.pictures.picture import pictured
from skipstack.dashboards.reports.wording import NONE, heading_of, scored, sentence
from skipstack.data.basis.counted import counted
from skipstack.data.tasks.measure import Measure
from skipstack.search.analysis.confirmation.against import ComparedRow, PaperComparison

DISAGREES = "≠"
"""Marks a row in which our gain is beyond chance, and has the opposite sign of the paper's."""


def comparison_report(comparison: PaperComparison) -> Report:
    """The report of a study beside a table of a paper."""
    records = [_numbers(row) for row in comparison.rows]
    title = f"{comparison.study} on {comparison.corpus}, against {comparison.table}: {comparison.title}"
    groups = ((_table(comparison, records),), tuple(Sentence(each) for each in _sentences(comparison)))
    return Report(
        page=Page(title, groups, details=tuple(_details(comparison, records))),
        content=_content(comparison, records),
        records=records,
        names=list(records[0]),
        pictures=lambda: pictured([compared_chart(records, comparison.measure, comparison.split)]),
    )


def _details(comparison: PaperComparison, records: Sequence[Numbers]) -> Iterator[FoldedPart]:
    """Yield the table of our rows with the intervals of their scores, if there are any."""
    ours = [record for record in records if record["trial"] is not None]
    if any(record[f"{comparison.split}_half"] is not None for record in ours):
        yield FoldedPart("each row by itself", (rows_by_themselves(ours, comparison.measure, comparison.split),))


def _numbers(row: ComparedRow) -> Numbers:
    """The numbers of a row, the paper's and ours, unscaled. A larger number is better (``data.tasks.measure``)."""
    return {
        "disagrees": row.disagrees,
        "paper_dev": row.paper_dev,
        "paper_test": row.paper_test,
        "paper_gain": row.paper_gain,
        "paper_precision": row.paper_precision,
        "paper_recall": row.paper_recall,
        "precision": row.precision,
        "recall": row.recall,
        **confirmed_numbers(row.ours),
    }


def _content(comparison: PaperComparison, records: Sequence[Numbers]) -> Mapping[str, Any]:
    return {
        "study": comparison.study,
        "corpus": comparison.corpus,
        "table": comparison.table,
        "title": comparison.title,
        "note": comparison.note,
        "measure": comparison.measure.name,
        "split": comparison.split,
        "only_described": comparison.only_described,
        "same_test_set": comparison.same_test_set,
        "rows": [{**record, "seeds": row.ours.seeds} for record, row in zip(records, comparison.rows, strict=True)],
        "shared_rows": comparison.shared,
        "rank_correlation": comparison.correlation,
    }


def _table(comparison: PaperComparison, records: Sequence[Numbers]) -> Table:
    """The paper's rows beside ours. A narrow page may drop trial numbers and the scores on the split that is not
    compared.
    """
    writers = {
        column: write
        for column, write in COLUMNS.items()
        if column.heading not in PARTS or any(record[f"paper_{column.heading}"] is not None for record in records)
    }
    columns = [replace(column, heading=heading_of(column.heading, comparison.measure)) for column in writers]
    best = {name: best_scores(records, number, comparison.measure) for name, number in SCORES.items()}
    other = heading_of("test %" if comparison.split == "dev" else "dev %", comparison.measure)
    return Table(
        names=("row",),
        columns=tuple(columns),
        rows=tuple(
            _row(record, comparison.measure, writers, {name for name, places in best.items() if place in places})
            for place, record in enumerate(records)
        ),
        optional=(
            "ours: trial",
            f"ours: {other}",
            f"paper: {other}",
            *(f"{whose}: {part}" for part in PARTS for whose in ("ours", "paper")),
        ),
        caption=" ".join(filter(None, (sentence(comparison.about), "Bold: the best score of a column."))),
    )


def _row(numbers: Numbers, measure: Measure, writers: Mapping[Column, Writer], best: set[str]) -> TableRow:
    """A table row. ``best``: the names of the columns in which the row has the best score."""
    label = str(numbers["row"])
    return TableRow(
        names=(label,),
        label=label,
        cells=tuple(
            Cell(write(numbers, measure), "bold" if column.name in best else "") for column, write in writers.items()
        ),
        mark=Cell(DISAGREES if numbers["disagrees"] else "", "red"),
        style="" if numbers["trial"] is not None else "dim",
    )


def _sentences(comparison: PaperComparison) -> Iterator[str]:
    """Yield sentences on the overall agreement of paper and study, and on the marks."""
    value = "not defined" if comparison.correlation is None else f"{comparison.correlation:+.2f}"
    rows = counted(comparison.shared, "row")
    yield f"Spearman's rank correlation of paper and ours on {comparison.split}, over {rows} that both have: {value}"
    base = next(row.ours for row in comparison.rows if row.ours.is_reference)
    compared = [row for row in comparison.rows if row.paper_gain is not None and row.ours.gain is not None]
    if base.trial is None:
        yield f"no gains of ours: the paper's base, {base.label}, was not tried"
    elif not base.whole:
        yield f"no gains of ours: the paper's base, {base.label}, is not trained to its end"
    elif comparison.only_described:
        yield f"our gains are only described, and none is tested: {comparison.only_described}"
    else:
        share = f"{DISAGREES} {sum(row.disagrees for row in compared)} of {len(compared)} gains"
        yield f"{share}: beyond chance, with the other sign than the paper's"
    cut = sorted({row.ours.state for row in comparison.rows if row.ours.state is not None and not row.ours.whole})
    if cut:
        yield f"{', '.join(cut)}: not trained to its end, so without a gain and not ranked"
    if comparison.note:
        yield f"note: {comparison.note}"
    why = {"alone": "since the test set is the paper's own"} if comparison.same_test_set else {}
    what = f"what the row adds to {base.label}"
    told = " ".join(
        meaning([row.ours for row in comparison.rows], comparison.split, comparison.measure, what=what, **why)
    )
    yield f"Ours: the base with what the row has and nothing else. {told} {NONE}: not in the paper, or not tried."


def _score(name: str) -> Writer:
    return lambda numbers, measure: scored(numbers[name], measure)


def _paper_gain(numbers: Numbers, measure: Measure) -> str:
    gain = numbers["paper_gain"]
    return "base" if numbers["is_reference"] else measure.gained(gain) if isinstance(gain, float) else NONE


def _our_gain(numbers: Numbers, measure: Measure) -> str:
    if numbers["is_reference"] and numbers["trial"] is not None:
        return "base "
    if numbers["trial"] is not None and not numbers["whole"]:
        return f"{numbers['state']} "
    return gain_text(numbers, measure) + (MARK if numbers["marked"] else " ")


PARTS = ("recall", "precision")
"""The parts of an F1. If the paper prints them, they are shown for the test split. A narrow page omits them first."""

COLUMNS: Mapping[Column, Writer] = {
    Column("dev %", "paper"): _score("paper_dev"),
    Column("precision", "paper"): _score("paper_precision"),
    Column("recall", "paper"): _score("paper_recall"),
    Column("test %", "paper"): _score("paper_test"),
    Column("gain", "paper"): _paper_gain,
    Column("dev %", "ours"): _score("dev"),
    Column("gain", "ours"): _our_gain,
    Column("precision", "ours"): _score("precision"),
    Column("recall", "ours"): _score("recall"),
    Column("test %", "ours"): _score("test"),
    Column("trial", "ours"): lambda numbers, _: NONE if numbers["trial"] is None else str(numbers["trial"]),
}
"""The columns of the printed table, with the functions that write their cells."""

SCORES = {"paper: dev %": "paper_dev", "paper: test %": "paper_test", "ours: dev %": "dev", "ours: test %": "test"}
"""The columns with scores, with the names of their numbers."""
