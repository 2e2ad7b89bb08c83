"""Fronts, ranks and places against dominance by its definition, and ASHA on several objectives."""

import math
import random

from hypothesis import given
from hypothesis import strategies as st

from skipstack.search.strategy.objectives.fronts import Fronts
from skipstack.search.strategy.objectives.pareto import best, front, net, places, ranks
from skipstack.search.strategy.schedulers.config import AshaConfig
from skipstack.search.strategy.schedulers.halving import Asha, FrontRung
from tests.oracles import pareto as oracle

SMALL = st.integers(min_value=0, max_value=4).map(float)
POINTS = st.integers(1, 3).flatmap(lambda size: st.lists(st.tuples(*[SMALL] * size), max_size=9))


@given(POINTS)
def test_ranks_are_the_longest_chains_of_points_that_dominate(points: list[tuple[float, ...]]) -> None:
    assert ranks(points) == oracle.ranks(points)
    undominated = [place for place, one in enumerate(points) if not any(oracle.dominates(o, one) for o in points)]
    assert front(points) == undominated


@given(POINTS)
def test_places_put_lower_ranks_first_and_equal_points_together(points: list[tuple[float, ...]]) -> None:
    found, rank_of = places(points), ranks(points)
    for one, (place, rank) in enumerate(zip(found, rank_of, strict=True)):
        for other, (its_place, its_rank) in enumerate(zip(found, rank_of, strict=True)):
            if rank < its_rank:
                assert place < its_place
            assert (place == its_place) == (points[one] == points[other])
    distinct = list(dict.fromkeys(points))
    ordered = sorted(range(len(distinct)), key=places(distinct).__getitem__)
    assert [best(distinct, most) for most in range(10)] == [ordered[:most] for most in range(10)]
    # A place is a number of points: those in front of it.
    assert found == [sum(each < place for each in found) for place in found]


@given(st.lists(st.tuples(SMALL), max_size=9))
def test_with_one_objective_a_place_is_the_number_of_larger_values(points: list[tuple[float]]) -> None:
    assert places(points) == [sum(other > one for other in points) for one in points]


def test_the_net_begins_at_the_best_score_and_goes_where_it_is_emptiest() -> None:
    line = [(float(step), -float(step)) for step in range(9)]
    assert [line[place][0] for place in list(net(line))[:5]] == [8, 0, 4, 2, 6]
    draw = random.Random(0)
    for _ in range(50):
        scores = sorted({draw.random() for _ in range(8)} | {0.0, 1.0})
        alike = list(zip(scores, sorted({draw.random() for _ in range(8)} | {0.0, 1.0}, reverse=True), strict=True))
        assert oracle.spread([alike[place] for place in net(alike)])  # scaled to [0, 1] as they stand
        wide = [(score, 1e6 * size - 3e6) for score, size in alike]
        assert list(net(wide)) == list(net(alike)), "what an objective is measured in makes no difference"


def test_what_was_not_measured_is_worse_than_anything_that_was() -> None:
    points = [(0.9, -math.inf), (0.9, -5.0), (0.8, -math.inf), (0.8, -1.0)]
    assert ranks(points) == [1, 0, 2, 0]
    assert sorted(places(points)) == [0, 1, 2, 3]
    assert list(net([(0.9, -math.inf), (0.8, -1.0)])) == [0, 1]
    assert places([]) == list(net([])) == ranks([]) == []


def asha(points: dict[int, tuple[float, ...]], reduction: int = 2) -> list[int]:
    """Who goes on at the first rung, the trials reporting in the order of their numbers."""
    scheduler = Asha(AshaConfig(grace=1, reduction=reduction), 4)
    going = []
    for trial, (score, *further) in points.items():
        scheduler.weigh(trial, tuple(further))
        if scheduler.report(trial, 1, score).action == "continue":
            going.append(trial)
    return going


def test_a_small_network_goes_on_at_a_rung_that_its_score_alone_would_not_pass() -> None:
    points = {0: (0.9, -100.0), 1: (0.8, -90.0), 2: (0.7, -80.0), 3: (0.6, -10.0), 4: (0.5, -95.0)}
    assert 3 in asha(points)
    assert 4 not in asha(points), "dominated by three others"
    assert 3 not in asha({trial: point[:1] for trial, point in points.items()})


@given(
    st.sampled_from([3, 20]).flatmap(
        lambda most: st.lists(st.tuples(*[st.integers(0, most)] * 2), min_size=1, max_size=14)
    ),
    st.integers(2, 4),
)
def test_the_rung_keeps_by_quantile_of_the_places_among_all_that_were_there(
    drawn: list[tuple[int, int]], reduction: int
) -> None:
    points = {trial: (float(a), -float(b)) for trial, (a, b) in enumerate(drawn)}
    expected = []
    for trial, own in points.items():
        others = [points[earlier] for earlier in range(trial)]
        place, *theirs = places([own, *others])
        worst_first = sorted((-each for each in theirs), key=float)
        index = (len(theirs) - 1) * (1 - 1 / reduction)
        low = math.floor(index + 1e-9)
        high = min(low + 1, len(theirs) - 1)
        cutoff = worst_first[low] + (worst_first[high] - worst_first[low]) * (index - low) if theirs else -math.inf
        if -place >= cutoff - 1e-9:
            expected.append(trial)
    assert asha(points, reduction) == expected


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_an_objective_in_which_all_are_equal_changes_the_order_of_nothing(scores: list[float]) -> None:
    assert places([(score, 1.0) for score in scores]) == places([(score,) for score in scores])


@given(POINTS)
def test_points_that_arrive_one_by_one_have_the_ranks_and_places_of_all_at_once(
    points: list[tuple[float, ...]],
) -> None:
    fronts = Fronts()
    for arrived, point in enumerate(points, 1):
        fronts.add(point)
        before = points[:arrived]
        by_definition = oracle.ranks(before)
        assert [fronts.rank(each) for each in before] == by_definition
        assert [fronts.before(rank) for rank in by_definition] == [
            sum(lower < rank for lower in by_definition) for rank in by_definition
        ]
        place, *others = places([point, *before[:-1]])
        assert [fronts.place(point, most=most) for most in range(12)] == [min(place, most) for most in range(12)]
        assert [fronts.place_at(position, point) for position in range(arrived)] == sorted([place, *others])


@given(st.data(), st.integers(2, 3))
def test_a_rung_promotes_the_best_that_waits_by_its_place_among_all(data: st.DataObject, reduction: int) -> None:
    size = data.draw(st.integers(2, 3))
    points = data.draw(st.lists(st.tuples(*[SMALL] * size), max_size=14))
    rung, waiting = FrontRung(), list[int]()
    for trial, point in enumerate(points):
        rung.enter_at(trial, point)
        if data.draw(st.integers(0, 4)):  # others are spared, and go on at once
            rung.wait(trial)
            waiting.append(trial)
        place_of = places(points[: trial + 1])
        ordered = sorted(range(trial + 1), key=lambda each: (place_of[each], each))
        best = next((each for each in ordered if each in waiting), None)
        expected = best if best is not None and ordered.index(best) < (trial + 1) // reduction else None
        assert rung.promotable(reduction) == expected
        if expected is not None and data.draw(st.booleans()):
            rung.leave(expected)
            waiting.remove(expected)
