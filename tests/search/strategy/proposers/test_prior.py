"""A belief that is right helps from the first trials on, and one that is wrong is soon not asked any more."""

from statistics import fmean, median

import pytest

from skipstack.data.basis.errors import UserError
from skipstack.search.strategy.proposers.conformance import MIXED
from skipstack.search.strategy.proposers.prior import FIRST_SHARE, HALVED_AFTER, Prior
from skipstack.search.strategy.proposers.tpe import Tpe
from skipstack.search.study.checks import check_study
from skipstack.search.study.study_files.study_file import load_study
from skipstack.spaces.space import Point, Space, SpaceConfig
from tests.search.strategy.proposers.histories import DEPTH, HIDDEN, KIND, RATE, climb
from tests.search.strategy.proposers.test_tpe import planted

BEST = {KIND: "adam", DEPTH: 3, HIDDEN: 48, RATE: 0.003}
WORST = {KIND: "sgd", DEPTH: 1, HIDDEN: 8, RATE: 1e-4}
SEEDS = range(6)


def believing(priors: Point) -> Space:
    """The mixed space, with beliefs."""
    axes = {"axes": {KIND: {"choice": ["sgd", "adam"]}, DEPTH: {"choice": [1, 3, 5]}}}
    axes["axes"] |= {HIDDEN: {"integer": [8, 64]}, RATE: {"log": [1e-4, 1e-1]}}
    axes["axes"] = {path: {**axis, "prior": priors[path]} for path, axis in axes["axes"].items()}
    return Space(SpaceConfig.model_validate(axes))


@pytest.mark.slow
def test_a_belief_that_is_right_helps_from_the_first_trials_on() -> None:
    for trials in (6, 12):
        guided = [max(climb(Prior(believing(BEST), seed), trials, planted)) for seed in range(100)]
        alone = [max(climb(Tpe(believing(BEST), seed), trials, planted)) for seed in range(100)]
        assert fmean(guided) > fmean(alone) + 0.03


@pytest.mark.slow
def test_a_belief_that_is_wrong_is_forgotten_and_costs_little() -> None:
    guided, shares = [], []
    for seed in SEEDS:
        proposer = Prior(believing(WORST), seed)
        guided.append(max(climb(proposer, 40, planted)))
        shares.append(proposer.share)
    alone = [max(climb(Tpe(believing(WORST), seed), 40, planted)) for seed in SEEDS]
    assert median(shares) < 0.01  # without evidence it would be 0.1
    assert fmean(guided) > fmean(alone) - 0.02


@pytest.mark.slow
def test_a_belief_that_says_nothing_of_what_is_good_is_asked_ever_less() -> None:
    """Scores that do not depend on the point: the share falls by its own schedule, and seldom faster."""
    shares = []
    for seed in range(12):
        proposer, scores = Prior(MIXED, seed), iter([(7919 * (number + 31 * seed)) % 997 for number in range(30)])
        climb(proposer, 30, lambda _, scores=scores: float(next(scores)))
        shares.append(proposer.share / (FIRST_SHARE * HALVED_AFTER / (HALVED_AFTER + 30)))
    assert max(shares) == pytest.approx(1)
    assert sorted(shares)[2] > 0.1
    assert fmean(shares) > 0.5


def test_before_any_trial_half_of_the_points_lie_near_the_belief() -> None:
    """Drawn from it or from TPE's uniform start: of three values, 1/2 x 2/3 + 1/2 x 1/3 of points have the believed."""
    proposer = Prior(believing(BEST), seed=0)
    points = [proposer.ask(number) for number in range(400)]
    assert all(point is not None for point in points)
    assert fmean(point[DEPTH] == 3 for point in points if point) == pytest.approx(0.5, abs=0.06)


def test_trials_that_failed_say_nothing_of_the_belief() -> None:
    proposer = Prior(believing(BEST), seed=0)
    for number in range(5):
        point = proposer.ask(number)
        assert point is not None
        proposer.proposed(number, point)
        proposer.ended(number, "failed", [(1, 0.5)])
    assert proposer.share == FIRST_SHARE


def test_a_prior_that_nobody_would_read_is_the_users_mistake() -> None:
    study, _ = load_study({"axes": {DEPTH: {"choice": [1, 2], "prior": 2}}})
    with pytest.raises(
        UserError, match=r"axis model.stack.depth: prior: proposer tpe reads none \(allowed: proposer: pri"
    ):
        check_study(study)
    check_study(load_study({"axes": {DEPTH: {"choice": [1, 2], "prior": 2}}, "search": {"proposer": "prior"}})[0])
