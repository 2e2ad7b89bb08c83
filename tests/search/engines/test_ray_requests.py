"""How seldom Tune asks its cluster: each replacement by itself, beside what it takes for granted of Ray's own part."""

import inspect
from types import SimpleNamespace
from typing import Any

import pytest
from ray.air.execution import PlacementGroupResourceManager
from ray.tune import registry
from ray.tune.execution import tune_controller
from ray.tune.experiment import Trial

from skipstack.search.engines import ray_requests
from skipstack.search.engines.ray_requests import IDLE, PATIENCE, IdleWorkers, Placement, Registry

pytestmark = pytest.mark.filterwarnings("default")  # ray's own warnings are not ours to mend

KIND = registry.TRAINABLE_CLASS


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Time as the module reads it, which passes only when it is told to."""
    made = SimpleNamespace(now=100.0)
    monkeypatch.setattr(ray_requests, "time", SimpleNamespace(monotonic=lambda: made.now))
    return made


def test_tune_has_the_parts_that_are_replaced_and_uses_them_by_these_names() -> None:
    ray_requests.ask_seldom()
    made = inspect.getsource(tune_controller.TuneController.__init__)
    assert "PlacementGroupResourceManager()" in made
    assert "_ObjectCache(may_keep_one=True)" in made
    assert tune_controller.PlacementGroupResourceManager is Placement
    assert tune_controller._ObjectCache is IdleWorkers
    assert tune_controller.TuneController._maybe_reuse_cached_actor is ray_requests.give_where_none_starts
    assert "_remove_actor(tracked_actor=original_actor)" in inspect.getsource(ray_requests.give)
    assert Trial.set_ray_actor is ray_requests.assign_once
    assert "get_auto_filled_metrics.remote(" in inspect.getsource(ray_requests.assign)
    assert isinstance(registry._global_registry, Registry)


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
    ours = Registry(prefix="job")
    ours._known, ours._atexit_handler_registered = {}, True
    assert not ours.contains(KIND, "trainable")
    ours.register(KIND, "trainable", {"version": 1})
    asked.clear()
    assert [ours.get(KIND, "trainable") for _ in range(3)] == [{"version": 1}] * 3
    assert ours.contains(KIND, "trainable")
    assert len(asked) == 1
    ours.register(KIND, "trainable", {"version": 2})
    assert ours.get(KIND, "trainable") == {"version": 2}
    ours.unregister(KIND, "trainable")
    assert not ours.contains(KIND, "trainable")


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


@pytest.mark.parametrize(
    ("starting", "pending", "given"),
    [((), ("a",), ["a"]), (("a",), ("a", "b"), ["b"]), (("a",), ("a",), []), (("a", "b"), ("a", "b"), [])],
)
def test_a_free_worker_goes_to_a_trial_whose_own_is_not_starting(
    starting: tuple[str, ...], pending: tuple[str, ...], given: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed = {name: Hashed(name) for name in ("a", "b")}
    found: list[str] = []

    def give(_: Any, trial: Hashed) -> bool:
        found.append(trial.name)
        return True

    monkeypatch.setattr(ray_requests, "give", give)
    controller = SimpleNamespace(
        _trial_to_actor={hashed[name]: name for name in ("a", "b")},
        _actor_manager=SimpleNamespace(is_actor_started=lambda actor: actor in starting),
        _resetting_trials=set(),
        _resources_to_pending_trials={"alike": {hashed[name] for name in pending}},
        _staged_trials={hashed[name] for name in pending},
    )
    taken = ray_requests.give_where_none_starts(controller, hashed["a"])
    assert found == given
    assert taken == (given == ["a"])


class Hashed:
    """A trial, as far as who gets a worker is concerned."""

    placement_group_factory = "alike"

    def __init__(self, name: str) -> None:
        self.name = name


def test_workers_with_nothing_to_do_are_kept_for_a_while_and_one_for_longer(clock: SimpleNamespace) -> None:
    workers = IdleWorkers()
    for name in ("a", "b", "c"):
        assert workers.cache_object("alike", name)
    assert list(workers.flush_cached_objects()) == []
    assert workers.pop_cached_object("alike") == "a"
    clock.now += IDLE + 1
    assert list(workers.flush_cached_objects()) == ["b"]
    assert workers.num_cached_objects == 1
    assert list(workers.flush_cached_objects(force_all=True)) == ["c"]
    assert workers.pop_cached_object("alike") is None


def test_a_trial_is_told_once_which_worker_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []
    monkeypatch.setattr(ray_requests, "assign", lambda trial, worker: told.append(worker))
    trial: Any = SimpleNamespace(temporary_state=SimpleNamespace(ray_actor=None))
    ray_requests.assign_once(trial, "one")
    trial.temporary_state.ray_actor = "one"
    ray_requests.assign_once(trial, "one")
    ray_requests.assign_once(trial, "another")
    ray_requests.assign_once(trial, None)
    assert told == ["one", "another", None]
