"""The printed tables of a search."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from skipstack.dashboards.formats.page import Cell, Column, Numbers, Table, TableRow
from skipstack.dashboards.reports.confirmation.estimates import MARK
from skipstack.dashboards.reports.wording import NONE, gained, heading_of, scored, size_of
from skipstack.data.tasks.measure import Measure
from skipstack.search.analysis.exploration.effects import Effect
from skipstack.search.analysis.exploration.table import BASE, BASELINE, BEST, ValueRow
from skipstack.search.analysis.verdict.verdicts import WinnerChange
from skipstack.search.statistics.descriptive import deviation, mean
from skipstack.spaces.side_effects import with_effects

LEADS, CUT, FRONT, REUSED = "›", "†", "◆", "="
"""Marks: the best value of an axis; a trial not trained to its end; a trial on the Pareto front; a reused trial."""

OPEN = "open"
"""Printed in place of an effect whose 95 % band contains 0."""

CONFIRMED = Column("confirmed")
"""The column of gains that an ablation has tested. It is left out if there are none."""

WHOLE = (BASELINE, BASE, BEST)
"""The ``axis`` of the three rows that belong to no axis: the baseline, the base and the best trial."""

HEADLINE = ("dev %", "deviation", "test %")
"""The columns of the table of baseline, base and best trial."""

OPTIONAL = ("trial", "seconds", "epochs", "deviation", "test %", "n")
"""The columns that a narrow terminal drops, in this order."""


def numbers_of(row: ValueRow, confirmed: WinnerChange | None = None, brings: Sequence[str] = ()) -> Numbers:
    """The numbers of a row, by name.

    Scores and effects are unscaled, and larger if better (``data.tasks.measure``): accuracies in [0, 1], negative
    perplexities. ``confirmed``: the best config's change to this row's value, if an ablation has tested it. ``brings``:
    phrases on other settings that change with the value.
    """
    return {
        "axis": row.axis,
        "value": row.value,
        "brings_along": ", ".join(brings),
        "best_of_axis": row.leads,
        "trials": row.trials,
        "scored_trials": row.scored,
        "selected_trial": row.selected,
        "selected_state": row.state,
        "selected_whole": row.whole,
        "selected_epoch": row.epoch,
        "selected_is_base": row.is_base,
        "seeds": len(row.seeds),
        **_split("dev", row.dev),
        **_effect_numbers(row.effect),
        **_confirmed_numbers(confirmed),
        **_split("test", row.test),
        "epochs": row.epochs,
        "seconds": row.seconds,
        "selected_parameters": row.parameters,
        "selected_latency": row.latency,
        **{f"selected_{name}": value for name, value in row.reported.items()},
        "selected_on_front": row.on_front,
        "selected_reused": row.reused,
    }


def _effect_numbers(effect: Effect | None) -> Numbers:
    if effect is None:
        return dict.fromkeys(("effect", "effect_low", "effect_high", "effect_whole_trials"))
    return {
        "effect": effect.value,
        "effect_low": effect.low,
        "effect_high": effect.high,
        "effect_whole_trials": effect.whole,
    }


def _confirmed_numbers(change: WinnerChange | None) -> Numbers:
    row = None if change is None else change.row
    if row is None or row.gain is None or row.corrected is None:
        return dict.fromkeys(("confirmed", "confirmed_low", "confirmed_high", "confirmed_marked"))
    return {
        "confirmed": row.gain.value,
        "confirmed_low": row.corrected[0],
        "confirmed_high": row.corrected[1],
        "confirmed_marked": row.marked,
    }


def by_seed(row: ValueRow) -> Mapping[str, tuple[float, ...]]:
    """The seeds of a row, and its scores on dev and test in the same order."""
    return {"seeds": row.seeds, **{name: values for name, values in (("dev", row.dev), ("test", row.test)) if values}}


def headline(records: Sequence[Numbers], measure: Measure, caption: str = "") -> Table:
    """The table of baseline, base and best trial.

    ``records``: the numbers of all rows, of which the three are selected. ``caption``: sentences on the study.
    """
    shown = [column for column in COLUMNS if column.heading in HEADLINE]
    return _table(("config", "trial"), shown, [each for each in records if each["axis"] in WHOLE], measure, caption)


def table(records: Sequence[Numbers], measure: Measure) -> Table:
    """The table of all values of all axes.

    ``records``: the numbers of all rows, of which the rows of values are selected.
    """
    of_axes = [record for record in records if record["axis"] not in WHOLE]
    none = all(record["confirmed"] is None for record in of_axes)
    shown = [column for column in COLUMNS if not (none and column == CONFIRMED)]
    return _table(("axis", "value"), shown, of_axes, measure)


def _table(
    names: tuple[str, ...], shown: Sequence[Column], records: Sequence[Numbers], measure: Measure, caption: str = ""
) -> Table:
    return Table(
        names=names,
        columns=tuple(replace(column, heading=heading_of(column.heading, measure)) for column in shown),
        rows=tuple(_row(record, measure, shown) for record in records),
        optional=tuple(heading_of(name, measure) for name in OPTIONAL),
        tight=True,
        caption=caption,
    )


def _split(split: str, values: Sequence[float]) -> Numbers:
    """The mean and the sample standard deviation over the seeds, by name. None for too few seeds."""
    return {
        f"{split}_mean": mean(values) if values else None,
        f"{split}_deviation": deviation(values) if len(values) > 1 else None,
    }


def _row(numbers: Numbers, measure: Measure, columns: Sequence[Column]) -> TableRow:
    brings = [str(numbers["brings_along"])] if numbers["brings_along"] else []
    axis, value = str(numbers["axis"]), with_effects(str(numbers["value"]), brings)
    of_axis = axis not in WHOLE
    # The baseline's label omits its value, which a footnote gives.
    label = value if of_axis else axis if axis == BASELINE else f"{axis}, {value}"
    leads = bool(numbers["best_of_axis"])
    return TableRow(
        names=(axis, value),
        label=label,
        section=axis if of_axis else "",
        cells=tuple(Cell(COLUMNS[column](numbers, measure)) for column in columns),
        mark=Cell(LEADS if leads else ""),
        style="bold" if leads else "" if numbers["dev_mean"] is not None else "dim",
        code=of_axis,
        trial=(None, selected) if isinstance(selected := numbers["selected_trial"], int) else None,
    )


def _count(numbers: Numbers, measure: Measure) -> str:
    trials, with_score = numbers["trials"], numbers["scored_trials"]
    if numbers["axis"] == BASELINE:
        return ""
    return f"{trials}" if with_score == trials else f"{with_score}/{trials}"


def _dev(numbers: Numbers, measure: Measure) -> str:
    return scored(numbers["dev_mean"], measure) + (" " if numbers["selected_whole"] else CUT)


def _effect(numbers: Numbers, measure: Measure) -> str:
    low, high = numbers["effect_low"], numbers["effect_high"]
    known = low is None or high is None or not float(low) <= 0 <= float(high)
    return scored(numbers["effect"], measure, "+") if known else OPEN


def _confirmed(numbers: Numbers, measure: Measure) -> str:
    value, low, high = numbers["confirmed"], numbers["confirmed_low"], numbers["confirmed_high"]
    if not (isinstance(low, float) and isinstance(high, float)):
        return ""
    mark = MARK if numbers["confirmed_marked"] else " "
    return f"{gained(value, (high - low) / 2, measure)}{mark}"


def _selected(numbers: Numbers, measure: Measure) -> str:
    mark = (FRONT if numbers["selected_on_front"] else "") + (REUSED if numbers["selected_reused"] else "")
    return NONE if numbers["selected_trial"] is None else f"{numbers['selected_trial']}{mark}"


def _spent(name: str, form: str) -> Callable[[Numbers, Measure], str]:
    return lambda numbers, _: f"{numbers[name]:{form}}" if numbers[name] else ""


COLUMNS: Mapping[Column, Callable[[Numbers, Measure], str]] = {
    Column("n"): _count,
    Column("dev %"): _dev,
    Column("deviation"): lambda numbers, measure: size_of(numbers["dev_deviation"], measure),
    Column("effect"): _effect,
    CONFIRMED: _confirmed,
    Column("test %"): lambda numbers, measure: scored(numbers["test_mean"], measure),
    Column("trial"): _selected,
    Column("epochs"): _spent("epochs", ",d"),
    Column("seconds"): _spent("seconds", ",.1f"),
}
"""The printed columns, with the functions that write their cells from the numbers of a row."""
