"""Our proposers and ASHA inside Optuna propose and decide what they do in a study of ours."""

import math
import pickle
from collections.abc import Mapping
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState

import skipstack
from skipstack.data.basis.errors import UserError
from skipstack.search.strategy.proposers.build import proposer as built
from skipstack.search.strategy.proposers.config import ModelBasedConfig
from skipstack.search.strategy.schedulers.config import AshaConfig
from skipstack.search.strategy.schedulers.halving import Asha
from tests.search.functions import searched
from tests.search.strategy.schedulers.traces import PICKS, trace

TRIALS = 16
"""The trials of a study. Proposers that learn draw the first ten at random."""
EVOLUTION = {"kind": "evolution", "population": 5, "sample": 2}


@pytest.fixture(autouse=True)
def _quiet() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)


def loss(values: Mapping[str, Any]) -> float:
    return float((values["rate"] - 0.3) ** 2 + (values["kind"] == "b") / 10 + (values["depth"] - 3) ** 2 / 50)


def objective(trial: optuna.Trial) -> float:
    depth, kind = trial.suggest_int("depth", 1, 5), trial.suggest_categorical("kind", ["a", "b", "c"])
    return loss({"depth": depth, "kind": kind, "rate": trial.suggest_float("rate", 1e-3, 1, log=True)})


@pytest.mark.parametrize(
    ("proposer", "direction"),
    [("gp", "minimize"), ("tpe", "maximize"), (EVOLUTION, "minimize"), ("random", "minimize")],
    ids=str,
)
def test_a_study_of_optuna_has_the_trials_of_a_study_of_ours(proposer: Any, direction: Any, tmp_path: Path) -> None:
    """A study of ours begins with its base, so Optuna is told to begin with that point, too."""
    axes = {
        "depth": skipstack.randint(1, 5),
        "kind": skipstack.choice("a", "b", "c"),
        "rate": skipstack.loguniform(1e-3, 1),
    }
    search = {"proposer": proposer, "seed": 3, "seeds": 1, "trials": TRIALS, "scheduler": "none"}
    study = {"axes": axes, "search": search}
    ours = searched(tmp_path / "ours", lambda config, report: report(score=loss(config)), study, direction=direction)
    points = [trial.point for trial in ours.trials.values()]
    theirs = optuna.create_study(sampler=skipstack.optuna_sampler(proposer, seed=3), direction=direction)
    theirs.enqueue_trial(points[0])
    theirs.optimize(objective, n_trials=TRIALS)
    assert [trial.params for trial in theirs.trials] == points


@pytest.mark.parametrize(("kind", "objectives"), [("gp", 1), ("tpe", 1), ("tpe", 2)])
def test_parallel_trials_are_learned_from_however_they_end(kind: Any, objectives: int) -> None:
    """Four trials run at a time; they complete, fail, diverge or are pruned, and so a proposer of ours is told."""
    space = skipstack.space({"axes": {"x": skipstack.uniform(0, 1), "y": skipstack.uniform(-1, 1)}}, lambda config: 0.0)
    twin = built(ModelBasedConfig(kind=kind), space, seed=0, objectives=objectives, trials=1)
    theirs = optuna.create_study(directions=["minimize"] * objectives, sampler=skipstack.optuna_sampler(kind))
    plane = {"x": FloatDistribution(0, 1), "y": FloatDistribution(-1, 1)}
    source, running, compared = np.random.default_rng(1), list[optuna.Trial](), 0
    for _ in range(30):
        known = bool(theirs.get_trials(states=(TrialState.COMPLETE, TrialState.PRUNED)))
        trial = theirs.ask(plane)
        if known:
            assert trial.params == twin.ask(trial.number)
            compared += 1
        twin.proposed(trial.number, trial.params)
        running.append(trial)
        if len(running) < 4:
            continue
        ending = running.pop(int(source.integers(4)))
        values = [(ending.params["x"] - 0.5) ** 2, ending.params["y"] ** 2][:objectives]
        if ending.number % 7 == 3:
            theirs.tell(ending, state=TrialState.FAIL)
            twin.ended(ending.number, "failed", ())
        elif ending.number % 7 == 5:
            theirs.tell(ending, [math.inf, *values[1:]])
            twin.ended(ending.number, "diverged", [(1, -math.inf)], tuple(-value for value in values[1:]))
        elif ending.number % 3 == 0 and objectives == 1:
            ending.report(values[0] + 1, 2)
            ending.report(values[0], 4)
            theirs.tell(ending, state=TrialState.PRUNED)
            twin.ended(ending.number, "stopped", [(2, -values[0] - 1), (4, -values[0])])
        else:
            theirs.tell(ending, values)
            twin.ended(ending.number, "completed", [(1, -values[0])], tuple(-value for value in values[1:]))
    assert compared > 20


def test_another_process_goes_on_with_the_same_proposals(tmp_path: Path) -> None:
    """The second half of a study knows of the first only what Optuna's file says."""

    def study(file: str, sampler: optuna.samplers.BaseSampler) -> optuna.Study:
        storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(tmp_path / file)))
        return optuna.create_study(storage=storage, study_name="mine", sampler=sampler, load_if_exists=True)

    whole = study("whole", skipstack.optuna_sampler("gp"))
    whole.optimize(objective, n_trials=TRIALS)
    study("halves", skipstack.optuna_sampler("gp")).optimize(objective, n_trials=12)
    second = study("halves", pickle.loads(pickle.dumps(whole.sampler)))
    second.optimize(objective, n_trials=TRIALS - 12)
    assert [trial.params for trial in second.trials] == [trial.params for trial in whole.trials]


def test_parameters_that_not_all_trials_have_are_drawn_at_random_and_named(caplog: pytest.LogCaptureFixture) -> None:
    def conditional(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        return x + (trial.suggest_int("units", 1, 9) if trial.suggest_categorical("kind", ["a", "b"]) == "a" else 0)

    studies = [optuna.create_study(sampler=skipstack.optuna_sampler("random", seed=5)) for _ in range(2)]
    for study in studies:
        study.optimize(conditional, n_trials=12)
    assert [each.params for each in studies[0].trials] == [each.params for each in studies[1].trials]
    assert {frozenset(each.params) for each in studies[0].trials} == {
        frozenset({"x", "kind"}),
        frozenset({"x", "kind", "units"}),
    }
    assert len({each.params["units"] for each in studies[0].trials if "units" in each.params}) > 1
    names = [record.getMessage().split(" is drawn at random: ")[0] for record in caplog.records]
    assert names == ["the parameter units"] * 2


def test_a_grid_tries_every_point_once_and_says_when_it_is_through(caplog: pytest.LogCaptureFixture) -> None:
    study = optuna.create_study(sampler=skipstack.optuna_sampler("grid"))
    study.optimize(
        lambda trial: trial.suggest_int("a", 1, 3) + len(trial.suggest_categorical("b", ["u", "v"])), n_trials=8
    )
    points = [(each.params["a"], each.params["b"]) for each in study.trials]
    assert sorted(points[:6]) == list(product((1, 2, 3), "uv"))
    assert [each.getMessage() for each in caplog.records] == [
        "every point of a, b has been tried: points are drawn at random, and again"
    ]


def test_threads_share_a_sampler() -> None:
    study = optuna.create_study(sampler=skipstack.optuna_sampler("tpe"))
    study.optimize(objective, n_trials=20, n_jobs=4)
    assert [each.state for each in study.trials] == [TrialState.COMPLETE] * 20
    assert len({tuple(each.params.values()) for each in study.trials}) == 20


@pytest.mark.parametrize(
    ("proposer", "said"),
    [
        ("gpp", "unknown proposer 'gpp' (nearest: 'gp'; allowed: tpe, gp, evolution, random, grid)"),
        ("prior", "unknown proposer 'prior' (nearest: 'grid'; allowed: tpe, gp, evolution, random, grid)"),
        ({"kind": "gp", "per_second": True}, "proposer: per_second: got true (allowed: false, "),
        ({"kind": "evolution", "populaton": 3}, "unknown key 'populaton' (nearest: 'population'; "),
    ],
    ids=str,
)
def test_a_proposer_that_cannot_be_asked_is_refused(proposer: Any, said: str) -> None:
    with pytest.raises(UserError) as error:
        skipstack.optuna_sampler(proposer)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_a_parameter_that_no_axis_can_be_is_refused_by_its_name() -> None:
    study = optuna.create_study(sampler=skipstack.optuna_sampler())
    with pytest.raises(UserError, match=r"^kind: got NaN \(allowed: text, finite numbers, true, false or null\)$"):
        study.optimize(lambda trial: trial.suggest_categorical("kind", [1.0, math.nan]), n_trials=1)
    study = optuna.create_study(sampler=skipstack.optuna_sampler("grid"))
    with pytest.raises(UserError, match="the space is infinite: axis x has numbers from"):
        study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=2)


@settings(max_examples=25)
@given(PICKS, st.integers(1, 2), st.integers(2, 4), st.integers(1, 2), st.sampled_from(["minimize", "maximize"]))
def test_a_trial_is_pruned_where_our_asha_stops_it(
    picks: list[tuple[int, float]], grace: int, reduction: int, brackets: int, direction: str
) -> None:
    """In any order of reports: a fresh pruner reads the intermediate values before each decision."""
    sign, pruner = 1 if direction == "maximize" else -1, partial(skipstack.optuna_pruner, epochs=9)
    study = optuna.create_study(direction=direction, sampler=optuna.samplers.RandomSampler())
    trials = [study.ask() for _ in range(8)]
    ours = Asha(AshaConfig(grace=grace, reduction=reduction, brackets=brackets), 9)
    for (trial, epoch, score), decision in trace(ours, picks, len(trials)):
        trials[trial].report(sign * score, epoch)
        study.pruner = pruner(grace=grace, reduction=reduction, brackets=brackets)
        assert trials[trial].should_prune() == (decision.action == "stop")


def test_a_trial_that_leaves_steps_out_is_compared_at_its_first_report_after_a_rung() -> None:
    """With rungs at 2, 4 and 8: steps 3 and 6 are at rungs, 7 is at none, and 9 is."""
    study = optuna.create_study(pruner=skipstack.optuna_pruner(epochs=16, grace=2, reduction=2))
    first, second = study.ask(), study.ask()
    for step in (0, 2, 5, 8):
        first.report(1.0, step)
        assert not first.should_prune()
    pruned = []
    for step, value in ((0, 9.0), (1, 9.0), (3, 0.5), (6, 1.0), (7, 9.0), (9, 1.5)):
        second.report(value, step)
        pruned.append(second.should_prune())
    assert pruned == [False] * 5 + [True]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"epochs": 0}, "epochs: got 0 (allowed: an integer from 1)"),
        ({"reduction": 1}, "reduction: got 1 (allowed: an integer from 2)"),
        ({"epochs": 9, "brackets": 5}, "brackets: got 5 (allowed: up to 3, since there are 2 rungs below 9 epochs)"),
        ({"epochs": "9"}, "epochs: got '9' (allowed: a whole number)"),
    ],
    ids=str,
)
def test_rungs_that_cannot_be_are_refused(options: Any, said: str) -> None:
    with pytest.raises(UserError) as error:
        skipstack.optuna_pruner(**options)
    assert said in str(error.value)
