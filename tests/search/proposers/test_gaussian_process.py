"""The Gaussian process: conditional axes filled in, stopped trials counted, several objectives, and that it learns."""

import math

import numpy as np
import optuna
import pytest

from skipstack.search.proposers import gaussian_process
from skipstack.search.proposers.gaussian_process import GaussianProcess
from skipstack.search.proposers.proposer import Proposer, Random
from skipstack.spaces.space import Point, Space, SpaceConfig
from tests.search.proposers.histories import BETA1, BETA2, KIND, MIXED, MOMENTUM, RATE, climb, quick

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


def trials_of(proposer: GaussianProcess) -> list[optuna.trial.FrozenTrial]:
    proposer._tell_optuna()
    return proposer._study.get_trials(deepcopy=False)


def test_an_axis_that_is_not_active_has_any_value_in_the_process_and_none_in_the_point() -> None:
    process = GaussianProcess(MIXED, seed=0)
    filled = set()
    for number in range(8):
        point = process.ask(number)
        assert point is not None
        process.proposed(number, point)
        told = trials_of(process)[-1].params
        missing = set(MIXED.domains) - set(point)
        assert missing in ({MOMENTUM}, {BETA1, BETA2})
        assert set(told) == set(MIXED.domains)
        assert all(MIXED.domains[path].contains(told[path]) for path in missing)
        filled |= {told[path] for path in missing}
    assert len(filled) >= 8, "never the same, or it would seem to matter"


def test_stopped_trials_count_with_their_last_score_and_completed_ones_with_their_best() -> None:
    process = GaussianProcess(CURVED, seed=0)
    for number, reason in enumerate(["completed", "stopped", "failed", "diverged"]):
        process.proposed(number, {KIND: "adam", RATE: 0.001 * (number + 1)})
        process.ended(number, reason, [(1, 0.5), (2, 0.25)])  # type: ignore[arg-type]
    assert [trial.values for trial in trials_of(process)] == [[0.5], [0.25], None, None]


def test_of_many_trials_it_knows_the_best_and_the_latest_and_answers_as_if_there_were_no_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gaussian_process, "CONDITIONED", 6)
    monkeypatch.setattr(gaussian_process, "RUNNING", 2)
    scores = [0.1, 0.9, 0.2, 0.8, 0.3, 0.7, 0.4, 0.05, 0.04, 0.03, 0.02, 0.01]
    known = [1, 3, 5, *(9, 10, 11), *(14, 15)]  # the best three, the latest three others, the latest that run
    source, every = np.random.default_rng(0), GaussianProcess(CURVED, 0, random_trials=4)
    few = GaussianProcess(CURVED, 0, random_trials=4)
    points = [CURVED.sample(source) for _ in range(16)]
    for process, numbers in ((every, range(16)), (few, known)):
        for number in numbers:
            process.proposed(number, points[number])
            if number < len(scores):
                process.ended(number, "completed", [(1, scores[number])])
    answer = quick(few).ask(16)
    assert quick(every).ask(16) == answer
    assert every.ask(16) == answer, "asking changes nothing"
    assert len(trials_of(every)) == 16


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
    process = quick(GaussianProcess(CURVED, seed=0, objectives=2, random_trials=6))
    for number in range(8):
        point = process.ask(number)
        assert point is not None
        process.proposed(number, point)
        size = 3 + math.log10(float(str(point[RATE])))
        process.ended(number, "completed", [(1, size)], (-size,))
    assert [trial.values for trial in trials_of(process) if trial.values][-1] == pytest.approx([size, -size])
    again = quick(GaussianProcess(CURVED, seed=0, objectives=2, random_trials=6))
    for trial in trials_of(process):
        if trial.values:
            point = {KIND: trial.params[KIND].strip('"'), RATE: trial.params[RATE]}
            again.observed(
                point | ({MOMENTUM: trial.params[MOMENTUM]} if point[KIND] == "sgd" else {}),
                "completed",
                [(1, trial.values[0])],
                (trial.values[1],),
            )
    assert again.ask(8) == process.ask(8), "observed trials teach what own ones do"
