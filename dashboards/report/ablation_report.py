"""The report of a study: its ablation table, and the sentences around it.

What people read is written from the raw numbers that the machine-readable formats carry, so formats cannot disagree.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from skipstack.dashboards.pages.page import Block, Cell, Column, Listing, Numbers, Page, Report, Sentence, Table
from skipstack.dashboards.pages.page import Row as PageRow
from skipstack.dashboards.report.quantities import NONE, counted, heading_of, reason_in_words, with_error
from skipstack.dashboards.report.spreads import by_seed, difference_numbers, split_numbers
from skipstack.data.tasks.measure import Measure
from skipstack.search.ablation.ablation import BASE, BASELINE, BEST, Ablation, Row
from skipstack.search.statistics.spreads import Spread
from skipstack.search.study.records.parts import value_text
from skipstack.search.study.records.trial_record import TrialRecord
from skipstack.spaces.changes import chosen

LEADS, EXCEEDS, UNEQUAL, FRONT, REUSED = "›", "*", "†", "◆", "="
"""Marks: the best value of its axis; a difference larger than its standard error; one between trainings of unequal
length, which no error can tell anything of; a trial on the Pareto front; one that was not trained."""

OPTIONAL = ("trial", "seconds", "epochs", "test %", "n")
"""Columns in the order in which a narrow terminal goes without them."""


def ablation_report(ablation: Ablation) -> Report:
    """The report of an ablation, as wide as its table."""
    records = [_numbers(row) for row in ablation.rows]
    front: list[Block] = [Sentence(_front_heading(ablation)), Listing(_front(ablation))] if ablation.front else []
    groups: tuple[tuple[Block, ...], ...] = (
        (_table(records, ablation.measure),),
        (Sentence(_counts(ablation)), Sentence(_best(ablation)), Listing(_changes(ablation), code=True), *front),
        (Sentence(" ".join(_footnote(ablation, records)), style="dim"),),
    )
    return Report(
        page=Page(ablation.study, groups),
        content=_content(ablation, records),
        records=records,
        names=list(_numbers(Row(axis="", value="", trials=0, scored=0))),
        width=None,
    )


def _numbers(row: Row) -> Numbers:
    """The numbers of a row. Scores and differences are those of ``data.tasks.measure``: shares in [-1, 1], not percent,
    and negative perplexities.
    """
    return {
        "axis": row.axis,
        "value": row.value,
        "best_of_axis": row.leads,
        "trials": row.trials,
        "scored_trials": row.scored,
        "selected_trial": row.selected,
        "selected_state": row.state,
        "selected_epoch": row.epoch,
        "selected_is_base": row.is_base,
        "seeds": len(row.seeds),
        **split_numbers("dev", row.dev),
        **difference_numbers(row.difference),
        "difference_is_unequal": row.unequal,
        **split_numbers("test", row.test),
        "epochs": row.epochs,
        "seconds": row.seconds,
        "selected_parameters": row.parameters,
        "selected_latency": row.latency,
        "selected_on_front": row.on_front,
        "selected_reused": row.reused,
    }


def _content(ablation: Ablation, records: Sequence[Numbers]) -> Mapping[str, Any]:
    best = ablation.best
    return {
        "study": ablation.study,
        "measure": ablation.measure.name,
        "rows": [{**record, "by_seed": by_seed(row)} for record, row in zip(records, ablation.rows, strict=True)],
        "ends": ablation.ends,
        "reused": ablation.reused,
        "epochs": ablation.epochs,
        "seconds": ablation.seconds,
        "objectives": list(ablation.objectives),
        "front": [{"trial": trial.number, **_objectives(trial, ablation)} for trial in ablation.front],
        "best": best
        and {
            "trial": best.number,
            "identity": best.config.identity,
            "changes": ablation.changes,
            "config": best.config.model_dump(mode="json"),
        },
    }


def _table(records: Sequence[Numbers], measure: Measure) -> Table:
    return Table(
        names=("axis", "value"),
        columns=tuple(replace(column, heading=heading_of(column.heading, measure)) for column in COLUMNS),
        rows=tuple(_row(record, measure) for record in records),
        optional=tuple(heading_of(name, measure) for name in OPTIONAL),
        tight=True,
    )


def _row(numbers: Numbers, measure: Measure) -> PageRow:
    axis, value = str(numbers["axis"]), str(numbers["value"])
    of_axis = axis not in (BASELINE, BASE, BEST)
    label = value if of_axis else axis if axis == BASELINE else f"{axis}, {value}"  # the footnote says which baseline
    leads = bool(numbers["best_of_axis"])
    return PageRow(
        names=(axis, value),
        label=label,
        section=axis if of_axis else "",
        cells=tuple(_cell(column, write(numbers, measure)) for column, write in COLUMNS.items()),
        mark=Cell(LEADS if leads else ""),
        style="bold" if leads else "" if numbers["dev_mean"] is not None else "dim",
        code=of_axis,
    )


def _cell(column: Column, text: str) -> Cell:
    """A difference larger than its error has the colour of its sign; one that is not stands back."""
    if column.heading != "difference":
        return Cell(text)
    if not text.endswith(EXCEEDS):
        return Cell(text, "dim")
    return Cell(text, "green" if text.startswith("+") else "red")


def _counts(ablation: Ablation) -> str:
    """Trials by end reason, and what they cost."""
    ends = ", ".join(f"{count} {reason_in_words(reason)}" for reason, count in ablation.ends.items())
    return (
        f"{sum(ablation.ends.values())} trials{': ' if ends else ''}{ends}; "
        f"{f'{ablation.reused} of them reused, not trained; ' if ablation.reused else ''}"
        f"{ablation.epochs:,} epochs, {ablation.seconds:,.1f} seconds of training and evaluation"
    )


def _best(ablation: Ablation) -> str:
    """Which config is best; what it changes is listed below it."""
    if ablation.best is None:
        return "no trial has a score"
    against = "differs from the base in:" if ablation.changes else "the base itself"
    return f"best: trial {ablation.best.number}, config {ablation.best.config.identity}, {against}"


def _changes(ablation: Ablation) -> tuple[str, ...]:
    """What the best config sets in the base, as ``--set`` takes it; what follows from another kind is left out."""
    if ablation.best is None:
        return ()
    return tuple(
        f"{path}={value_text(value)}" for path, value in chosen(ablation.changes, ablation.best.config).items()
    )


def _front_heading(ablation: Ablation) -> str:
    trials = counted(sum(ablation.ends.values()), "trial")
    return f"Pareto front of {', '.join(ablation.objectives)}: {len(ablation.front)} of {trials}"


def _front(ablation: Ablation) -> tuple[str, ...]:
    return tuple(f"trial {trial.number}: {', '.join(_on_front(trial, ablation))}" for trial in ablation.front)


def _on_front(trial: TrialRecord, ablation: Ablation) -> Iterator[str]:
    dev = Spread(tuple(trial.dev.values()))
    score = with_error(dev.mean, dev.deviation, ".2f", ablation.measure).rstrip()
    yield f"dev {ablation.measure.label} {score}"
    if "parameters" in ablation.objectives:
        yield NONE if trial.parameters is None else counted(trial.parameters, "parameter")
    if "latency" in ablation.objectives:
        yield NONE if trial.latency is None else f"{trial.latency:.3g} s for 1,000 tokens"


def _objectives(trial: TrialRecord, ablation: Ablation) -> Numbers:
    values: Numbers = {"score": trial.score, "parameters": trial.parameters, "latency": trial.latency}
    return {name: values[name] for name in ablation.objectives}


def _footnote(ablation: Ablation, records: Sequence[Numbers]) -> Iterator[str]:
    """What the numbers mean."""
    seeds = max((int(numbers["seeds"] or 0) for numbers in records), default=0)
    unscored = any(numbers["scored_trials"] != numbers["trials"] for numbers in records)
    points = ", in points" if ablation.measure.in_points else ""
    of_begun = " (2/3: 2 of the 3 begun have a score)" if unscored else ""
    yield f"n: trials{of_begun}; a row shows the best of them on dev."
    spread = f" over {seeds} seeds." if seeds > 1 else f" ({NONE}: one seed has none)."
    yield f"After {ablation.measure.article} {ablation.measure.label}: ± standard deviation{spread}"
    if any(numbers["selected_is_base"] for numbers in records):
        marked = f"{EXCEEDS}: larger than that; no test"
        yield f"Difference: to the base on dev{points}, paired by seed, ± standard error ({marked})."
    else:
        yield "No differences: no trial of the base has a score."
    if any(numbers["difference_is_unequal"] for numbers in records):
        yield f"{UNEQUAL}: between trainings of unequal length, one of which was cut short."
    yield f"{LEADS}: best of its axis."
    if ablation.front:
        yield f"{FRONT}: on the Pareto front."
    if ablation.reused:
        yield f"{REUSED}: reused, not trained."
    yield from (f"Baseline: {row.value}." for row in ablation.rows if row.axis == BASELINE)


def _count(numbers: Numbers, measure: Measure) -> str:
    trials, scored = numbers["trials"], numbers["scored_trials"]
    if numbers["axis"] == BASELINE:
        return ""
    return f"{trials}" if scored == trials else f"{scored}/{trials}"


def _score(split: str) -> Callable[[Numbers, Measure], str]:
    return lambda numbers, measure: with_error(numbers[f"{split}_mean"], numbers[f"{split}_deviation"], ".2f", measure)


def _difference(numbers: Numbers, measure: Measure) -> str:
    if numbers["selected_is_base"]:
        return "base "
    mark = UNEQUAL if numbers["difference_is_unequal"] else EXCEEDS if numbers["difference_exceeds_error"] else " "
    return with_error(numbers["difference"], numbers["difference_standard_error"], "+.2f", measure) + mark


def _selected(numbers: Numbers, measure: Measure) -> str:
    mark = (FRONT if numbers["selected_on_front"] else "") + (REUSED if numbers["selected_reused"] else "")
    return NONE if numbers["selected_trial"] is None else f"{numbers['selected_trial']}{mark}"


def _spent(name: str, form: str) -> Callable[[Numbers, Measure], str]:
    return lambda numbers, _: f"{numbers[name]:{form}}" if numbers[name] else ""


COLUMNS: Mapping[Column, Callable[[Numbers, Measure], str]] = {
    Column("n"): _count,
    Column("dev %"): _score("dev"),
    Column("difference"): _difference,
    Column("test %"): _score("test"),
    Column("trial"): _selected,
    Column("epochs"): _spent("epochs", ",d"),
    Column("seconds"): _spent("seconds", ",.1f"),
}
"""The columns for people, and how a cell of each is written from the numbers of its row."""
