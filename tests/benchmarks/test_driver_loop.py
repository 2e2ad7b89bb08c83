"""Ray Tune's loop at 200 workers: what of its time passes in our callbacks, which propose, decide and write the ledger.

The loop, its searcher and its scheduler are the real ones. The actors are not: they are objects of this process, and
whatever is due next is handed to the loop at once, so that it never waits and its time is all its own. Time that trials
train is left out.
"""

import itertools
import os
import time
from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import ray
from ray.air.execution._internal import TrackedActor
from skipstack.search.engines.ray.plugins import ProposerPlugin, SchedulerPlugin

from skipstack.search.engines.ray import patches
from skipstack.search.engines.ray.engine import RayEngine
from skipstack.search.engines.room import Allotment
from skipstack.search.ledger.ledger import Ledger
from tests.search.toy import ToyWorker, open_toy, toy_driver, toy_study

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(1200), pytest.mark.filterwarnings("default")]

WORKERS, TRIALS, EPOCHS = 200, 300, 9
SHARE = 0.05
"""Of the time that our callbacks may take, at most, where an epoch takes a minute."""


class Stopwatch:
    """Seconds within the calls that it was put around, and how many there were."""

    def __init__(self) -> None:
        self.seconds, self.calls = 0.0, 0
        self.first = self.last = 0.0

    def around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any, **options: Any) -> Any:
            began = time.perf_counter()
            try:
                return call(*arguments, **options)
            finally:
                self.last = time.perf_counter()
                self.first = self.first or began
                self.seconds += self.last - began
                self.calls += 1

        return timed


TRAINING = Stopwatch()


class SimulatedActors:
    """Stands for Ray's manager of actors: ``WORKERS`` places; what is due first comes first, a task a second."""

    def __init__(self, resource_manager: object) -> None:
        self._live_actors_to_ray_actors_resources: dict[TrackedActor, tuple[None, None]] = {}
        self._objects: dict[TrackedActor, Any] = {}
        self._pending: deque[tuple[TrackedActor, Any, dict[str, Any]]] = deque()
        self._tasks: list[tuple[float, int, TrackedActor, str, Any, Any]] = []
        self._numbers = itertools.count()
        self._now = 0.0

    def next(self, timeout: float | None = None) -> bool:
        if self._pending and len(self._objects) < WORKERS:
            tracked, actor, options = self._pending.popleft()
            plain = actor.__ray_metadata__.modified_class
            self._objects[tracked] = TRAINING.around(plain)(**options)
            self._live_actors_to_ray_actors_resources[tracked] = (None, None)
            tracked._on_start(tracked)
            return True
        while self._tasks:
            self._now, _, tracked, method, arguments, on_result = heappop(self._tasks)
            if tracked in self._objects:
                result = TRAINING.around(getattr(self._objects[tracked], method))(*arguments)
                if on_result is not None:
                    on_result(tracked, result)
                return True
        return False

    def add_actor(self, cls: Any, kwargs: dict[str, Any], resource_request: object, **hooks: Any) -> TrackedActor:
        tracked = TrackedActor(uuid4().int, **hooks)
        self._pending.append((tracked, cls, kwargs))
        return tracked

    def remove_actor(self, tracked_actor: TrackedActor, kill: bool = False, stop_future: object = None) -> bool:
        self._pending = deque(each for each in self._pending if each[0] != tracked_actor)
        live = self._objects.pop(tracked_actor, None) is not None
        if live:
            del self._live_actors_to_ray_actors_resources[tracked_actor]
            if tracked_actor._on_stop is not None:
                tracked_actor._on_stop(tracked_actor)
        return live

    def schedule_actor_task(
        self,
        tracked_actor: TrackedActor,
        method_name: str,
        args: Any = (),
        kwargs: Any = None,
        on_result: Any = None,
        on_error: Any = None,
        _return_future: bool = False,
    ) -> None:
        if method_name != "stop":
            at, number = self._now + 1, next(self._numbers)
            heappush(self._tasks, (at, number, tracked_actor, method_name, args or (), on_result))

    def is_actor_started(self, tracked_actor: TrackedActor) -> bool:
        return tracked_actor in self._objects

    def is_actor_failed(self, tracked_actor: TrackedActor) -> bool:
        return False

    def clear_actor_task_futures(self, tracked_actor: TrackedActor) -> None: ...

    def cleanup(self) -> None: ...

    def get_live_actors_resources(self) -> list[object]:
        return []

    @property
    def num_pending_actors(self) -> int:
        return len(self._pending)

    @property
    def num_live_actors(self) -> int:
        return len(self._objects)

    @property
    def num_total_actors(self) -> int:
        return len(self._objects) + len(self._pending)

    @property
    def num_actor_tasks(self) -> int:
        return len(self._tasks)


@pytest.mark.parametrize("proposer", ["random", "tpe"])
def test_our_callbacks_take_a_small_share_of_the_loop(
    proposer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    started = RayEngine(ToyWorker, address=None, gpus_per_trial=0)
    started._settling._allotment = Allotment({"cpu": ray.cluster_resources()["CPU"] / WORKERS}, "")
    ours = Stopwatch()
    for plugin, method in (
        (ProposerPlugin, "suggest"),
        (SchedulerPlugin, "on_trial_result"),
        (SchedulerPlugin, "on_trial_error"),
    ):
        monkeypatch.setattr(plugin, method, ours.around(getattr(plugin, method)))
    monkeypatch.setattr(patches, "ActorManager", SimulatedActors)
    TRAINING.__init__()  # type: ignore[misc]
    folder = open_toy(tmp_path, toy_study(trials=TRIALS, proposer=proposer, epochs=EPOCHS))
    try:
        with Ledger(folder.ledger) as ledger:
            driver = toy_driver(folder, ledger)
            started.run(driver)
    finally:
        started.close()
    loop = ours.last - ours.first - TRAINING.seconds
    reports = sum(len(trial.reports) for trial in driver.record.trials.values())
    with capsys.disabled():
        print(
            f"\n{os.cpu_count()} cores, ray {ray.__version__}, {WORKERS} workers, {TRIALS} trials, "
            f"{reports:,} reports, "
            f"{proposer}: {1000 * loop / reports:.1f} ms of the loop a report, {1000 * ours.seconds / reports:.1f} ms "
            f"of it ours ({ours.seconds / loop:.0%}); with epochs of a minute our callbacks would take "
            f"{ours.seconds / reports * WORKERS / 60:.1%} of the time"
        )
    assert len(driver.record.trials) == TRIALS
    assert ours.seconds / reports * WORKERS / 60 < SHARE
