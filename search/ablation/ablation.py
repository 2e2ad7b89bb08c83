"""The ablation table: what each value of each axis reaches, beside the base and the baseline.

A value is represented by its selected trial, the one with the best mean dev score among those that
have it. Selection looks at dev alone; only selected trials, and a grid's, are measured on test.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from skipstack.data.basis.errors import UserError, unknown
from skipstack.data.basis.frozen import identity
from skipstack.data.tasks.measure import Measure
from skipstack.data.tasks.measures import MEASURES
from skipstack.search.statistics.spreads import Spread, paired_difference
from skipstack.search.decisions.objectives import Objective
from skipstack.search.ledger.events import Reason
from skipstack.search.study.records.parts import parts
from skipstack.search.study.records.study_record import StudyRecord
from skipstack.search.study.records.trial_record import TrialRecord
from skipstack.spaces.changes import changes
from skipstack.spaces.trial import Scalar

BASELINE, BASE, BEST = "baseline", "base", "best"
"""The ``axis`` of the rows that belong to none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One value of one axis. Scores are those of ``data.tasks.measure``.

    ``trials``: how many have the value, ``scored``: how many of them have a score. The selected one is
    the best of these, so its dev score flatters the value the more, the more there are. It was
    ``epoch`` that was best, with these ``seeds``; its values stand in their order. ``epochs`` and
    ``seconds`` are spent on all ``trials``. ``difference``: to the base, on dev, seed by seed; None
    for the base itself, and where there is no base; ``unequal``: one of the two was not trained as
    long as the other. ``leads``: no other value of the axis is better. ``state``, ``parameters``,
    ``latency`` and ``on_front``, the Pareto front, are the selected trial's, the latter three where
    the study asks for them. ``reused``: it was not trained here, and costs nothing.
    """

    axis: str
    value: str
    trials: int
    scored: int
    selected: int | None = None
    state: str | None = None
    epoch: int | None = None
    seeds: tuple[int, ...] = ()
    is_base: bool = False
    leads: bool = False
    dev: Spread | None = None
    difference: Spread | None = None
    unequal: bool = False
    test: Spread | None = None
    epochs: int = 0
    seconds: float = 0.0
    parameters: int | None = None
    latency: float | None = None
    on_front: bool = False
    reused: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Ablation:
    """The rows in the order they are shown: baseline, base, best, then axis by axis."""

    study: str
    measure: Measure
    rows: tuple[Row, ...]
    ends: dict[str, int]
    """Trials by end reason, those that occur; ``running`` or ``paused`` for trials that have not ended."""
    reused: int
    """Trials that were taken over and not trained."""
    epochs: int
    seconds: float
    best: TrialRecord | None
    changes: dict[str, Scalar]
    """What the best config has that the base has not."""
    objectives: tuple[Objective, ...] = ("score",)
    front: tuple[TrialRecord, ...] = ()
    """The trials on the Pareto front of several objectives, the best score first."""


def ablation(record: StudyRecord, by: Sequence[str] = ()) -> Ablation:
    """The table of a study, over all its axes or over those named ``by``.

    Raises UserError where ``by`` names something that is no axis of the study.
    """
    axes = record.space.domains
    for axis in by:
        if axis not in axes:
            raise UserError(unknown("axis", axis, axes))
    trials = list(record.trials.values())
    best = next(iter(record.ranked()), None)
    base = record.base if record.base is not None and record.base.score is not None else None
    front = tuple(record.front())
    rows = [*_baseline(record)]
    if base is not None:
        rows.append(_row(BASE, f"trial {base.number}", [base], base))
    if best is not None:
        rows.append(_row(BEST, f"trial {best.number}", trials, base))
    for axis in by or axes:
        rows.extend(_axis(record, axis, base))
    ends = Counter(trial.state for trial in trials)
    return Ablation(
        study=record.study.name,
        measure=record.measure,
        rows=tuple(replace(row, on_front=row.selected in [trial.number for trial in front]) for row in rows),
        reused=sum(trial.reused is not None for trial in trials),
        ends={reason: ends[reason] for reason in (*get_args(Reason), "running", "paused") if reason in ends},
        epochs=sum(trial.epochs for trial in trials),
        seconds=sum(trial.seconds for trial in trials),
        best=best,
        changes={} if best is None else changes(best.config, record.study.space.base),
        objectives=record.study.search.objectives,
        front=front,
    )


def _baseline(record: StudyRecord) -> Iterator[Row]:
    """The most frequent tag or arc of each word, on the base's corpus."""
    prepared = record.corpora.get(identity(record.study.space.base.data.corpus))
    if prepared is not None:
        dev, test = Spread((prepared.baseline_dev,)), Spread((prepared.baseline_test,))
        yield Row(axis=BASELINE, value=MEASURES[prepared.measure].baseline, trials=0, scored=0, dev=dev, test=test)


def _axis(record: StudyRecord, axis: str, base: TrialRecord | None) -> list[Row]:
    """The rows of an axis, in the order of its domain; trials on which it is not active have no value there."""
    active = [trial for trial in record.trials.values() if axis in trial.point]
    rows = [
        _row(axis, part.label, [trial for trial in active if part.holds(trial.point[axis])], base)
        for part in parts(record.space.domains[axis])
    ]
    reached = [row.dev.mean for row in rows if row.dev is not None]
    if len(reached) < 2:
        return rows
    return [replace(row, leads=row.dev is not None and row.dev.mean == max(reached)) for row in rows]


def _row(axis: str, value: str, group: Sequence[TrialRecord], base: TrialRecord | None) -> Row:
    scored = [trial for trial in group if trial.score is not None]
    row = Row(
        axis=axis,
        value=value,
        trials=len(group),
        scored=len(scored),
        epochs=sum(trial.epochs for trial in group),
        seconds=sum(trial.seconds for trial in group),
    )
    if not scored:
        return row
    chosen = min(scored, key=lambda trial: trial.place)
    assert chosen.best is not None
    dev, test = chosen.dev, chosen.test
    difference = None if base is None or chosen is base else paired_difference(dev, base.dev)
    return replace(
        row,
        selected=chosen.number,
        state=chosen.state,
        epoch=chosen.best.epoch,
        seeds=chosen.seeds,
        is_base=chosen is base,
        dev=Spread(tuple(dev.values())),
        difference=difference,
        unequal=base is not None and not chosen.trained_as_long_as(base),
        test=Spread(tuple(test.values())) if test else None,
        parameters=chosen.parameters,
        latency=chosen.latency,
        reused=chosen.reused is not None,
    )
