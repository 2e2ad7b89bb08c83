"""TPE: the history as Optuna should see it, and that it learns."""

import logging
import math
import statistics
import warnings

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState, create_trial

from skipstack.search.strategy.proposers.conformance import MIXED, ProposerEvent, live, replay
from skipstack.search.strategy.proposers.proposer import Proposer, Random
from skipstack.search.strategy.proposers.tpe import Tpe
from skipstack.spaces.space import Point, Space, SpaceConfig
from tests.search.strategy.proposers.histories import (
    BETA1,
    BETA2,
    DEPTH,
    HIDDEN,
    KIND,
    MOMENTUM,
    RATE,
    climb,
)

DISTRIBUTIONS: dict[str, BaseDistribution] = {
    KIND: CategoricalDistribution(['"sgd"', '"adam"']),
    DEPTH: CategoricalDistribution(["1", "3", "5"]),
    HIDDEN: IntDistribution(8, 64),
    RATE: FloatDistribution(1e-4, 1e-1, log=True),
    MOMENTUM: FloatDistribution(0.0, 0.9),
    BETA1: FloatDistribution(0.5, 0.95),
    BETA2: FloatDistribution(0.9, 0.999),
}


def optunas_own(history: list[ProposerEvent], number: int, seed: int) -> Point:
    """The next point from a study of Optuna's that is written out by hand, trial by trial."""
    ends = {told.number: told for told in history if told.reason is not None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True, group=True, constant_liar=True)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    for told in history:
        if told.reason is not None:
            continue
        labels = {KIND: {"sgd": '"sgd"', "adam": '"adam"'}, DEPTH: {1: "1", 3: "3", 5: "5"}}
        params = {path: labels[path][value] if path in labels else value for path, value in told.point.items()}  # type: ignore[index]
        distributions = {path: DISTRIBUTIONS[path] for path in params}
        end = ends.get(told.number)
        match end.reason if end else None:
            case "completed" | "stopped" as reason:
                assert end is not None
                scores = [score for _, score in end.curve]
                study.add_trial(
                    create_trial(
                        state=TrialState.COMPLETE if reason == "completed" else TrialState.PRUNED,
                        value=max(scores) if reason == "completed" else scores[-1],
                        params=params,
                        distributions=distributions,
                        intermediate_values=dict(end.curve),
                    )
                )
            case None:
                study.add_trial(create_trial(state=TrialState.RUNNING, params=params, distributions=distributions))
            case _:
                pass  # failed and diverged trials teach nothing
    trial = study.ask()
    kind = trial.suggest_categorical(KIND, ['"sgd"', '"adam"']).strip('"')
    point: Point = {
        KIND: kind,
        DEPTH: int(trial.suggest_categorical(DEPTH, ["1", "3", "5"])),
        HIDDEN: trial.suggest_int(HIDDEN, 8, 64),
        RATE: trial.suggest_float(RATE, 1e-4, 1e-1, log=True),
    }
    if kind == "sgd":
        return {**point, MOMENTUM: trial.suggest_float(MOMENTUM, 0.0, 0.9)}
    return {**point, BETA1: trial.suggest_float(BETA1, 0.5, 0.95), BETA2: trial.suggest_float(BETA2, 0.9, 0.999)}


@pytest.mark.first(1)
@pytest.mark.skipif(optuna.__version__ < "5", reason="other kernels in Optuna before 5")
@pytest.mark.parametrize("seed", range(6))
def test_the_next_point_is_optunas_own_on_a_study_written_by_hand(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the numbers of Optuna's source, from which both draw in the same order."""
    tpe = Tpe(MIXED, seed)
    history: list[ProposerEvent] = []
    compared = 0
    for told in live(tpe, seed, trials=70):
        history.append(told)
        number = sum(each.reason is None for each in history)
        if number > 20 and number % 6 == 0:
            with monkeypatch.context() as same:
                same.setattr(
                    "skipstack.search.strategy.proposers.tpe.generator", lambda *_: np.random.RandomState(seed)
                )
                ours = tpe.ask(number)
            expected = optunas_own(history, number, seed)
            assert ours is not None
            assert list(ours) == list(expected)
            for path, value in expected.items():
                assert ours[path] == (pytest.approx(value, rel=1e-9) if isinstance(value, float) else value)
            compared += 1
    assert compared >= 8


def test_failed_and_diverged_trials_change_no_later_answer() -> None:
    lived = Tpe(MIXED, seed=0)
    history = list(live(lived, seed=0, trials=40))
    bad = {told.number for told in history if told.reason in ("failed", "diverged")}
    assert 5 < len(bad) < 25
    without = Tpe(MIXED, seed=0)
    for told in history:
        if told.number not in bad:
            replay(without, told)
    assert without.ask(40) == lived.ask(40)


def test_a_running_trial_keeps_the_next_one_apart() -> None:
    tpe = Tpe(MIXED, seed=0)
    for _ in live(tpe, seed=1, trials=30):
        pass
    alone = tpe.ask(30)
    assert alone is not None
    for number in range(31, 43):
        tpe.proposed(number, {**alone, RATE: float(str(alone[RATE])) * (1 - number / 10_000)})
    crowded = tpe.ask(30)
    assert crowded is not None
    assert abs(math.log(float(str(crowded[RATE])) / float(str(alone[RATE])))) > 0.1


def planted(point: Point) -> float:
    """Best at 1 with Adam, three layers and a learning rate of 0.003."""
    rate, hidden = float(str(point[RATE])), float(str(point[HIDDEN]))
    score = 1.0 - 0.25 * math.log10(rate / 0.003) ** 2 - 0.1 * abs(hidden - 48) / 48
    return score - 0.2 * (point[KIND] != "adam") - 0.2 * (point[DEPTH] != 3)


def test_it_beats_random_search_on_a_planted_objective() -> None:
    seeds = range(5)
    learnt = [max(climb(Tpe(MIXED, seed), 32, planted)) for seed in seeds]
    drawn = [max(climb(Random(MIXED, seed), 32, planted)) for seed in seeds]
    assert statistics.mean(learnt) > statistics.mean(drawn) + 0.02
    assert sum(ours > theirs for ours, theirs in zip(learnt, drawn, strict=True)) >= 4


def test_with_two_objectives_its_front_is_ahead_of_random_search() -> None:
    """By the area that the trials dominate, of the planted score and of small networks; 40 trials."""

    def area(proposer: Proposer) -> float:
        found = []
        for number in range(40):
            point = proposer.ask(number)
            assert point is not None
            size = float(str(point[HIDDEN])) / 64 + float(str(point[DEPTH])) / 5
            found.append((planted(point), -size))
            proposer.proposed(number, point)
            proposer.ended(number, "completed", [(1, found[-1][0])], (-size,))
        inside, smallest = 0.0, -2.0
        for score, cheap in sorted(found, reverse=True):
            inside += max(score, 0.0) * max(cheap - smallest, 0.0)
            smallest = max(smallest, cheap)
        return inside

    learnt = [area(Tpe(MIXED, seed, 2)) for seed in range(5)]
    drawn = [area(Random(MIXED, seed)) for seed in range(5)]
    assert statistics.mean(learnt) > statistics.mean(drawn) + 0.05
    assert sum(ours > theirs for ours, theirs in zip(learnt, drawn, strict=True)) >= 4


def test_a_space_without_axes_has_one_point() -> None:
    proposer = Tpe(Space(SpaceConfig()), seed=0)
    for _ in range(12):  # of an earlier study
        proposer.observed({}, "completed", [(1, 0.5)])
    assert proposer.ask(0) == {}
    proposer.proposed(0, {})
    assert proposer.ask(1) is None


def test_nothing_global_changes(capfd: pytest.CaptureFixture[str]) -> None:
    filters, root = list(warnings.filters), logging.getLogger().level
    tpe = Tpe(MIXED, seed=0)
    for _ in live(tpe, seed=0, trials=15):
        pass
    assert list(warnings.filters) == filters
    assert logging.getLogger().level == root
    assert capfd.readouterr() == ("", "")
