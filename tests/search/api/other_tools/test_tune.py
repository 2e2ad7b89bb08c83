"""Our proposers and ASHA inside Ray Tune propose and decide what they do in a study of ours."""

import json
import math
import os
import pickle
import signal
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ray import tune

import skipstack
from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import canonical_json
from skipstack.search.strategy.schedulers.config import AshaConfig
from skipstack.search.strategy.schedulers.halving import Asha
from tests.search.functions import searched
from tests.search.strategy.schedulers.traces import PICKS, trace

TRIALS = 16
"""The trials of a study. Proposers that learn draw the first ten at random."""
PARAM_SPACE = {
    "net": {"depth": tune.randint(1, 6), "kind": tune.choice(["a", "b", "c"])},
    "rate": tune.loguniform(1e-3, 1),
    "epochs": 3,
}
AXES = {
    "net.depth": skipstack.randint(1, 5),
    "net.kind": skipstack.choice("a", "b", "c"),
    "rate": skipstack.loguniform(1e-3, 1),
}


def loss(config: Mapping[str, Any]) -> float:
    net = config["net"]
    return float((config["rate"] - 0.3) ** 2 + (net["kind"] == "b") / 10 + (net["depth"] - 3) ** 2 / 50)


def searcher(proposer: Any = "gp", *, mode: str = "min", param_space: Any = PARAM_SPACE, **options: Any) -> Any:
    """A searcher as Tune prepares it."""
    found = skipstack.tune_searcher(proposer, **options)
    assert found.set_search_properties("loss", mode, param_space)
    return found


def told(searcher: Any, config: dict[str, Any], name: str) -> dict[str, Any]:
    """End a trial as Tune does, and return its config."""
    searcher.on_trial_complete(name, {"loss": loss(config), "training_iteration": 1})
    return config


def proposed(searcher: Any, numbers: range) -> list[dict[str, Any]]:
    """The configs of trials that run one after another."""
    return [told(searcher, searcher.suggest(f"t{number}"), f"t{number}") for number in numbers]


@pytest.mark.first(1)
@pytest.mark.parametrize(("proposer", "direction"), [("gp", "minimize"), ("tpe", "maximize"), ("random", "minimize")])
def test_an_experiment_of_tune_has_the_trials_of_a_study_of_ours(proposer: Any, direction: Any, tmp_path: Path) -> None:
    """A study of ours begins with its base, which lies outside of its space here, so that nothing proposes it."""
    base = {"net": {"depth": 9, "kind": "a"}, "rate": 0.1}
    search = {"proposer": proposer, "seed": 3, "seeds": 1, "trials": TRIALS, "scheduler": "none"}
    study = {"base": base, "axes": AXES, "search": search}
    ours = searched(tmp_path / "ours", lambda config, report: report(score=loss(config)), study, direction=direction)
    points = [trial.point for trial in ours.trials.values()]
    mode = {"minimize": "min", "maximize": "max"}[direction]
    configs = proposed(searcher(proposer, mode=mode, seed=3), range(TRIALS))
    flat = [
        {**{f"net.{name}": each for name, each in config["net"].items()}, "rate": config["rate"]} for config in configs
    ]
    assert flat == points


def test_a_saved_searcher_goes_on_with_the_same_proposals(tmp_path: Path) -> None:
    """Also in a process that has yet to learn the space, and with trials that run meanwhile or have failed."""
    configs = []
    for interrupted in (False, True):
        own = searcher("gp", seed=2)
        proposed(own, range(10))
        running = own.suggest("running")
        own.on_trial_complete("failed", error=True)
        own.suggest("failed")
        own.on_trial_complete("failed", error=True)
        own.suggest("diverged")
        own.on_trial_complete("diverged", {"loss": math.nan, "training_iteration": 2})
        if interrupted:
            own.save(str(tmp_path / "searcher"))
            own = pickle.loads(pickle.dumps(skipstack.tune_searcher("gp", seed=2)))
            own.restore(str(tmp_path / "searcher"))
            own.set_search_properties("loss", "min", PARAM_SPACE)
        configs.append([own.suggest("next"), *proposed(own, range(20, 22))])
        told(own, running, "running")
        configs[-1].append(own.suggest("last"))
    assert configs[0] == configs[1]
    assert json.loads((tmp_path / "searcher").read_text())[0]["trial"] == "t0"


def test_configs_are_nested_and_have_the_values_that_were_given() -> None:
    """A tuple stays a tuple, though a point of ours has it as a list; each point of the grid is tried once."""
    space = {"net": {"units": tune.choice([(8, 8), (16,)])}, "kind": tune.grid_search(["a", None]), "epochs": 3}
    own = searcher("grid", param_space=space)
    configs = []
    while (config := own.suggest(f"t{len(configs)}")) != tune.search.Searcher.FINISHED:
        configs.append(config)
        own = pickle.loads(pickle.dumps(own))
    assert configs == [{"net": {"units": units}, "kind": kind} for units in ((8, 8), (16,)) for kind in ("a", None)]


@settings(max_examples=25)
@given(PICKS, st.integers(1, 2), st.integers(2, 4), st.integers(1, 2), st.sampled_from(["min", "max"]), st.integers())
def test_a_trial_ends_where_our_asha_ends_it(
    picks: list[tuple[int, float]], grace: int, reduction: int, brackets: int, mode: str, moved: int
) -> None:
    """In any order of results, also if a pickled scheduler goes on, and if a result is repeated from a checkpoint."""
    options = {"grace": grace, "reduction": reduction, "brackets": brackets}
    theirs = skipstack.tune_scheduler(epochs=9, **options)
    assert theirs.set_search_properties("score", mode)
    trials = [SimpleNamespace(trial_id=f"trial_{number}") for number in range(8)]
    for trial in trials:
        theirs.on_trial_add(None, trial)
    sign = 1 if mode == "max" else -1
    reports = list(trace(Asha(AshaConfig(**options), 9), picks, len(trials)))
    for at, ((number, epoch, score), decision) in enumerate(reports):
        result = {"score": sign * score, "training_iteration": epoch}
        action = theirs.on_trial_result(None, trials[number], result)
        assert (action == "STOP") == (decision.action != "continue")
        if action == "CONTINUE":
            assert theirs.on_trial_result(None, trials[number], {**result, "score": -sign * math.inf}) == "CONTINUE"
        if at == moved % len(reports):
            theirs = pickle.loads(pickle.dumps(theirs))


def test_a_mistake_is_said_in_one_line() -> None:
    wrong = {
        "unknown proposer 'gpp' (nearest: 'gp'; allowed: ": lambda: skipstack.tune_searcher("gpp"),
        "tune_searcher: rate: got Function, Base (allowed: choice, grid_search, ": lambda: searcher(
            param_space={"rate": tune.sample_from(lambda spec: 1)}
        ),
        "tune_searcher: net.kind: choice.0: got ": lambda: searcher(
            param_space={"net": {"kind": tune.choice([print, 1])}}
        ),
        "tune_searcher: got no param_space (allowed: ": lambda: skipstack.tune_searcher().suggest("t0"),
        "tune_searcher: got the metric null and the mode 'min' (allowed: ": lambda: (
            skipstack.tune_searcher().set_search_properties(None, "min", PARAM_SPACE)
        ),
        "tune_scheduler: got the metric 'loss' and the mode null (allowed: ": lambda: (
            skipstack.tune_scheduler().set_search_properties("loss", None)
        ),
        "tune_searcher: its trials were of another param_space: ": lambda: (
            (own := searcher()).suggest("t0") and own.set_search_properties("loss", "min", {"x": tune.uniform(0, 1)})
        ),
        "grace: got 0 (allowed: an integer from 1)": lambda: skipstack.tune_scheduler(grace=0),
    }
    for said, call in wrong.items():
        with pytest.raises(UserError) as error:
            call()
        assert str(error.value).startswith(said)
        assert "\n" not in str(error.value)


def rising(config: dict[str, Any]) -> None:
    for step in range(9):
        tune.report({"loss": loss(config) + 1 / (step + 1)})


@pytest.fixture
def _cluster() -> Iterator[None]:
    import ray

    ray.init(address="local", num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="error")
    yield
    ray.shutdown()


def experiment(folder: Path, own: Any, trials: int, callbacks: Sequence[tune.Callback] = ()) -> tune.Tuner:
    """One of Tune's own experiments, one trial at a time."""
    return tune.Tuner(
        rising,
        param_space=PARAM_SPACE,
        tune_config=tune.TuneConfig(
            metric="loss",
            mode="min",
            num_samples=trials,
            max_concurrent_trials=1,
            search_alg=own,
            scheduler=skipstack.tune_scheduler(epochs=9),
            reuse_actors=True,
        ),
        run_config=tune.RunConfig(name="ours", storage_path=str(folder), verbose=0, callbacks=[*callbacks]),
    )


@pytest.mark.cluster
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("_cluster")
def test_tune_runs_them_to_their_end_and_saves_the_searcher(tmp_path: Path) -> None:
    """Tune's trials are those of a searcher and a scheduler that nobody runs, and its file restores the searcher."""
    own = skipstack.tune_searcher("gp")
    results = experiment(tmp_path, own, 14).fit()
    twin, asha = searcher("gp"), Asha(AshaConfig(), 9)
    for number, result in enumerate(results):
        config = {**twin.suggest(f"t{number}"), "epochs": 3}
        assert result.config == config
        actions = (asha.report(number, step + 1, -loss(config) - 1 / (step + 1)).action for step in range(9))
        epochs = next(epoch for epoch, action in enumerate(actions, start=1) if action != "continue")
        assert result.metrics["training_iteration"] == epochs
        twin.on_trial_complete(f"t{number}", {"loss": loss(config) + 1 / epochs, "training_iteration": epochs})
    assert {result.metrics["training_iteration"] for result in results} > {9}
    restored = searcher("gp")
    restored.restore_from_dir(str(tmp_path / "ours"))
    assert restored.suggest("next") == own.suggest("next") == twin.suggest("next")


class Interrupting(tune.Callback):
    """Presses Ctrl-C when so many trials have ended."""

    def __init__(self, ended: int) -> None:
        self._left = ended

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.cluster
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("_cluster")
def test_an_interrupted_experiment_that_tune_restores_has_the_trials_that_it_would_have_had(tmp_path: Path) -> None:
    """Those that had ended are not trained again; the scheduler has forgotten them, so it ends trials elsewhere."""
    before = experiment(tmp_path, skipstack.tune_searcher("gp"), 15, [Interrupting(12)]).fit()
    ended = {canonical_json(result.config): result.metrics["timestamp"] for result in before if result.metrics}
    assert 12 <= len(before) < 15
    results = tune.Tuner.restore(str(tmp_path / "ours"), trainable=rising, param_space=PARAM_SPACE).fit()
    found = {canonical_json(result.config): result.metrics for result in results}
    assert len(found) == 15
    twin = searcher("gp")
    for number in range(15):
        config = canonical_json({**twin.suggest(f"t{number}"), "epochs": 3})
        metrics = found[config]
        twin.on_trial_complete(f"t{number}", {each: metrics[each] for each in ("loss", "training_iteration")})
        if number < 12:
            assert metrics["timestamp"] == ended[config]
