"""Simulates one setting with many seeds, and summarises the outcomes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from skipstack.search.api.simulation.recordings import Recordings
from skipstack.search.api.simulation.simulation import simulate
from skipstack.search.api.simulation.trajectory import Trajectory
from skipstack.search.statistics.censored_quantiles import QUARTILES, quantile
from skipstack.search.study.config import SearchConfig
from skipstack.search.study.record.study_record import StudyRecord

BUDGET: Final = 1 / 5
"""The share of the grid's epochs after which the early regret is measured."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Goal:
    """The target of a simulation.

    ``best``: the best score of all recorded curves. ``within``: the tolerance by which a score counts as the best.
    ``grid``: the epochs of all trials together if none is stopped.
    """

    best: float
    within: float
    grid: int

    def until(self, course: Trajectory) -> float:
        """Epochs until the incumbent reaches the best score and stays there; infinite if it never does."""
        moment = course.until(self.best - self.within)
        return math.inf if moment is None else moment.epochs

    def regret(self, course: Trajectory, epochs: float = math.inf) -> float:
        """The difference of the incumbent to the best after so many epochs; infinite without an incumbent."""
        score = course.after(epochs)
        return math.inf if score is None else max(self.best - score, 0.0)


@dataclass(frozen=True, slots=True)
class Quartiles:
    """The quartiles of a result over several seeds; None: infinite."""

    lower: float | None
    median: float | None
    upper: float | None

    @classmethod
    def of(cls, values: Sequence[float]) -> "Quartiles":
        """The quartiles of values, some of which may be infinite."""
        return cls(*(value if math.isfinite(value) else None for value in (quantile(values, at) for at in QUARTILES)))


@dataclass(frozen=True, kw_only=True, slots=True)
class Repeated:
    """The results of one setting with several seeds of the proposer.

    ``trials``: of each seed; ``epochs``: of all its trials. ``until_found``: epochs until the incumbent has the best
    recorded score, as it does with ``found`` of the seeds. ``regret_early``, ``regret_at_end``: the difference to that
    score after ``BUDGET`` of the grid's epochs, and at the end.
    """

    proposer: str
    scheduler: str
    seeds: tuple[int, ...]
    trials: int
    epochs: Quartiles
    until_found: Quartiles
    found: int
    regret_early: Quartiles
    regret_at_end: Quartiles


def goal_of(record: StudyRecord, recorded: Recordings, within: float) -> Goal:
    """The goal in a study's recordings; ``within``: in scores."""
    best = recorded.best
    return Goal(
        best=-math.inf if best is None else best,
        within=within,
        grid=len(recorded.points) * record.study.space.base.epochs,
    )


def repeated(
    record: StudyRecord, recorded: Recordings, search: SearchConfig, goal: Goal, *, repeats: int, workers: int
) -> Repeated:
    """Simulate a setting with so many seeds, from that of ``search`` on. Raises UserError as ``simulate`` does."""
    seeds = tuple(range(search.seed, search.seed + repeats))
    outcomes = [simulate(record, recorded, search.model_copy(update={"seed": seed}), workers=workers) for seed in seeds]
    courses = [outcome.course for outcome in outcomes]
    until = [goal.until(course) for course in courses]
    return Repeated(
        proposer=search.proposer.kind,
        scheduler=outcomes[0].scheduler,
        seeds=seeds,
        trials=outcomes[0].trials,
        epochs=Quartiles.of([outcome.epochs for outcome in outcomes]),
        until_found=Quartiles.of(until),
        found=sum(map(math.isfinite, until)),
        regret_early=Quartiles.of([goal.regret(course, BUDGET * goal.grid) for course in courses]),
        regret_at_end=Quartiles.of([goal.regret(course) for course in courses]),
    )
