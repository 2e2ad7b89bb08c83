"""Simulates a study with the same options and many seeds of the proposer, and summarises the outcomes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from skipstack.data.basis.errors import UserError
from skipstack.search.api.simulation.recordings import Recordings
from skipstack.search.api.simulation.simulation import simulate
from skipstack.search.api.simulation.trajectory import Trajectory
from skipstack.search.statistics.censored_quantiles import QUARTILES, quantile
from skipstack.search.study.config import SearchConfig
from skipstack.search.study.record.study_record import StudyRecord

BUDGET: Final = 1 / 5
"""``Repeated.regret_early`` is measured after this fraction of the epochs that all replayed trials would take if none
were stopped (``Goal.grid``)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Goal:
    """The target of a simulation.

    ``best``: the best score of the recorded curves that do not diverge. ``within``: a score that is lower by at most
    this counts as the best. ``grid``: the total epochs of all recorded trials if none is stopped.
    """

    best: float
    within: float
    grid: int

    def until(self, course: Trajectory) -> float:
        """The number of epochs until the incumbent reaches the best score for good. Infinite if it never does."""
        moment = course.until(self.best - self.within)
        return math.inf if moment is None else moment.epochs

    def regret(self, course: Trajectory, epochs: float = math.inf) -> float:
        """The best score minus the incumbent's after ``epochs`` epochs, at least 0. Infinite without an incumbent."""
        score = course.after(epochs)
        return math.inf if score is None else max(self.best - score, 0.0)


@dataclass(frozen=True, slots=True)
class Quartiles:
    """The quartiles of a result over several seeds. An infinite quartile is None."""

    lower: float | None
    median: float | None
    upper: float | None

    @classmethod
    def of(cls, values: Sequence[float]) -> "Quartiles":
        """Compute the quartiles of values, which may be infinite."""
        return cls(*(value if math.isfinite(value) else None for value in (quantile(values, at) for at in QUARTILES)))


@dataclass(frozen=True, kw_only=True, slots=True)
class Repeated:
    """The results of simulations that differ only in the proposer's seed. The incumbent is the best trial so far.

    ``trials``: the number of trials of one simulation. ``epochs``: the epochs of all trials of a simulation.
    ``until_found``: the epochs until the incumbent reaches the best recorded score for good. ``found``: the number of
    seeds for which it does. ``regret_early``: the best recorded score minus the incumbent's score, after the fraction
    ``BUDGET`` of the epochs ``Goal.grid``. ``regret_at_end``: the same difference at the end.
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
    """The target of simulations of a study. ``within``: as in ``Goal``. Raises UserError if all curves diverge."""
    best = recorded.best
    if best is None:
        raise UserError("--repeat: all recorded curves diverge (allowed: a study with a best trial to find again)")
    return Goal(
        best=best,
        within=within,
        grid=len(recorded.points) * record.study.space.base.epochs,
    )


def repeated(
    record: StudyRecord, recorded: Recordings, search: SearchConfig, goal: Goal, *, repeats: int, workers: int
) -> Repeated:
    """Simulate a study with ``repeats`` consecutive seeds, from the seed of ``search`` on. ``goal``: the target of the
    simulations. The other arguments are those of ``simulate``. Raises UserError as ``simulate`` does.
    """
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
