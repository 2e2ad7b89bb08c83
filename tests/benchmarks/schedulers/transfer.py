"""The default search on one corpus, begun with what was good on another: the recorded taggers, which share a space."""

import math
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from statistics import median
from typing import Final

from skipstack.data.basis.frozen import canonical_json
from skipstack.data.basis.seeding import generator
from skipstack.search.config import SearchConfig
from skipstack.search.decisions.schedulers.config import AshaConfig
from skipstack.search.ledger.events import Suggested, Suggestion
from skipstack.search.simulation.course import Course
from skipstack.search.simulation.repeats import Quartiles
from skipstack.search.simulation.simulation import simulate
from skipstack.search.study.suggestions import MOST
from skipstack.spaces.space import Point
from tests.benchmarks.schedulers.methods import RECORDINGS, Recorded
from tests.search.statistics.measured import line

TAGGERS: Final = ("tagger-supertags", "tagger-slots", "tagger-chinese")

SEEDS: Final = range(6)
"""With each of two earlier studies, so that a cell has twelve searches."""

EARLIER: Final = 30
"""Trials of the earlier search."""

EARLY: Final = 1 / 20
"""Of the grid's epochs: after so many it is asked what is missing to the best."""


@dataclass(frozen=True, slots=True)
class Begun:
    """How a search begins: with so many trials, ``first``, of earlier ones: the ``best`` of one, or the ``worst``."""

    first: int = 0
    worst: bool = False


BEGINNINGS: Final = {
    "nothing": Begun(),
    "the best one": Begun(1),
    "**the best five, as it is done**": Begun(MOST),
    "the best ten": Begun(10),
    "the worst five": Begun(MOST, worst=True),
}


@dataclass(frozen=True, slots=True)
class Warmed:
    """A beginning on a study: epochs until the best is found, as a share of the grid's, by seed and earlier study, and
    what is missing after a twentieth of the grid's epochs, in points.
    """

    until: tuple[float, ...]
    missing: tuple[float, ...]


def default(recorded: Recorded, seed: int, first: Sequence[Point]) -> Course:
    """The default search, with these points tried first."""
    own = recorded.record.study.search
    search = SearchConfig.model_validate({**dict(own), "proposer": "tpe", "scheduler": AshaConfig(), "seed": seed})
    suggested = Suggested(
        time=0.0,
        suggestions=tuple(Suggestion(study="earlier", trial=0, similarity=1, point=point) for point in first),
        similarities={"earlier": 1},
    )
    return simulate(recorded.record, recorded.curves, search, workers=1, suggested=suggested).course


def best_first(earlier: Recorded, seed: int) -> list[Point]:
    """The points of an earlier study of ``EARLIER`` random trials, none stopped, the best first."""
    points = earlier.curves.points
    places = generator(seed, "earlier").permutation(len(points))[:EARLIER]
    drawn = {canonical_json(points[place]) for place in places}
    return [dict(trial.point) for trial in earlier.record.ranked() if canonical_json(trial.point) in drawn]


def warmed(study: str, beginning: str) -> Warmed:
    """A beginning on a study, from each of the two others, with each seed."""
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
    return Warmed(
        tuple(goal.until(course) / goal.grid for course in courses),
        tuple(factor * goal.regret(course, EARLY * goal.grid) for course in courses),
    )


def transfer_rows() -> Iterator[str]:
    """Of each beginning, in each study: the share until the best is found, and what is missing early."""
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        pairs = list(product(BEGINNINGS, TAGGERS))
        results = list(pool.map(warmed, (study for _, study in pairs), (name for name, _ in pairs)))
    for place, name in enumerate(BEGINNINGS):
        yield line(name, *map(cell, results[place * len(TAGGERS) : (place + 1) * len(TAGGERS)]))


def cell(each: Warmed) -> str:
    """``4 % (3 to 6), 0.00``; where not all seeds find the best, in how many it is."""
    quartiles = Quartiles.of(each.until)
    middle, lower, upper = (
        "–" if part is None else f"{100 * part:.0f}" for part in (quartiles.median, quartiles.lower, quartiles.upper)
    )
    found = sum(map(math.isfinite, each.until))
    missed = "" if found == len(each.until) else f" {found}/{len(each.until)}"
    return f"{middle} % ({lower} to {upper}){missed}, {median(each.missing):.2f}"
