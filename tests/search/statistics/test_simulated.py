"""Simulated studies with known truth: intervals cover, are no wider than need be, and chance alone gets few marks.

All of it, 2,000 repeats of each world, is slow; a small part of it is in the fast tests.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from skipstack.search.analysis.confirmation.differences import FEWEST_SPANS
from skipstack.search.analysis.exploration.budgets import HELD, continued
from skipstack.search.statistics.multiple_testing import LEVEL, holm
from tests.search.statistics.forecast import BOWL, SEARCHES
from tests.search.statistics.measured import PAGE, REPEATS, TABLES, rows_of
from tests.search.statistics.simulated import FAILING, SENTENCES_MOST, WORLDS, World, experiment
from tests.search.statistics.simulated_limits import DOCUMENTED, RARE, covered, covered_of_spans
from tests.search.statistics.simulated_power import ROWS, stated
from tests.search.statistics.simulated_searches import NOTHING, searches
from tests.search.statistics.simulated_sequential import VARYING, by_chance

COVERED = (0.93, 0.985)
WIDEST = {2: 5.5, 3: 2.1, 5: 1.45, 10: 1.2}
"""Beside the interval of who knows the variances: Student's over as many seeds has 5.2, 1.9, 1.3 and 1.1."""


def test_a_few_intervals_cover_where_those_over_seeds_do_not() -> None:
    found = experiment(World("sentences differ most", SENTENCES_MOST, SENTENCES_MOST, effect=1.0), 200, most=5)[5]
    assert binom.ppf(0.001, 200, COVERED[0]) / 200 <= found.covered
    assert found.student_covered < 0.9
    assert 1.0 <= found.wide <= WIDEST[5]


@pytest.mark.slow
def test_a_few_searches_without_effects_get_few_marks_and_their_own_scores_many() -> None:
    found = searches(NOTHING[0], 100)
    assert max(found.family.values()) <= binom.ppf(0.999, 100, LEVEL) / 100
    assert found.winner_exceeds_error > 0.5


def test_a_few_families_without_effects_get_few_marks_however_often_they_are_looked_at() -> None:
    found = by_chance(VARYING[0], 200, source=1)
    assert found.worst <= binom.ppf(0.999, 200, LEVEL) / 200
    assert found.uncorrected > binom.ppf(0.999, 200, LEVEL) / 200


def test_the_smallest_p_of_a_family_is_marked_by_holm_as_the_simulation_counts_it() -> None:
    for p in np.random.default_rng(0).random((4, 7)) ** 3:
        assert any(each.marked for each in holm(p.tolist())) == (p.min() * 7 < LEVEL)


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_intervals_cover_and_are_no_wider_than_they_need_to_be(world: World) -> None:
    for seeds, found in experiment(world, REPEATS).items():
        assert COVERED[0] <= found.covered <= COVERED[1]
        assert found.wide <= WIDEST[seeds]
        assert found.wide <= found.student_wide * 1.12 or found.student_covered < 0.945


@pytest.mark.slow
def test_rare_failures_are_what_few_seeds_cannot_cover() -> None:
    found = experiment(FAILING, REPEATS)
    assert all(each.covered >= 0.91 for each in found.values())
    assert all(each.covered >= each.student_covered - 0.01 for each in found.values())


@pytest.mark.slow
@pytest.mark.parametrize("world", NOTHING, ids=lambda world: world.name)
def test_chance_alone_marks_at_most_one_family_in_twenty(world: World) -> None:
    found = searches(world, REPEATS)
    assert max(found.family.values()) <= LEVEL, "no tolerance is needed: p is a bound, and so is Holm's"
    assert found.winner_exceeds_error > 0.5


def test_intervals_over_documents_cover_where_those_over_sentences_do_not() -> None:
    sentences, documents = covered(DOCUMENTED[1], 60)
    assert sentences < 0.9 < documents


def test_few_spans_are_refused_where_intervals_fail() -> None:
    few, enough = (covered_of_spans(RARE[0], spans, 100) for spans in (8, FEWEST_SPANS))
    assert few < 0.85 < 0.9 < enough


def test_reports_say_of_a_proposer_how_often_their_bound_was_measured_to_hold() -> None:
    rows = [row.strip("| ").split(" | ") for row in rows_of(PAGE.read_text(), "forecasts")]
    assert [each for each, *_ in rows] == [f"`{proposer}`" for proposer in SEARCHES]
    measured = {each.strip("`"): int(share) for each, _, _, _, share, _ in rows}
    assert {proposer: round(100 * share) for proposer, share in HELD.items()} == {
        proposer: measured[proposer] for proposer in HELD
    }


def test_learning_on_a_bowl_brings_more_than_the_bound_for_points_at_random() -> None:
    """The worth of points is known: a search that learns goes on downhill, which no maximum of equal draws foresees."""
    gains, bounds = [], []
    for seed in range(10):
        scores = [trial.score for trial in BOWL.searched("tpe", 24, seed=seed).trials.values()]
        known = [score for score in scores if score is not None]
        said = continued(known[:16], 0.0, None, proposer="random")
        assert said is not None
        assert said.most is not None
        gains.append(max(known) - max(known[:16]))
        bounds.append(said.most)
    assert np.mean(gains) > np.mean(bounds)


@pytest.mark.slow
@pytest.mark.parametrize("rows", ROWS)
def test_the_power_that_is_stated_is_that_which_comes(rows: int) -> None:
    for found in stated(rows, REPEATS).values():
        assert found.detected[1] == pytest.approx(0.8, abs=0.03)
        assert found.half_detected[1] == pytest.approx(found.half_detected[0], abs=0.03)
        assert found.half_overstated[1] == pytest.approx(found.half_overstated[0], rel=0.03)


@pytest.mark.slow
@pytest.mark.timeout(2 * 3600)
@pytest.mark.parametrize(
    ("table", "row", "world"), [(table, row, world) for table, (row, worlds) in TABLES.items() for world in worlds]
)
def test_the_guide_has_what_is_measured(table: str, row: Callable[[Any], str], world: Any) -> None:
    assert row(world) in rows_of(PAGE.read_text(), table), "out of date: run `make statistics`"
