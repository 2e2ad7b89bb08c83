"""What every proposer promises, and the order of the grid."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import canonical_json
from skipstack.search.strategy.proposers.conformance import FINITE, LENGTH, MIXED, PROMISES, live, replay
from skipstack.search.strategy.proposers.evolution import Evolution
from skipstack.search.strategy.proposers.gaussian_process import GaussianProcess
from skipstack.search.strategy.proposers.proposer import Proposer, Random, Walk
from skipstack.search.strategy.proposers.tpe import Tpe
from skipstack.spaces.space import Point, Space, SpaceConfig
from tests.search.strategy.proposers.histories import (
    BETA1,
    COMPOSITION,
    DEPTH,
    HIDDEN,
    KIND,
    KINDS,
    MAKERS,
    MOMENTUM,
    SMALL,
    WIDE,
    Make,
    climb,
    subject,
)

every = pytest.mark.parametrize("name", MAKERS)


def points(proposer: Proposer, trials: int, seed: int = 0, sought: int = 1) -> list[Point]:
    return [event.point for event in live(proposer, seed, trials, objectives=sought) if event.reason is None]


@every
@pytest.mark.parametrize("promise", PROMISES)
def test_every_proposer_keeps_each_promise(name: str, promise: str) -> None:
    PROMISES[promise](subject(name))


@every
def test_points_have_the_active_axes_only(name: str) -> None:
    its = subject(name)
    proposed = [event.point for event in its.life(0) if event.reason is None]
    composed = {WIDE: (3,), FINITE: (2, 3), MIXED: (), KINDS: (3,)}[its.space]
    assert len({its.space.config(point).identity for point in proposed}) == len(proposed) == LENGTH
    assert {point[KIND] for point in proposed} == {"sgd", "adam"}
    for point in proposed:
        assert (MOMENTUM in point) == (point[KIND] == "sgd")
        assert (BETA1 in point) == (its.space in (MIXED, KINDS) and point[KIND] == "adam")
        assert (COMPOSITION in point) == (point[DEPTH] in composed)


@pytest.mark.parametrize(
    "name", ["grid", "listed", "random, finite", "tpe, finite", "prior, finite", "gp, finite", "evolution, finite"]
)
def test_a_finite_space_is_proposed_whole_and_then_exhausted(name: str) -> None:
    proposer = MAKERS[name]()
    everything = {canonical_json(point) for point in FINITE.enumerate()}
    assert len(everything) == 15
    assert {canonical_json(point) for point in points(proposer, trials=1000)} == everything
    assert proposer.ask(15) is None


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("random, mixed", lambda: Random(MIXED, seed=4)),
        ("tpe, mixed", lambda: Tpe(MIXED, seed=4)),
        ("gp, mixed", lambda: GaussianProcess(MIXED, seed=4)),
        ("evolution, mixed", lambda: Evolution(MIXED, 4, SMALL)),
    ],
)
def test_another_seed_gives_other_points(name: str, other: Make) -> None:
    assert points(other(), trials=3) != points(MAKERS[name](), trials=3)


@pytest.mark.first(5)
@every
def test_diverged_and_failed_trials_are_never_shown_as_a_score(name: str) -> None:
    """Without a score, all that is known of them is that their points were proposed."""
    its = subject(name)
    told_all, told_ends = its.make(), its.make()
    history = its.life(5)
    scoreless = [event for event in history if event.reason in ("diverged", "failed")]
    assert {event.reason for event in scoreless} == {"diverged", "failed"}
    for event in history:
        replay(told_all, event)
        replay(told_ends, replace(event, curve=[(1, 0.99)]) if event in scoreless else event)
    assert told_all.ask(20) == told_ends.ask(20)


@pytest.mark.first(5)
@every
def test_what_earlier_studies_observed_may_be_proposed_again_and_replays_alike(name: str) -> None:
    its = subject(name)
    first, second = its.make(), its.make()
    for proposer in (first, second):
        for event in its.life(3):
            if event.reason is not None:
                proposer.observed(event.point, event.reason, event.curve, event.further)
    alike = [points(each, trials=LENGTH // 3, sought=its.objectives) for each in (first, second)]
    assert alike[0] == alike[1]
    if name in ("grid", "listed", "random, finite", "tpe, finite", "evolution, finite"):
        rest = points(second, trials=1000, sought=its.objectives)
        assert len(alike[1]) + len(rest) == 15, "nothing was taken away from what can be proposed"


def test_the_grid_follows_the_enumeration() -> None:
    assert points(Walk(FINITE, FINITE.enumerate()), trials=15) == list(FINITE.enumerate())


def test_the_grid_steps_over_points_that_another_proposer_chose() -> None:
    everything = list(FINITE.enumerate())
    grid = Walk(FINITE, FINITE.enumerate())
    grid.proposed(0, everything[1])
    assert grid.ask(1) == everything[0]
    grid.proposed(1, everything[0])
    assert grid.ask(2) == everything[2]


@pytest.mark.parametrize("walk", [Space.enumerate, Space.one_at_a_time])
def test_a_walk_over_a_continuous_axis_is_the_users_mistake(walk: Callable[[Space], Iterator[Point]]) -> None:
    with pytest.raises(UserError, match="learning_rate"):
        Walk(MIXED, walk(MIXED))


def test_one_axis_at_a_time_begins_at_the_base_and_ends_after_the_last_value_of_the_last_axis() -> None:
    base: Point = {KIND: "sgd", DEPTH: 3, COMPOSITION: 2, MOMENTUM: 0.0}
    adam: Point = {KIND: "adam", DEPTH: 3, COMPOSITION: 2}
    depths: list[Point] = [{KIND: "sgd", DEPTH: depth, MOMENTUM: 0.0} for depth in (1, 4, 5)]
    compositions: list[Point] = [base | {COMPOSITION: kind} for kind in (1, 5)]
    momenta: list[Point] = [base | {MOMENTUM: tenth / 10} for tenth in range(1, 10)]
    expected = [base, adam, *depths, *compositions, *momenta]
    proposer = Walk(WIDE, WIDE.one_at_a_time())
    assert points(proposer, trials=1000) == expected
    assert proposer.ask(16) is None


def test_one_axis_at_a_time_steps_over_points_that_another_proposer_chose() -> None:
    walk, everything = Walk(WIDE, WIDE.one_at_a_time()), list(WIDE.one_at_a_time())
    elsewhere: Point = {KIND: "sgd", DEPTH: 5, MOMENTUM: 0.9}
    for number, point in enumerate([everything[1], elsewhere]):
        walk.proposed(number, point)
    assert points(walk, trials=1000) == [everything[0], *everything[2:]]


def test_random_points_spread_over_the_whole_space() -> None:
    draws = [point for number in range(300) if (point := Random(MIXED, seed=0).ask(number)) is not None]
    assert len(draws) == 300
    assert 120 < sum(point[KIND] == "sgd" for point in draws) < 180  # 150, standard deviation 8.7
    assert all(70 < sum(point[DEPTH] == depth for point in draws) < 130 for depth in (1, 3, 5))


IN_ANOTHER_PROCESS = """
import json
from tests.search.strategy.proposers.histories import MAKERS, subject
print(json.dumps({name: [event.point for event in subject(name).life(7)] for name in MAKERS}))
"""


@pytest.mark.slow
def test_the_sequence_is_the_same_in_another_process() -> None:
    root = Path(__file__).parents[4]
    mine = {name: [event.point for event in subject(name).life(7)] for name in MAKERS}
    done = subprocess.run(
        [sys.executable, "-c", IN_ANOTHER_PROCESS],
        cwd=root,
        env={**os.environ, "PYTHONHASHSEED": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == mine
    assert done.stdout.strip() == json.dumps(mine)  # the axes stand in the same order, too


def test_numbers_are_drawn_each_from_a_stream_of_its_own() -> None:
    forward = [Random(MIXED, seed=3).ask(number) for number in range(5)]
    proposer = Random(MIXED, seed=3)
    assert [proposer.ask(number) for number in reversed(range(5))] == forward[::-1]
    assert len({canonical_json(point) for point in forward}) == 5


@pytest.mark.parametrize("make", [Tpe, lambda space, seed: Evolution(space, seed, SMALL)], ids=["tpe", "evolution"])
def test_values_in_order_are_sought_near_good_ones(make: Callable[[Space, int], Proposer]) -> None:
    """Of 60 values, those near the 42nd are good: as an ordinal, they are proposed nearer to it than as a choice."""
    values = list(range(3, 123, 2))

    def away(kind: str) -> float:
        space = Space(SpaceConfig.model_validate({"axes": {HIDDEN: {kind: values}}}))
        scores = [
            climb(make(space, seed), 18, lambda point: -abs(values.index(point[HIDDEN]) - 41)) for seed in range(20)
        ]
        return -fmean(fmean(each[10:]) for each in scores)

    assert away("ordinal") < 0.85 * away("choice")
