"""The default search on one corpus, begun with what was good on another: the recorded taggers, which share a space."""

import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from typing import Final

from skipstack.data.basis.frozen import canonical_json
from skipstack.data.basis.seeding import generator
from skipstack.search.api.simulation.trajectory import Trajectory
from skipstack.search.ledger.events import Suggested, Suggestion
from skipstack.search.strategy.schedulers.config import AshaConfig
from skipstack.search.study.earlier_studies.warm_start import MOST
from skipstack.spaces.space import Point
from tests.benchmarks.schedulers.measured import Found
from tests.benchmarks.schedulers.methods import RECORDINGS, Recorded, ours

TAGGERS: Final = ("tagger-supertags", "tagger-slots", "tagger-chinese")

SEEDS: Final = range(6)
"""With each of two earlier studies, so that a cell has twelve searches."""

EARLIER: Final = 30
"""Trials of the earlier search."""

EARLY: Final = 1 / 20
"""Of the grid's epochs: after so many it is asked what is missing to the best."""


@dataclass(frozen=True, slots=True)
class Begun:
    """How a search begins: with the ``first`` so many trials of an earlier one, the best or else the ``worst``."""

    first: int = 0
    worst: bool = False


BEGINNINGS: Final = {
    "nothing": Begun(),
    "the best one": Begun(1),
    "**the best five, as it is done**": Begun(MOST),
    "the best ten": Begun(10),
    "the worst five": Begun(MOST, worst=True),
}


def default(recorded: Recorded, seed: int, first: Sequence[Point]) -> Trajectory:
    """The default search, with these points tried first."""
    suggested = Suggested(
        time=0.0,
        suggestions=tuple(Suggestion(study="earlier", trial=0, similarity=1, point=point) for point in first),
        similarities={"earlier": 1},
    )
    return ours("tpe", AshaConfig(), recorded, seed, 1, suggested)


def best_first(earlier: Recorded, seed: int) -> list[Point]:
    """The points of an earlier study of ``EARLIER`` random trials, none stopped, the best first."""
    points = earlier.curves.points
    places = generator(seed, "earlier").permutation(len(points))[:EARLIER]
    drawn = {canonical_json(points[place]) for place in places}
    return [dict(trial.point) for trial in earlier.record.ranked() if canonical_json(trial.point) in drawn]


def warmed(study: str, beginning: str) -> Found:
    """A beginning on a study, from each of the two others, with each seed. Its regret is that after ``EARLY``."""
    begun, recorded = BEGINNINGS[beginning], Recorded.of(RECORDINGS / study)
    here = {canonical_json(point) for point in recorded.curves.points}
    goal, courses = recorded.goal, []
    for source in TAGGERS if begun.first else [study]:
        if begun.first and source == study:
            continue
        earlier = Recorded.of(RECORDINGS / source)
        for seed in SEEDS:
            points = [point for point in best_first(earlier, seed) if canonical_json(point) in here]
            courses.append(default(recorded, seed, (points[::-1] if begun.worst else points)[: begun.first]))
    factor = abs(recorded.record.measure.factor)
    return Found(
        study,
        beginning,
        tuple(goal.until(course) / goal.grid for course in courses),
        tuple(factor * goal.regret(course, EARLY * goal.grid) for course in courses),
    )


def transferred() -> list[Found]:
    """All beginnings on all studies, a process a core."""
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        pairs = list(product(BEGINNINGS, TAGGERS))
        return list(pool.map(warmed, (study for _, study in pairs), (name for name, _ in pairs)))
