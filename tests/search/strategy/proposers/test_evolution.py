"""Regularised evolution against the paper's algorithm written plainly, and that it climbs."""

import math
import random
from collections.abc import Sequence
from statistics import fmean

from skipstack.data.basis.frozen import canonical_json
from skipstack.search.ledger.events import Reason
from skipstack.search.strategy.proposers.config import EvolutionConfig
from skipstack.search.strategy.proposers.conformance import FINITE, MIXED, live, replay
from skipstack.search.strategy.proposers.evolution import Evolution
from skipstack.search.strategy.proposers.proposer import Curve, Random
from skipstack.spaces.space import Point, Space, SpaceConfig
from tests.search.strategy.proposers.histories import DEPTH, HIDDEN, RATE, SMALL, climb


def one_axis_away(child: Point, parent: Point) -> bool:
    """One axis that both have differs, and what it makes active; a neighbour by enumeration."""
    return canonical_json(child) in {canonical_json(each) for each in MIXED.neighbours(parent)}


def test_once_the_population_is_full_each_trial_is_a_neighbour_of_one_of_the_last_that_ended() -> None:
    evolution = Evolution(MIXED, seed=1, config=SMALL)
    alive: list[Point] = []
    children = 0
    for event in live(Evolution(MIXED, 1, SMALL), seed=1, trials=40):
        if event.reason is None and len(alive) >= SMALL.population:
            assert any(one_axis_away(event.point, parent) for parent in alive[-SMALL.population :])
            children += 1
        if event.reason in ("completed", "stopped"):
            alive.append(event.point)
        replay(evolution, event)
    assert children > 15


def winner(individuals: Sequence[tuple[Reason, Curve]], sample: int = 64) -> int:
    """Which of the first trials has the child, if a sample as good as certainly holds all of them."""
    evolution = Evolution(MIXED, 0, EvolutionConfig(population=len(individuals), sample=sample))
    points = [MIXED.base_point() | {HIDDEN: 10 + 10 * number} for number in range(len(individuals))]
    for number, (point, (reason, curve)) in enumerate(zip(points, individuals, strict=True)):
        evolution.proposed(number, point)
        evolution.ended(number, reason, curve)
    child = evolution.ask(len(individuals))
    assert child is not None
    parents = [number for number, point in enumerate(points) if one_axis_away(child, point)]
    assert len(parents) == 1
    return parents[0]


def test_the_best_completed_trial_has_the_child_then_the_stopped_one_that_came_farthest() -> None:
    assert winner([("completed", [(1, 0.4), (2, 0.3)]), ("completed", [(1, 0.1), (2, 0.35)])]) == 0
    assert winner([("stopped", [(1, 0.9)]), ("completed", [(1, 0.1), (2, 0.2)])]) == 1
    assert winner([("stopped", [(1, 0.9)]), ("stopped", [(1, 0.1), (3, 0.2)])]) == 1
    assert winner([("stopped", [(1, 0.9), (2, 0.1)]), ("stopped", [(1, 0.1), (2, 0.2)])]) == 1


def test_of_several_objectives_a_dominated_one_has_no_child() -> None:
    evolution = Evolution(MIXED, 0, EvolutionConfig(population=2, sample=64))
    points = [MIXED.base_point() | {HIDDEN: 20}, MIXED.base_point() | {HIDDEN: 40}]
    for number, (point, further) in enumerate(zip(points, [(-50.0,), (-60.0,)], strict=True)):
        evolution.proposed(number, point)
        evolution.ended(number, "completed", [(1, 0.5)], further)
    child = evolution.ask(2)
    assert child is not None
    assert one_axis_away(child, points[0])


def test_the_oldest_dies_however_good_it_was() -> None:
    evolution = Evolution(MIXED, 0, EvolutionConfig(population=2, sample=64))
    for number, score in enumerate([0.99, 0.1, 0.2]):
        evolution.proposed(number, MIXED.base_point() | {HIDDEN: 20 + 10 * number})
        evolution.ended(number, "completed", [(1, score)])
    child = evolution.ask(3)
    assert child is not None
    assert one_axis_away(child, MIXED.base_point() | {HIDDEN: 40})


def test_a_population_of_earlier_trials_has_children_at_once() -> None:
    evolution = Evolution(MIXED, 0, EvolutionConfig(population=3, sample=64))
    for number in range(3):
        evolution.observed(MIXED.base_point() | {HIDDEN: 20 + 10 * number}, "completed", [(1, number / 10)])
    evolution.observed(MIXED.base_point() | {HIDDEN: 63}, "diverged", [(1, math.nan)])
    child = evolution.ask(0)
    assert child is not None
    assert one_axis_away(child, MIXED.base_point() | {HIDDEN: 40})


def test_where_all_neighbours_were_proposed_another_point_is_drawn() -> None:
    evolution = Evolution(FINITE, 0, EvolutionConfig(population=1, sample=1))
    everything = list(FINITE.enumerate())
    parent = everything[0]
    near = [parent, *FINITE.neighbours(parent)]
    for number, point in enumerate(near):
        evolution.proposed(number, point)
    evolution.ended(0, "completed", [(1, 0.5)])
    far = evolution.ask(len(near))
    assert far is not None
    assert far not in near
    assert FINITE.allowed(far)


def test_neighbours_in_random_order_are_the_neighbours() -> None:
    import numpy as np

    point = MIXED.sample(np.random.default_rng(0))
    mixed = [canonical_json(each) for each in MIXED.neighbours(point, np.random.default_rng(1))]
    plain = [canonical_json(each) for each in MIXED.neighbours(point)]
    assert sorted(mixed) == sorted(plain)
    assert mixed != plain
    shuffled = dict(random.Random(0).sample(list(point.items()), len(point)))
    assert [canonical_json(each) for each in MIXED.neighbours(shuffled)] == plain, "a ledger sorts the axes of a point"


MANY = Space(
    SpaceConfig.model_validate(
        {
            "axes": {
                DEPTH: {"choice": [1, 3, 5, 7, 9]},
                HIDDEN: {"choice": [8, 16, 32, 64, 128]},
                RATE: {"choice": [0.001, 0.003, 0.01, 0.03, 0.1]},
                "training.batch_size": {"choice": [1, 2, 4, 8, 16]},
                "training.clip_norm": {"choice": [1.0, 2.0, 3.0, 4.0, 5.0]},
            }
        }
    )
)
"""3125 points, of which one has the last value on every axis."""


def climbed(proposer: Evolution | Random) -> float:
    """The mean of the last 30 of 90 trials, whose score is the mean place of their values, in [0, 1]."""

    def place(point: Point) -> float:
        return sum(list(MANY.domains[path].values).index(point[path]) / 20 for path in point)  # type: ignore[union-attr]

    return fmean(climb(proposer, 90, place)[-30:])


def test_it_climbs_where_random_search_stays() -> None:
    for seed in range(3):
        assert climbed(Evolution(MANY, seed, EvolutionConfig())) > 0.64
        assert 0.35 < climbed(Random(MANY, seed)) < 0.6
