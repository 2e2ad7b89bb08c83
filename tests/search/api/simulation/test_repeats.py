"""Settings with many seeds: medians by hand and by numpy, on planted curves."""

import math
from itertools import permutations

import numpy as np
import pytest

from skipstack.search.api.simulation.recordings import recordings
from skipstack.search.api.simulation.repeats import BUDGET, Goal, Quartiles, goal_of, repeated
from skipstack.search.api.simulation.simulation import with_scheduler
from tests.search.api.simulation.test_simulation import EPOCHS, curves_study, random_record, simulated
from tests.search.changed import changed

WITHIN = 0.02


@pytest.mark.first(1)
@pytest.mark.parametrize("name", ["asha", "keep_best", "none"])
def test_what_several_seeds_give_is_what_each_gives_alone(name: str) -> None:
    record = random_record(2, trials=25)
    recorded = recordings(record)
    search = changed(with_scheduler(record.study.search, name), proposer="random", seed=3)
    goal = goal_of(record, recorded, WITHIN)
    found = repeated(record, recorded, search, goal, repeats=7, workers=2)
    assert found.seeds == tuple(range(3, 10))
    assert (goal.grid, found.trials) == (25 * EPOCHS, 25)
    outcomes = [simulated(record, changed(search, seed=seed), 2) for seed in found.seeds]
    assert [found.epochs.lower, found.epochs.median, found.epochs.upper] == pytest.approx(
        np.quantile([outcome.epochs for outcome in outcomes], [0.25, 0.5, 0.75]).tolist()
    )
    lacks = [goal.best - (outcome.best or 0.0) for outcome in outcomes]
    assert found.regret_at_end.median == pytest.approx(float(np.median(lacks)))
    assert found.found == sum(lack <= WITHIN for lack in lacks)
    early = [goal.best - (outcome.course.after(BUDGET * goal.grid) or 0.0) for outcome in outcomes]
    assert found.regret_early.upper == pytest.approx(float(np.quantile(early, 0.75)))
    if name == "none":
        assert found.found == 7
        assert found.until_found.median is not None


@pytest.mark.slow
def test_random_orders_are_as_they_are_counted_by_hand() -> None:
    """Three trials, of which one is the best from its second epoch on, nothing stopped: it is found after 2, 8 or 14
    epochs, each in two of the six orders. The seeds of a random proposer draw from these.
    """
    record = curves_study((0.1,) * 6, (0.2,) * 6, (0.3, 0.9, 0.9, 0.9, 0.9, 0.9))
    recorded = recordings(record)
    goal = goal_of(record, recorded, WITHIN)
    counted = {6 * order.index(2) + 2 for order in permutations(range(3))}
    search = changed(record.study.search, proposer="random")
    until = [goal.until(simulated(record, changed(search, seed=seed)).course) for seed in range(60)]
    assert set(until) == counted == {2, 8, 14}
    assert all(10 <= until.count(each) <= 32 for each in counted)
    found = repeated(record, recorded, search, goal, repeats=60, workers=1)
    assert (found.until_found.lower, found.until_found.median, found.until_found.upper) == tuple(
        np.quantile(until, [0.25, 0.5, 0.75])
    )


@pytest.mark.slow
def test_what_most_seeds_do_not_find_has_no_median() -> None:
    """FileService one trial after an epoch misses the late one, wherever it stands; nothing stopped finds it."""
    record = curves_study((0.5,) * 6, (0.4,) * 6, (0.1, 0.9, 0.9, 0.9, 0.9, 0.9))
    recorded = recordings(record)
    goal = goal_of(record, recorded, WITHIN)
    search = changed(with_scheduler(record.study.search, "keep_best", keep=1), proposer="random")
    found = repeated(record, recorded, search, goal, repeats=40, workers=1)
    first = sum(simulated(record, changed(search, seed=seed)).best == 0.9 for seed in range(40))
    assert 0 < found.found == first < 20  # where the late one comes first, it is among the best until another comes
    assert found.until_found.median is None
    assert found.regret_at_end.median == pytest.approx(0.9 - 0.5)


def test_beyond_all_ends_is_none() -> None:
    assert Quartiles.of([1.0, 2.0, math.inf, math.inf]) == Quartiles(1.75, None, None)
    assert Quartiles.of([1.0, 2.0, 3.0, 4.0, 5.0]) == Quartiles(2, 3, 4)
    goal = Goal(best=0.5, within=0.1, grid=10)
    record = curves_study((0.2, math.nan))
    course = simulated(record, record.study.search).course
    assert (goal.until(course), goal.regret(course)) == (math.inf, math.inf)
    assert goal.regret(course, 1) == pytest.approx(0.3)
