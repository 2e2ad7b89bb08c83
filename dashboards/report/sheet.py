"""The report as a sheet: lines of numbers by name, columns that write them, and the sentences around.

Every format is made from a sheet and from nothing else, so formats cannot disagree: what people read
is written from the raw numbers that the machine-readable formats carry.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from skipstack.data.tasks.metrics import FACTORS, MEASURES, Measure
from skipstack.search.ablation.ablation import BASE, BASELINE, BEST, Ablation, Row
from skipstack.search.ablation.statistics import Spread
from skipstack.search.study.records.parts import value_text
from skipstack.search.study.records.trial_record import TrialRecord
from skipstack.spaces.trial import Scalar

NONE = "–"
"""Stands where there is no number."""

LEADS, EXCEEDS, UNEQUAL, FRONT, REUSED = "›", "*", "†", "◆", "="
"""Marks: the best value of its axis; a difference larger than its standard error; one between trainings of unequal
length, which no error can tell anything of; a trial on the Pareto front; one that was not trained."""

Numbers = Mapping[str, Scalar]

NUMBERS: Mapping[str, Callable[[Row], Scalar]] = {
    "axis": lambda row: row.axis,
    "value": lambda row: row.value,
    "best_of_axis": lambda row: row.leads,
    "trials": lambda row: row.trials,
    "scored_trials": lambda row: row.scored,
    "selected_trial": lambda row: row.selected,
    "selected_state": lambda row: row.state,
    "selected_epoch": lambda row: row.epoch,
    "selected_is_base": lambda row: row.is_base,
    "seeds": lambda row: len(row.seeds),
    "dev_mean": lambda row: row.dev.mean if row.dev else None,
    "dev_deviation": lambda row: row.dev.deviation if row.dev else None,
    "difference": lambda row: row.difference.mean if row.difference else None,
    "difference_standard_error": lambda row: row.difference.standard_error if row.difference else None,
    "difference_exceeds_error": lambda row: row.difference.exceeds_error if row.difference else None,
    "difference_is_unequal": lambda row: row.unequal,
    "test_mean": lambda row: row.test.mean if row.test else None,
    "test_deviation": lambda row: row.test.deviation if row.test else None,
    "epochs": lambda row: row.epochs,
    "seconds": lambda row: row.seconds,
    "selected_parameters": lambda row: row.parameters,
    "selected_latency": lambda row: row.latency,
    "selected_on_front": lambda row: row.on_front,
    "selected_reused": lambda row: row.reused,
}
"""The numbers of a row by their full names. Scores and their differences are those of ``data.tasks.metrics``: shares in
[-1, 1], not percent, and negative perplexities."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column for people: its heading, and how a cell is written from the numbers of a line."""

    heading: str
    write: Callable[[Numbers, Measure], str]

    def headed(self, measure: Measure) -> str:
        """The heading as it is printed over scores of this kind."""
        return headed(self.heading, measure)


def headed(heading: str, measure: Measure) -> str:
    """A heading as it is printed: ``dev %`` where scores are accuracies, ``dev F1`` where they are F1."""
    return heading if measure == "accuracy" else heading.replace("%", MEASURES[measure])


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the table: its numbers, its cells under ``COLUMNS``, and its values seed by seed."""

    numbers: Numbers
    cells: tuple[str, ...]
    by_seed: Mapping[str, tuple[float, ...]]

    @property
    def axis(self) -> str:
        """The axis, or what the row is where it belongs to none."""
        return str(self.numbers["axis"])

    @property
    def value(self) -> str:
        """The value of the axis."""
        return str(self.numbers["value"])

    @property
    def leads(self) -> bool:
        """Whether no other value of the axis is better."""
        return bool(self.numbers["best_of_axis"])

    @property
    def of_axis(self) -> bool:
        """Whether the row belongs to an axis; baseline, base and best do not."""
        return self.axis not in (BASELINE, BASE, BEST)


@dataclass(frozen=True, kw_only=True, slots=True)
class Best:
    """The best trial: its config as a whole, and what the base has not of it."""

    trial: int
    identity: str
    changes: Mapping[str, Scalar]
    config: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class OnFront:
    """A trial on the Pareto front: its number, its objectives by name, and both as people read them."""

    trial: int
    objectives: Mapping[str, Scalar]
    told: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Sheet:
    """What a report says."""

    study: str
    measure: Measure
    lines: tuple[Line, ...]
    ends: Mapping[str, int]
    reused: int
    epochs: int
    seconds: float
    best: Best | None
    objectives: tuple[str, ...] = ("score",)
    front: tuple[OnFront, ...] = ()

    @property
    def counts(self) -> str:
        """Trials by end reason, and what they cost."""
        ends = ", ".join(f"{count} {named(reason)}" for reason, count in self.ends.items())
        return (
            f"{sum(self.ends.values())} trials{': ' if ends else ''}{ends}; "
            f"{f'{self.reused} of them reused, not trained; ' if self.reused else ''}"
            f"{self.epochs:,} epochs, {self.seconds:,.1f} seconds of training and evaluation"
        )

    @property
    def best_config(self) -> str:
        """Which config is best; what it changes is listed below it."""
        if self.best is None:
            return "no trial has a score"
        against = "differs from the base in:" if self.best.changes else "the base itself"
        return f"best: trial {self.best.trial}, config {self.best.identity}, {against}"

    @property
    def front_heading(self) -> str:
        """What the Pareto front is of; the trials on it are listed below."""
        return f"Pareto front of {', '.join(self.objectives)}: {len(self.front)} of {sum(self.ends.values())} trials"

    @property
    def changes(self) -> tuple[str, ...]:
        """What the best config changes, as ``--set`` takes it."""
        return tuple(f"{path}={value_text(value)}" for path, value in self.best.changes.items()) if self.best else ()

    @property
    def footnote(self) -> str:
        """What the numbers mean."""
        lines = [line.numbers for line in self.lines]
        seeds = max((int(numbers["seeds"] or 0) for numbers in lines), default=0)
        unequal = any(numbers["difference_is_unequal"] for numbers in lines)
        unscored = any(numbers["scored_trials"] != numbers["trials"] for numbers in lines)
        article, points = ("a", "") if self.measure == "perplexity" else ("an", ", in points")
        has_base = any(numbers["selected_is_base"] for numbers in lines)
        return " ".join(
            [
                f"n: trials{' (2/3: 2 of 3 have a score)' if unscored else ''}; a row shows the best of them on dev.",
                f"After {article} {MEASURES[self.measure]}: ± standard deviation"
                + (f" over {seeds} seeds." if seeds > 1 else f" ({NONE}: one seed has none)."),
                f"Difference: to the base on dev{points}, paired by seed, ± standard error ({EXCEEDS}: exceeds it)."
                if has_base
                else "No differences: no trial of the base has a score.",
                *([f"{UNEQUAL}: between trainings of unequal length, one of which was cut short."] if unequal else []),
                f"{LEADS}: best of its axis.",
                *([f"{FRONT}: on the Pareto front."] if self.front else []),
                *([f"{REUSED}: reused, not trained."] if self.reused else []),
                *(f"Baseline: {line.value}." for line in self.lines if line.axis == BASELINE),
            ]
        )


def named(reason: str) -> str:
    """An end of a trial, as people read it: ``out of memory``."""
    return reason.replace("_", " ")


def sheet(ablation: Ablation) -> Sheet:
    """The sheet of an ablation."""
    best = ablation.best
    return Sheet(
        study=ablation.study,
        measure=ablation.measure,
        lines=tuple(_line(row, ablation.measure) for row in ablation.rows),
        ends=ablation.ends,
        reused=ablation.reused,
        epochs=ablation.epochs,
        seconds=ablation.seconds,
        best=None if best is None else _best(best, ablation.changes),
        objectives=ablation.objectives,
        front=tuple(_on_front(trial, ablation) for trial in ablation.front),
    )


def _best(trial: TrialRecord, changes: Numbers) -> Best:
    config = trial.config
    return Best(trial=trial.number, identity=config.identity, changes=changes, config=config.model_dump(mode="json"))


def _on_front(trial: TrialRecord, ablation: Ablation) -> OnFront:
    values: Numbers = {"score": trial.score, "parameters": trial.parameters, "latency": trial.latency}
    dev = Spread(tuple(trial.dev.values()))
    score = with_error(dev.mean, dev.deviation, ".2f", ablation.measure).rstrip()
    told = [f"dev {MEASURES[ablation.measure]} {score}"]
    if "parameters" in ablation.objectives:
        told.append(NONE if trial.parameters is None else f"{trial.parameters:,} parameters")
    if "latency" in ablation.objectives:
        told.append(NONE if trial.latency is None else f"{trial.latency:.3g} s for 1,000 tokens")
    objectives: Numbers = {name: values[name] for name in ablation.objectives}
    return OnFront(trial=trial.number, objectives=objectives, told=f"trial {trial.number}: {', '.join(told)}")


def _line(row: Row, measure: Measure) -> Line:
    numbers = {name: read(row) for name, read in NUMBERS.items()}
    spreads = {"dev": row.dev, "difference": row.difference, "test": row.test}
    by_seed = {name: spread.values for name, spread in spreads.items() if spread is not None}
    return Line(numbers, tuple(column.write(numbers, measure) for column in COLUMNS), {"seeds": row.seeds, **by_seed})


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


def with_error(mean: Scalar, error: Scalar, form: str, measure: Measure) -> str:
    """``96.41 ± 0.12``; an undefined error takes the same room, so that means stand below means."""
    if not isinstance(mean, float):
        return NONE
    shown = f"{abs(_shown(error, measure)):.2f}" if isinstance(error, float) else f"{NONE:4}"
    return f"{_shown(mean, measure):{form}} ± {shown}"


def _shown(score: float, measure: Measure) -> float:
    """In percent, or as perplexity, to the two decimals shown; never -0.0."""
    return round(FACTORS[measure] * score, 2) + 0.0


def _selected(numbers: Numbers, measure: Measure) -> str:
    mark = (FRONT if numbers["selected_on_front"] else "") + (REUSED if numbers["selected_reused"] else "")
    return NONE if numbers["selected_trial"] is None else f"{numbers['selected_trial']}{mark}"


def _spent(name: str, form: str) -> Callable[[Numbers, Measure], str]:
    return lambda numbers, _: f"{numbers[name]:{form}}" if numbers[name] else ""


COLUMNS = (
    Column("n", _count),
    Column("dev %", _score("dev")),
    Column("difference", _difference),
    Column("test %", _score("test")),
    Column("trial", _selected),
    Column("epochs", _spent("epochs", ",d")),
    Column("seconds", _spent("seconds", ",.1f")),
)
