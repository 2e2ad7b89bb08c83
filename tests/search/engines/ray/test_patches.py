"""What is replaced in Ray, and that it is undone: each part of ours by what it does, beside Ray's own."""

import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
import ray
import ray.tune.utils.log
from ray._private import node as ray_node
from ray._private import utils as ray_utils
from ray._private import worker as ray_worker
from ray.actor import ActorClass
from ray.air.execution import PlacementGroupResourceManager
from ray.air.execution._internal import RayActorManager, TrackedActor
from ray.air.execution._internal.tracked_actor_task import TrackedActorTask
from ray.exceptions import OutOfMemoryError, RayActorError
from ray.tune import registry
from ray.tune import tune as tune_module
from ray.tune.analysis import ExperimentAnalysis
from ray.tune.execution.class_cache import DEFAULT_ENV_VARS, ENV_VARS_TO_PROPAGATE, _ActorClassCache
from ray.tune.execution.tune_controller import TuneController
from ray.tune.utils.object_cache import _ObjectCache

from skipstack.search.api.start import run_study
from skipstack.search.driver.task import EpochResult
from skipstack.search.engines.ray import patches
from skipstack.search.engines.ray.actor import TrialActor
from skipstack.search.engines.ray.engine import RayEngine
from skipstack.search.engines.ray.patches import (
    IDLE,
    PATIENCE,
    ActorClasses,
    ActorManager,
    Controller,
    IdleWorkers,
    Placement,
    Registry,
    is_patched,
    patched,
)
from skipstack.search.ledger.ledger import Ledger
from tests.search.toy import ToyWorker, open_toy, toy_driver, toy_study
from tests.search.tracking.test_recording import wait_until

pytestmark = pytest.mark.filterwarnings("default")  # ray's own warnings are not ours to mend

KIND = registry.TRAINABLE_CLASS

PLACES: Any = (
    (ray_utils, "get_entrypoint_name"),
    (ray_worker, "print_to_stdstream"),
    (ray_node, "Node"),
    (tune_module, "TuneController"),
    (registry, "_global_registry"),
)
"""Where Ray looks for what is replaced."""


def rays() -> list[object]:
    return [getattr(owner, name) for owner, name in PLACES]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Time as the module reads it, which passes only when it is told to."""
    made = SimpleNamespace(now=100.0)
    monkeypatch.setattr(patches, "time", SimpleNamespace(monotonic=lambda: made.now))
    return made


@pytest.mark.parametrize("error", [None, ValueError, KeyboardInterrupt])
def test_ray_has_our_parts_within_and_its_own_again_whatever_happens(error: type[BaseException] | None) -> None:
    own, verbosity = rays(), ray.tune.utils.log.verbosity
    with nullcontext() if error is None else pytest.raises(error), patched():
        assert all(now is not before for now, before in zip(rays(), own, strict=True))
        assert is_patched()
        ray.tune.utils.log.set_verbosity(0)  # as a run does
        if error is not None:
            raise error
    assert all(now is before for now, before in zip(rays(), own, strict=True))
    assert ray.tune.utils.log.verbosity == verbosity
    assert not is_patched()


def test_within_itself_it_ends_with_the_outermost() -> None:
    own = rays()
    with patched():
        with patched():
            pass
        assert is_patched()
        assert not any(now is before for now, before in zip(rays(), own, strict=True))
    assert all(now is before for now, before in zip(rays(), own, strict=True))


IMPORTING = """
import importlib, pkgutil
import mlflow  # whose own marks are not Ray's
from ray.tune import Tuner
from tests.search.engines.ray.surroundings import surroundings
before = surroundings()
import skipstack.search.engines
for module in pkgutil.walk_packages(skipstack.search.engines.__path__, "skipstack.search.engines."):
    importlib.import_module(module.name)
import skipstack.search.api.run, skipstack.dashboards.cli
after = surroundings()
assert {name: value for name, value in after.items() if name in before} == before
assert not [name for name in after if name.startswith(("$RAY", "$TUNE")) and name not in before]
"""


@pytest.mark.slow
def test_to_import_the_engines_changes_nothing_of_ray_and_of_the_process() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", IMPORTING],
        cwd=Path(__file__).parents[4],
        env={name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "TUNE_"))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr


def test_a_class_is_asked_for_once_and_again_when_another_one_has_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    stored: dict[bytes, bytes] = {}
    asked: list[bytes] = []

    def get(key: bytes) -> bytes | None:
        asked.append(key)
        return stored.get(key)

    monkeypatch.setattr(registry, "_internal_kv_initialized", lambda: True)
    monkeypatch.setattr(registry, "_internal_kv_get", get)
    monkeypatch.setattr(registry, "_internal_kv_put", lambda key, value, overwrite: stored.update({key: value}))
    monkeypatch.setattr(registry, "_internal_kv_del", lambda key: stored.pop(key))
    ours = Registry()
    ours._prefix = "job"
    assert not ours.contains(KIND, "trainable")
    ours.register(KIND, "trainable", {"version": 1})
    asked.clear()
    assert [ours.get(KIND, "trainable") for _ in range(3)] == [{"version": 1}] * 3
    assert ours.contains(KIND, "trainable")
    assert len(asked) == 1
    ours.register(KIND, "trainable", {"version": 2})
    assert ours.get(KIND, "trainable") == {"version": 2}
    ours.register(KIND, "another", {"version": 1})
    ours.unregister(KIND, "trainable")
    assert not ours.contains(KIND, "trainable")
    ours.register(KIND, "trainable", {"version": 3})
    ours.forget()
    assert stored == {}


def test_what_tune_registers_within_is_in_a_registry_of_its_own() -> None:
    before = dict(vars(registry._global_registry))
    with patched():
        registry.register_trainable("of the study", TrialActor)
        assert registry.get_trainable_cls("of the study") is TrialActor
    assert vars(registry._global_registry) == before
    assert not registry._has_trainable("of the study")


def test_nothing_is_said_of_workers_that_die(capsys: pytest.CaptureFixture[str]) -> None:
    said = {"lines": ["a worker died"], "pid": "raylet", "is_err": False}
    with patched():
        ray_worker.print_to_stdstream(said, ignore_prefix=False)
    assert capsys.readouterr() == ("", "")
    ray_worker.print_to_stdstream(said, ignore_prefix=False)
    assert "a worker died" in capsys.readouterr().out


def test_room_is_asked_for_at_once_while_nothing_runs_and_else_once_a_trial_has_waited(
    clock: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    taken_back: list[str] = []
    monkeypatch.setattr(PlacementGroupResourceManager, "request_resources", lambda _, request: asked.append(request))
    monkeypatch.setattr(
        PlacementGroupResourceManager, "cancel_resource_request", lambda _, request: taken_back.append(request)
    )
    monkeypatch.setattr(PlacementGroupResourceManager, "has_resources_ready", lambda _, request: request in asked)
    monkeypatch.setattr(PlacementGroupResourceManager, "__del__", lambda _: None, raising=False)
    placement: Any = Placement()
    placement.request_resources("first")
    assert asked == ["first"]
    placement._acquired_pgs.add("a group")
    placement.request_resources("second")
    placement.request_resources("third")
    assert not placement.has_resources_ready("second")
    placement.cancel_resource_request("second")
    clock.now += PATIENCE
    assert placement.has_resources_ready("third")
    assert asked == ["first", "third"]
    assert not taken_back
    placement.cancel_resource_request("third")
    assert taken_back == ["third"]


class Hashed:
    """A trial, as far as who gets a worker is concerned."""

    placement_group_factory = "alike"
    config = experiment_tag = None

    def __init__(self, name: str) -> None:
        self.name = name
        self.worker: object = None

    def set_ray_actor(self, worker: object) -> None:
        self.worker = worker


def controller_of(
    kind: type[TuneController], trials: dict[str, Hashed], starting: tuple[str, ...], pending: tuple[str, ...]
) -> Any:
    """Tune's own, in which every trial waits for a worker that was asked for, and one worker is free."""
    made = object.__new__(kind)
    made._removed = []
    made._trial_to_actor = {trial: name for name, trial in trials.items()}
    made._actor_to_trial = dict(trials)
    made._actor_manager = SimpleNamespace(
        is_actor_started=lambda actor: actor in starting,
        _live_actors_to_ray_actors_resources={"free": ("the free one", None)},
    )
    made._resetting_trials = set()
    made._resources_to_pending_trials = {"alike": {trials[name] for name in pending}}
    made._staged_trials = {trials[name] for name in pending}
    made._actor_cache = _ObjectCache(may_keep_one=True)
    made._actor_cache.increase_max("alike")
    assert made._actor_cache.cache_object("alike", "free")
    made._remove_actor = lambda tracked_actor: made._removed.append(tracked_actor)
    made._schedule_trial_reset = lambda trial, config, tag: made._resetting_trials.add(trial)
    return made


@pytest.mark.parametrize(
    ("starting", "pending", "given"),
    [((), ("a",), "a"), (("a",), ("a", "b"), "b"), (("a",), ("a",), None), (("a", "b"), ("a", "b"), None)],
)
def test_a_free_worker_goes_to_a_trial_whose_own_is_not_starting(
    starting: tuple[str, ...], pending: tuple[str, ...], given: str | None
) -> None:
    trials = {name: Hashed(name) for name in ("a", "b")}
    ours = controller_of(Controller, trials, starting, pending)
    taken = ours._maybe_reuse_cached_actor(trials["a"])
    assert [name for name, trial in trials.items() if trial.worker] == ([] if given is None else [given])
    assert taken == (given == "a")
    assert not set(ours._removed) & set(starting), "what starts goes on starting"


def test_tunes_own_loop_ends_the_worker_that_is_starting() -> None:
    """Otherwise ours would have nothing to mend."""
    trials = {name: Hashed(name) for name in ("a", "b")}
    theirs = controller_of(TuneController, trials, ("a",), ("a", "b"))
    assert theirs._maybe_reuse_cached_actor(trials["a"])
    assert theirs._removed == ["a"]


def test_workers_with_nothing_to_do_are_kept_for_a_while_and_one_for_longer(clock: SimpleNamespace) -> None:
    workers = IdleWorkers()
    for name in ("a", "b", "c"):
        assert workers.cache_object("alike", name)
    assert list(workers.flush_cached_objects()) == []
    assert workers.pop_cached_object("alike") == "a"
    clock.now += IDLE + 1
    assert list(workers.flush_cached_objects()) == ["b"]
    assert workers.num_cached_objects == 1


class Asked:
    """A worker that counts how often it is asked what it would report of itself."""

    def __init__(self) -> None:
        self.times = 0
        self.get_auto_filled_metrics = SimpleNamespace(remote=self._asked)

    def _asked(self, debug_metrics_only: bool) -> None:
        self.times += 1


def test_a_trial_asks_each_worker_once() -> None:
    trial: Any = SimpleNamespace(temporary_state=SimpleNamespace(ray_actor=None))
    one, another = Asked(), Asked()
    for worker in (one, one, another, None, another):
        patches.assign_once(trial, worker)
        assert trial.temporary_state.ray_actor is worker
    assert (one.times, another.times) == (1, 2)


class Unused:
    """Stands for room on a cluster, of which none is taken."""

    def free_resources(self, acquired_resource: object) -> None: ...

    def get_resource_futures(self) -> list[object]:
        return []


@pytest.mark.parametrize(("kind", "survives"), [(RayActorManager, False), (ActorManager, True)])
def test_a_worker_that_is_killed_for_want_of_memory_is_an_actor_s_death(kind: Any, survives: bool) -> None:
    """To Tune's own it is an error that it does not know, which ends the study."""
    deaths: list[Exception] = []
    actor = TrackedActor(1, on_error=lambda _, error: deaths.append(error))
    task = TrackedActorTask(actor)
    manager = kind(Unused())
    manager._live_actors_to_ray_actors_resources[actor] = (None, None)
    if survives:
        manager._actor_task_failed(task, OutOfMemoryError("low on memory"))
        (death,) = deaths
        assert isinstance(death, RayActorError)
        assert "low on memory" in str(death)
    else:
        with pytest.raises(RuntimeError, match="unexpected"):
            manager._actor_task_failed(task, OutOfMemoryError("low on memory"))


REPORTS = 60


@pytest.mark.parametrize(("kind", "looks"), [(RayActorManager, REPORTS), (ActorManager, 2)])
def test_reports_that_are_there_are_handled_without_a_look_at_all_workers_for_each(
    kind: Any, looks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tune looks at all that it waits for before each report: with more workers, each costs more."""
    looked: list[int] = []
    handled: list[int] = []

    def wait(futures: list[str], *, num_returns: int, timeout: float | None) -> tuple[list[str], list[str]]:
        looked.append(len(futures))
        return futures[:num_returns], futures[num_returns:]

    monkeypatch.setattr(ray, "wait", wait)
    monkeypatch.setattr(ray, "get", lambda future: int(future))
    manager = kind(Unused())
    for number in range(REPORTS):
        manager._actor_task_events.track_future(str(number), on_result=handled.append)
    while manager._actor_task_events.num_futures:
        assert manager.next(timeout=0)
    assert sorted(handled) == list(range(REPORTS)), "each is handled once"
    assert len(looked) == looks


def test_what_is_awaited_no_longer_is_not_handled(monkeypatch: pytest.MonkeyPatch) -> None:
    handled: list[str] = []
    monkeypatch.setattr(ray, "wait", lambda futures, *, num_returns, timeout: (sorted(futures)[:num_returns], []))
    monkeypatch.setattr(ray, "get", lambda future: future)
    manager = ActorManager(Unused())
    for name in "abc":
        manager._actor_task_events.track_future(name, on_result=handled.append)
    assert manager.next(timeout=0)
    manager._actor_task_events.discard_future("b")
    assert manager.next(timeout=0)
    assert handled == ["a", "c"]


def test_deaths_and_starts_are_handled_before_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    handled: list[str] = []
    monkeypatch.setattr(ray, "wait", lambda futures, *, num_returns, timeout: (futures[:num_returns], []))
    monkeypatch.setattr(ray, "get", lambda future: future)
    manager = ActorManager(Unused())
    for events, names in ((manager._actor_task_events, "abc"), (manager._actor_state_events, "xyz")):
        for name in names:
            events.track_future(name, on_result=handled.append)
    while manager._actor_task_events.num_futures:
        assert manager.next(timeout=0)
    assert set(handled[:3]) == set("xyz")
    assert set(handled[3:]) == set("abc")


@pytest.mark.parametrize("ours", [True, False])
def test_of_a_study_tune_keeps_no_trial_that_has_ended(ours: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would look at all of them in each step. A run of the user's own, meanwhile, needs them at its end."""
    monkeypatch.setattr(TuneController, "step", lambda _: None)  # nothing else happens
    made = object.__new__(Controller)
    made._is_ours = ours
    trials = {name: Hashed(name) for name in ("runs", "is over", "has failed")}
    made._trials, made._live_trials = list(trials.values()), set(trials.values())
    made._stopped_trials, made._failed_trials = {trials["is over"]}, {trials["has failed"]}
    made._trials_to_cache = set()
    for trial in trials.values():
        made._mark_trial_to_checkpoint(trial)
    made.step()
    assert [each.name for each in made._trials] == (["runs"] if ours else list(trials))
    assert len(made._live_trials) == (1 if ours else 3)
    assert len(made._stopped_trials | made._failed_trials) == (0 if ours else 2)
    assert len(made._trials_to_cache) == (0 if ours else 3)


def test_actors_ask_for_no_environment_of_their_own_unless_a_variable_has_to_travel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ENV_VARS_TO_PROPAGATE:
        monkeypatch.delenv(name, raising=False)
    made = ActorClasses()
    assert isinstance(made.get(TrialActor), ActorClass)
    assert made.get(TrialActor) is made.get(TrialActor)
    assert "runtime_env" not in made.get(TrialActor)._default_options
    assert _ActorClassCache().get(TrialActor)._default_options["runtime_env"]["env_vars"] == DEFAULT_ENV_VARS
    monkeypatch.setenv("AWS_SESSION_TOKEN", "of this session")
    told = ActorClasses().get(TrialActor)._default_options["runtime_env"]
    assert told["env_vars"] == {"AWS_SESSION_TOKEN": "of this session"}


def test_the_state_that_tune_keeps_for_itself_is_of_no_trial(tmp_path: Path) -> None:
    controller: Any = object.__new__(Controller)
    controller._storage = SimpleNamespace(experiment_driver_staging_path=str(tmp_path / "staging"))
    controller._session_str = "now"
    controller.save_to_dir()
    assert ExperimentAnalysis(str(tmp_path / "staging")).trials == []


@pytest.mark.cluster
def test_a_study_uses_our_parts_all_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A part that Ray no longer asks, under its name, would be there for nothing."""
    used: set[str] = set()

    def told(kind: type, method: str) -> None:
        own = getattr(kind, method)

        def tell(*arguments: Any, **options: Any) -> Any:
            used.add(f"{kind.__name__}.{method}")
            return own(*arguments, **options)

        monkeypatch.setattr(kind, method, tell)

    methods = {
        patches.LeanNode: ("start_api_server", "start_monitor", "start_log_monitor"),
        Registry: ("register", "contains", "get", "unregister"),
        Controller: (
            "add_trial",
            "step",
            "checkpoint",
            "save_to_dir",
            "_mark_trial_to_checkpoint",
            "_maybe_reuse_cached_actor",
        ),
        ActorManager: ("next", "_actor_start_resolved", "_cleanup_actor"),
        ActorClasses: ("get",),
        Placement: ("request_resources", "cancel_resource_request", "has_resources_ready"),
        IdleWorkers: ("cache_object", "flush_cached_objects", "pop_cached_object"),
    }
    for kind, names in methods.items():
        for name in names:
            told(kind, name)
    assigned = patches.assign_once
    monkeypatch.setattr(patches, "assign_once", lambda *given: used.add("assign_once") or assigned(*given))
    engine = RayEngine(ToyWorker, address=None, gpus_per_trial=0.0)
    try:
        folder = open_toy(tmp_path / "study", toy_study(trials=6))
        with Ledger(folder.ledger) as ledger:
            run_study(toy_driver(folder, ledger), engine)
        commands = [" ".join(each.cmdline()) for each in psutil.Process().children(recursive=True)]
    finally:
        engine.close()
    assert used == {f"{kind.__name__}.{name}" for kind, names in methods.items() for name in names} | {"assign_once"}
    assert any("raylet" in each for each in commands)
    assert [each for each in commands if "dashboard.py" in each or "monitor.py" in each] == []


class Named(ToyWorker):
    """Leaves the number of its process, and what Tune would have told it."""

    def run_epoch(self) -> EpochResult:
        self.task.folder.mkdir(parents=True, exist_ok=True)
        (self.task.folder / str(os.getpid())).write_text(os.environ["PL_DISABLE_FORK"])
        return super().run_epoch()


@pytest.mark.cluster
def test_trials_train_in_processes_that_were_started_in_advance(tmp_path: Path) -> None:
    def workers() -> set[int]:
        processes = psutil.Process().children(recursive=True)
        return {
            each.pid for each in processes if "default_worker.py" in " ".join(each.cmdline()) or "IDLE" in each.name()
        }

    engine = RayEngine(Named, address=None, gpus_per_trial=0.0)
    try:
        wait_until(lambda: len(workers()) >= len(os.sched_getaffinity(0)))
        before = workers()
        folder = open_toy(tmp_path / "study", toy_study(trials=4))
        with Ledger(folder.ledger) as ledger:
            run_study(toy_driver(folder, ledger), engine)
    finally:
        engine.close()
    left = [path for path in folder.trials.glob("*/*") if path.name.isdigit()]
    assert {int(path.name) for path in left} <= before
    assert {path.read_text() for path in left} == {"1"}
