"""Where the numbers of a report come from: the events of the ledger behind each of them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pandas as pd

from skipstack.dashboards.pages.page import Cell, Column, Page, Report, Row, Sentence, Table
from skipstack.dashboards.report.exploration_table import numbers_of
from skipstack.dashboards.report.quantities import counted
from skipstack.search.exploration.exploration import Exploration
from skipstack.search.exploration.sources import Numbers, Sources

NAMES: Final = {
    "trials": "trials",
    "scored": "scored_trials",
    "dev": "dev_mean",
    "effect": "effect",
    "test": "test_mean",
    "epochs": "epochs",
    "seconds": "seconds",
}
"""What a number of a row is called in the report."""

LONGEST: Final = 6
"""Runs of events that are written out for people; JSON has them all."""

ALL: Final = "all trials"

Traced = Mapping[str, Any]


def trace_report(exploration: Exploration, events: pd.DataFrame) -> Report:
    """The events behind each number of a report, by their places in the ledger, which are counted from 0."""
    traced = list(_traced(exploration, Sources(exploration, events)))
    about = (
        f"Where each number comes from, among the {counted(len(events), 'event')} of the ledger, counted from 0: how "
        "its trials began, what they reported, how they ended, what was measured on test."
    )
    table = Table(
        names=("axis", "value", "number"),
        columns=(Column("is"), Column("events", justify="left")),
        rows=tuple(_row(each) for each in traced),
    )
    records = [{**each, "events": _runs(each["events"])} for each in traced]
    return Report(
        page=Page(f"{exploration.study}: events", ((Sentence(about),), (table,))),
        content={"study": exploration.study, "numbers": traced},
        records=records,
        names=("axis", "value", "number", "is", "events"),
    )


def _traced(exploration: Exploration, sources: Sources) -> Iterator[Traced]:
    for row in exploration.rows:
        numbers = numbers_of(row)
        for name, events in sources.of(row).items():
            own = {"axis": row.axis, "value": row.value, "number": NAMES[name], "is": numbers[NAMES[name]]}
            yield {**own, "events": list(events)}
    everything = list(sources.everything)
    for name in ("importances", "pairs", "rungs", "expected_best"):
        yield {"axis": ALL, "value": "", "number": name, "is": None, "events": everything}


def _row(traced: Traced) -> Row:
    value = traced["is"]
    text = f"{value:.4f}" if isinstance(value, float) else "" if value is None else f"{value:,}"
    label = " ".join(filter(None, (traced["value"], traced["number"])))
    runs = _runs(traced["events"]).split(" ")
    more = f" ... {traced['events'][-1]}: {counted(len(traced['events']), 'event')}" if len(runs) > LONGEST else ""
    return Row(
        names=(traced["axis"], traced["value"], traced["number"]),
        label=label,
        section=traced["axis"],
        cells=(Cell(text), Cell(" ".join(runs[:LONGEST]) + more)),
    )


def _runs(events: Numbers | Sequence[int]) -> str:
    """``3 7-12``: neighbours as one."""
    runs: list[list[int]] = []
    for number in events:
        if runs and number == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], number]
        else:
            runs.append([number])
    return " ".join("-".join(map(str, run)) for run in runs)
