"""The Gaussian process: stopped trials counted, several objectives, when kernels are fitted, and that it learns."""

import math

import numpy as np
import pytest

from skipstack.search.strategy.proposers import gaussian_process
from skipstack.search.strategy.proposers.gaussian_process import GaussianProcess
from skipstack.search.strategy.proposers.proposer import Proposer, Random
from skipstack.spaces.space import Point, Space, SpaceConfig
from tests.search.strategy.proposers.histories import KIND, MOMENTUM, RATE, climb

CURVED = Space(
    SpaceConfig.model_validate(
        {
            "axes": {
                KIND: {"choice": ["adam", "sgd"]},
                RATE: {"log": [1e-4, 1e-1]},
                MOMENTUM: {"real": [0.0, 0.9], "when": {KIND: ["sgd"]}},
            }
        }
    )
)


def values_of(process: GaussianProcess) -> list[tuple[float, ...]]:
    return [each.values for each in process._scored]


def test_stopped_trials_count_with_their_last_score_and_completed_ones_with_their_best() -> None:
    process = GaussianProcess(CURVED, seed=0)
    for number, reason in enumerate(["completed", "stopped", "failed", "diverged"]):
        process.proposed(number, {KIND: "adam", RATE: 0.001 * (number + 1)})
        process.ended(number, reason, [(1, 0.5), (2, 0.25)])  # type: ignore[arg-type]
    assert values_of(process) == [(0.5,), (0.25,)]


def test_of_many_trials_it_knows_the_best_and_the_latest_and_answers_as_if_there_were_no_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gaussian_process, "CONDITIONED", 6)
    monkeypatch.setattr(gaussian_process, "RUNNING", 2)
    scores = [0.1, 0.9, 0.2, 0.8, 0.3, 0.7, 0.4, 0.05, 0.04, 0.03, 0.02, 0.01]
    known = [1, 3, 5, *(9, 10, 11), *(14, 15)]  # the best three, the latest three others, the latest that run
    monkeypatch.setattr(gaussian_process, "fitted", lambda *given: given[3])  # which learns from more trials over time
    source, every = np.random.default_rng(0), GaussianProcess(CURVED, 0, random_trials=4)
    few = GaussianProcess(CURVED, 0, random_trials=4)
    points = [CURVED.sample(source) for _ in range(16)]
    for process, numbers in ((every, range(16)), (few, known)):
        for number in numbers:
            process.proposed(number, points[number])
            if number < len(scores):
                process.ended(number, "completed", [(1, scores[number])])
    answer = few.ask(16)
    assert every.ask(16) == answer
    assert every.ask(16) == answer, "asking changes nothing"
    assert len(values_of(every)) == 12


def climbed(proposer: Proposer) -> float:
    """How near the last 8 of 16 proposals come to SGD, a rate of 0.01 and a momentum of 0.6."""

    def nearness(point: Point) -> float:
        apart = (math.log10(float(str(point[RATE]))) + 2) ** 2 / 2
        return -apart - (4 * (float(str(point[MOMENTUM])) - 0.6) ** 2 if MOMENTUM in point else 0.5)

    return max(climb(proposer, 16, nearness)[8:])


@pytest.mark.parametrize("seed", [0, 1])
def test_it_finds_the_best_value_of_a_conditional_axis(seed: int) -> None:
    assert climbed(GaussianProcess(CURVED, seed, random_trials=8)) > -0.01
    assert climbed(Random(CURVED, seed)) < -0.02


def test_with_two_objectives_it_looks_for_the_front_between_them() -> None:
    """Each rate is on the front of the score and of its opposite: points go where the ones before left gaps."""

    def size(point: Point) -> float:
        return math.log10(float(str(point[RATE])))

    process = GaussianProcess(CURVED, seed=0, objectives=2, random_trials=4)
    for number in range(12):
        point = process.ask(number)
        assert point is not None
        process.proposed(number, point)
        process.ended(number, "completed", [(1, size(point))], (-size(point),))
    sizes = np.sort([-4.0, -1.0, *(values[0] for values in values_of(process))])
    assert np.diff(sizes).max() < 0.5
    drawn = [np.sort([-4.0, -1.0, *(size(CURVED.sample(source)) for _ in range(12))]) for source in map(rng, range(40))]
    assert np.median([np.diff(each).max() for each in drawn]) > 0.6


def rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_observed_trials_teach_what_own_ones_do() -> None:
    own, earlier = (GaussianProcess(CURVED, seed=0, objectives=2, random_trials=4) for _ in range(2))
    source = rng(3)
    for number in range(6):
        point, values = CURVED.sample(source), source.random(2).tolist()
        own.proposed(number, point)
        own.ended(number, "completed", [(1, values[0])], (values[1],))
        earlier.observed(point, "completed", [(1, values[0])], (values[1],))
    assert earlier.ask(8) == own.ask(8)


def test_kernels_are_fitted_again_with_each_eighth_more_scores_whoever_asks_when() -> None:
    source = rng(0)
    points = [CURVED.sample(source) for _ in range(60)]
    often, once = (GaussianProcess(CURVED, seed=0) for _ in range(2))
    for number, point in enumerate(points):
        for process in (often, once):
            process.proposed(number, point)
            process.ended(number, "completed", [(1, math.log10(float(str(point[RATE]))))])
        often.ask(100)
    assert once.ask(100) == often.ask(100)
    fits = gaussian_process._fits(10, 60)
    assert fits == [10, 11, 12, 13, 14, 15, 16, 18, 20, 22, 24, 27, 30, 33, 37, 41, 46, 51, 57]
    assert len(once._kernels) == len(often._kernels) == len(fits)
