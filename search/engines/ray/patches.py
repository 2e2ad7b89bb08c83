"""Where parts of Ray 2.60 are replaced while an engine runs: what to look at when Ray is upgraded.

Five names of Ray's are bound to parts of ours (``patched``), and to its own again at the end. Each part says why, and
what public means lack.
"""

import math
import os
import time
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any, Final

import ray
from ray._private import node as ray_node
from ray._private import utils as ray_utils
from ray._private import worker as ray_worker
from ray._private.node import Node
from ray._private.parameter import RayParams
from ray.actor import ActorHandle
from ray.air.execution import PlacementGroupResourceManager, ResourceRequest
from ray.air.execution._internal import RayActorManager
from ray.air.execution._internal.event_manager import RayEventManager
from ray.exceptions import RayActorError, RayError, RayTaskError
from ray.tune import registry as tune_registry
from ray.tune import tune
from ray.tune.execution.class_cache import ENV_VARS_TO_PROPAGATE, _ActorClassCache
from ray.tune.execution.tune_controller import TuneController
from ray.tune.experiment import Trial
from ray.tune.registry import _Registry
from ray.tune.utils import log
from ray.tune.utils.object_cache import _ObjectCache
from ray.util.placement_group import placement_group

from skipstack.data.basis.errors import one_line
from skipstack.search.driver.faults import ClusterLostError
from skipstack.search.engines.ray.head import of_the_head
from skipstack.search.engines.ray.machines import not_on, silent
from skipstack.search.engines.ray.plugins import SchedulerPlugin
from skipstack.search.engines.ray.sockets import LOOPBACK

START_SECONDS = 300.0
"""Within which a worker that has its resources must have started; it has ray and Tune to import."""

LOOKED_AT: Final = 1.0
"""Seconds between two looks for workers that do not start; between them pass hundreds of reports."""

PATIENCE: Final = 3.0
"""Seconds for which room is not asked for, since a worker may become free for the trial; to start one takes as many."""

IDLE: Final = 10.0
"""Seconds for which a worker with nothing to do is kept."""


@contextmanager
def patched() -> Iterator[None]:
    """Within, Ray has our parts; afterwards its own, whatever happened. May be entered again within itself.

    A run of Tune's of the user's own, in another thread meanwhile, has them, too.
    """
    registry = Registry()
    parts = (
        (ray_utils, "get_entrypoint_name", entrypoint),
        (ray_worker, "print_to_stdstream", unprinted),
        (ray_node, "Node", LeanNode),
        (tune, "TuneController", Controller),
        (tune_registry, "_global_registry", registry),
    )
    with ExitStack() as undo:
        undo.callback(registry.forget)
        undo.callback(log.set_verbosity, log.verbosity)  # each run of Tune's sets it, also for the time after
        for owner, name, part in parts:
            undo.callback(setattr, owner, name, getattr(owner, name))
            setattr(owner, name, part)
        yield


def is_patched() -> bool:
    """Whether somebody is within ``patched``."""
    return tune.TuneController is Controller


def entrypoint() -> str:
    """Replaces the command line of whoever joins a cluster, which Ray keeps there in its records and logs: with the
    password of a --tracking-uri.

    ``ray.init`` takes no other.
    """
    return "skipstack"


def unprinted(*_: object, **__: object) -> None:
    """Replaces what prints the deaths of workers to stdout, where the report belongs: the ledger and the progress tell
    of them.

    ``log_to_driver=False`` keeps what workers print from the driver, but not these.
    """


class LeanNode(Node):  # type: ignore[misc]
    """Replaces what starts the processes of a new cluster: one of our own, without a dashboard, does without three.

    They take two seconds of the processor and one of waiting: the dashboard's own process, which counts users; one that
    asks a cloud for more machines; and one that brings what workers print to the driver, which asks for none of it.
    ``ray start`` has options against the last two, ``ray.init`` has none; ``include_dashboard=False`` still starts the
    first.

    And its processes listen to this machine alone: of ``_node_ip_address="127.0.0.1"``, ``ray.init`` makes the address
    in the network, on which other machines could knock.
    """

    def __init__(self, ray_params: RayParams, *arguments: Any, **options: Any) -> None:
        if ray_params.include_dashboard is False:
            ray_params.node_ip_address = LOOPBACK
        super().__init__(ray_params, *arguments, **options)

    def start_api_server(self, *, include_dashboard: bool | None, raise_on_failure: bool) -> None:
        """Unless no dashboard is asked for."""
        if include_dashboard is not False:
            super().start_api_server(include_dashboard=include_dashboard, raise_on_failure=raise_on_failure)

    def start_monitor(self) -> None:
        """Likewise."""
        if self._ray_params.include_dashboard is not False:
            super().start_monitor()

    def start_log_monitor(self) -> None:
        """Likewise."""
        if self._ray_params.include_dashboard is not False:
            super().start_log_monitor()


class Registry(_Registry):  # type: ignore[misc]
    """Replaces where Tune keeps its classes of trials: in the cluster, which it asks for the same six times a trial.

    What this process registered, or has read once, it knows. And nothing of a study stays in the user's own registry,
    which keeps the number of the first job that it was used in. The public ``register_trainable`` knows that one alone.
    """

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[tuple[str, str], Any] = {}
        self._atexit_handler_registered = True  # ``patched`` forgets it all

    def register(self, category: str, key: str, value: Any) -> None:
        """As Tune's; what was known by this name is known no more."""
        self._known.pop((category, key), None)
        super().register(category, key, value)

    def unregister(self, category: str, key: str) -> None:
        """Likewise."""
        self._known.pop((category, key), None)
        super().unregister(category, key)

    def forget(self) -> None:
        """Take all back that was registered here, also from a cluster that goes on."""
        with suppress(ClusterLostError):
            of_the_head(self._forget)

    def _forget(self) -> None:
        for category, key in self._registered:
            self.unregister(category, key)

    def contains(self, category: str, key: str) -> bool:
        """Whether there is one."""
        return (category, key) in self._known or bool(super().contains(category, key))

    def get(self, category: str, key: str) -> Any:
        """The class of this name."""
        if (category, key) not in self._known:
            self._known[category, key] = super().get(category, key)
        return self._known[category, key]


class Controller(TuneController):  # type: ignore[misc]
    """Replaces Tune's loop: the same, with parts that wait less for the cluster, and that survive what its own do not.

    ``tune.run`` and ``Tuner`` take neither a controller nor any of these parts.
    """

    def __init__(self, **options: Any) -> None:
        self._is_ours = isinstance(options.get("scheduler"), SchedulerPlugin)
        """Whether this is the run of a study: what Tune keeps of trials that have ended is for a user's own."""
        if self._is_ours:
            options["callbacks"] = []  # they keep all trials, too, and print none of them
        placement = Placement()
        super().__init__(resource_manager_factory=lambda: placement, **options)
        self._actor_manager = ActorManager(placement)
        self.placement = placement
        self._class_cache = ActorClasses()
        self._actor_cache = IdleWorkers(may_keep_one=True)

        self.failure: Exception | None = None
        """What ended the worker that the scheduler is told of. What Tune keeps in a file is its text."""

    def on_step_begin(self) -> None:
        """As Tune's, which only looks what the cluster has, for its progress, and would wait for ever for a head that
        is gone: of a study, the engine looks.
        """
        if not self._is_ours:
            super().on_step_begin()

    def _process_trial_failure(self, trial: Trial, exception: Exception) -> None:
        self.failure = exception
        super()._process_trial_failure(trial, exception)

    def add_trial(self, trial: Trial) -> None:
        """As Tune's; the trial is told once which worker it has.

        Tune tells it twice, and each time the trial asks the worker what it would report of itself.
        """
        trial.set_ray_actor = partial(assign_once, trial)
        super().add_trial(trial)

    def step(self) -> None:
        """As Tune's, which looks at all trials that there ever were each time, and keeps them: of a study, those that
        have ended are forgotten.
        """
        super().step()
        if self._is_ours and (over := self._stopped_trials | self._failed_trials):
            kept: list[Trial] = self.get_trials()
            kept[:] = [each for each in kept if each not in over]
            for trials in (self._stopped_trials, self._failed_trials, self._live_trials):
                trials -= over

    def _schedule_trial_train(self, trial: Trial) -> None:
        """As Tune's; of a study, the scheduler hears that a worker has the trial, which no callback tells of one that
        was used before.
        """
        if self._is_ours:
            self._scheduler_alg.on_trial_train(trial)
        super()._schedule_trial_train(trial)

    def checkpoint(self, force: bool = False, wait: bool = False) -> None:
        """As Tune's; of a study, only the file that Tune needs at the end is written (``save_to_dir``), and in no other
        step it is looked whether one is due.
        """
        if force or not self._is_ours:
            super().checkpoint(force=force, wait=wait)

    def _mark_trial_to_checkpoint(self, trial: Trial) -> None:
        """As Tune's, which keeps the trial until the next such file."""
        if not self._is_ours:
            super()._mark_trial_to_checkpoint(trial)

    def withdraw(self, trial: Trial) -> None:
        """End a trial that no worker has taken up. As Tune's ``stop_trial``, which prints a line of it to stdout."""
        self._scheduler_alg.on_trial_remove(self, trial)
        self._search_alg.on_trial_complete(trial.trial_id)
        if trial in self._staged_trials:
            self._unstage_trial_with_resources(trial)
        self._schedule_trial_stop(trial)
        self._live_trials.discard(trial)

    def save_to_dir(self) -> None:
        """Tune keeps all trials in a file for a restore of its own, anew every few seconds, and needs one at the end.

        For short trials that is a quarter of what the driver computes. The ledger is what is resumed: ours is of no
        trial. TUNE_GLOBAL_CHECKPOINT_S would still let all be written at the end.
        """
        folder = Path(self._storage.experiment_driver_staging_path)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / self.experiment_state_file_name).write_text('{"trial_data": []}')

    def _maybe_reuse_cached_actor(self, trial: Trial) -> bool:
        """Give a free worker to the trial, unless its own is starting.

        Tune ends that one then. Here such a trial waits for its own, and the free one goes to another trial, if there
        is one.
        """

        def starts(each: Trial) -> bool:
            return each in own and self._actor_manager.is_actor_started(own[each])

        own, resetting = self._trial_to_actor, self._resetting_trials
        if trial in resetting or not starts(trial):
            return bool(super()._maybe_reuse_cached_actor(trial))
        alike = self._resources_to_pending_trials[trial.placement_group_factory] & self._staged_trials
        other = next((each for each in alike if each not in resetting and not starts(each)), None)
        if other is not None:
            super()._maybe_reuse_cached_actor(other)
        return False


def assign_once(trial: Trial, worker: ActorHandle | None) -> None:
    """Tell a trial which worker it has, unless it has been told."""
    if worker is None or worker is not trial.temporary_state.ray_actor:
        Trial.set_ray_actor(trial, worker)


class ActorManager(RayActorManager):  # type: ignore[misc]
    """What starts Tune's actors, and learns of their deaths.

    Tune 2.60 knows one kind of error as the death of an actor. It would end the study where ray kills a worker because
    its machine runs low on memory, which has a kind of its own: here every error of ray's own is the actor's death.

    And it waits for ever for an actor that has its resources and does not start, as where its interpreter is broken.
    Here that is a WorkersSilentError after ``START_SECONDS``. A callback of Tune's would be told when an actor has
    started, but not when it was given its resources.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._starting: dict[Any, float] = {}
        """When each actor was first seen with its resources and without an answer."""
        self._started: set[Any] = set()
        self._looked = -math.inf
        self._given_up = False
        self._ready: deque[tuple[RayEventManager, ray.ObjectRef]] = deque()
        """What was there at the last look, and has not been handled."""

    def next(self, timeout: float | None = None) -> bool:
        """As Tune's, after a look now and then at those that do not start.

        Tune looks at all that is awaited for each report. Here all reports that are there at a look are handled before
        the next one, so that with more workers a report costs no more.
        """
        now = time.monotonic()
        if now - self._looked >= LOOKED_AT:
            self._looked = now
            live = self._live_actors_to_ray_actors_resources
            self._starting = {actor: self._starting.get(actor, now) for actor in live if actor not in self._started}
            if self._starting and now - min(self._starting.values()) > START_SECONDS and not self._given_up:
                self._given_up = True  # Tune looks at its actors again while it cleans up
                raise silent(f"a worker did not start within {START_SECONDS:g} s")
        if self._handle_ready():
            return True
        happened = bool(super().next(timeout))
        if happened:
            self._look()
        return happened

    def _look(self) -> None:
        """At all that is there by now, first what actors tell of themselves."""
        for events in (self._actor_state_events, self._actor_task_events):
            if awaited := list(events.get_futures()):
                there, _ = ray.wait(awaited, num_returns=len(awaited), timeout=0)
                self._ready.extend((events, future) for future in there)

    def _handle_ready(self) -> bool:
        """Handle the next of what was there; False where nothing is left of it."""
        while self._ready and not self._live_actors_to_kill:
            events, future = self._ready.popleft()
            if future in events._tracked_futures:  # else it is awaited no longer
                events.resolve_future(future)
                self._try_start_actors()
                return True
        return False

    def _actor_start_resolved(self, tracked_actor: Any, future: Any) -> None:
        self._started.add(tracked_actor)
        super()._actor_start_resolved(tracked_actor, future)

    def _cleanup_actor(self, tracked_actor: Any) -> None:
        self._started.discard(tracked_actor)
        super()._cleanup_actor(tracked_actor)

    def _actor_task_failed(self, tracked_actor_task: Any, exception: Exception) -> None:
        if isinstance(exception, RayError) and not isinstance(exception, RayActorError | RayTaskError):
            death = RayActorError(error_msg=one_line(exception))
            death.__cause__, exception = exception, death
        super()._actor_task_failed(tracked_actor_task, exception)


class ActorClasses(_ActorClassCache):  # type: ignore[misc]
    """What makes actors of Tune's classes.

    Tune asks a runtime environment of its own for every actor, with a variable for PyTorch Lightning. Ray then leaves
    the processes alone that it has started in advance, and starts others, which import ray once more: a second or two
    until they train. Here one is asked for only where a variable has to travel; Lightning's is set where it is read
    (``search/engines/ray/actor.py``). The same environment for the whole job, by ``ray.init``, is worse: Ray makes it
    first, and trials begin four seconds later.
    """

    def get(self, trainable_cls: type) -> Any:
        """The class as Ray's, the same each time."""
        if trainable_cls not in self._cache:
            variables = {name: os.environ[name] for name in ENV_VARS_TO_PROPAGATE if name in os.environ}
            remote = ray.remote(runtime_env={"env_vars": variables}) if variables else ray.remote
            self._cache[trainable_cls] = remote(trainable_cls)
        return self._cache[trainable_cls]


class Placement(PlacementGroupResourceManager):  # type: ignore[misc]
    """What reserves room on the cluster for workers that are to start.

    Tune asks for room as soon as a trial is proposed, and takes that back when a worker that has become free takes the
    trial: that is so for nearly all. Here it is asked for once the trial has waited for ``PATIENCE``, and at once as
    long as nothing runs.

    And no worker starts on machines that are to be avoided. Tune's requests could say so, too, but then a worker that
    was asked for before would not take a trial of now.
    """

    def __init__(self, update_interval_s: float = 0.1) -> None:
        super().__init__(update_interval_s)
        self._unasked: deque[tuple[float, ResourceRequest]] = deque()
        self._avoided: frozenset[str] = frozenset()

    def request_resources(self, resource_request: ResourceRequest) -> None:
        """Some time later."""
        self._unasked.append((time.monotonic(), resource_request))
        self._ask()

    def cancel_resource_request(self, resource_request: ResourceRequest) -> None:
        """Nothing has to be taken back that was not asked for."""
        for place, (_, request) in enumerate(self._unasked):
            if request == resource_request:
                del self._unasked[place]
                return
        super().cancel_resource_request(resource_request)

    def has_resources_ready(self, resource_request: ResourceRequest) -> bool:
        """As Tune's: it asks again and again."""
        self._ask()
        return bool(super().has_resources_ready(resource_request))

    def avoid(self, machines: frozenset[str]) -> None:
        """From now on, take none of these, by the ids of their nodes. What is asked for by now is asked for anew."""
        if machines == self._avoided:
            return
        self._avoided = machines
        waiting = [(request, len(groups)) for request, groups in self._request_to_staged_pgs.items()]
        for request, count in waiting:
            for _ in range(count):
                super().cancel_resource_request(request)
            for _ in range(count):
                super().request_resources(elsewhere(request, machines))

    def _ask(self) -> None:
        while self._unasked and (not self._acquired_pgs or time.monotonic() - self._unasked[0][0] >= PATIENCE):
            super().request_resources(elsewhere(self._unasked.popleft()[1], self._avoided))


def elsewhere(request: ResourceRequest, avoided: frozenset[str]) -> ResourceRequest:
    """A request that is equal to ``request``, and is granted on none of the ``avoided`` machines."""
    if not avoided:
        return request
    made, bound = copy(request), request._bound
    selectors = [not_on(avoided)] * len(request.bundles)
    made.to_placement_group = partial(placement_group, *bound.args, **bound.kwargs, bundle_label_selector=selectors)
    return made


class IdleWorkers(_ObjectCache):  # type: ignore[misc]
    """The workers that have nothing to do, of which Tune keeps one, and ends the others at once.

    Towards the end of a study there is nothing to do for most, and then there are measurements. Here each is kept for
    ``IDLE`` seconds, and the last for as long as Tune would.
    """

    def __init__(self, may_keep_one: bool = True) -> None:
        super().__init__(may_keep_one)
        self._since: dict[Any, float] = {}

    def cache_object(self, key: Any, obj: Any) -> bool:
        """Keep a worker, always."""
        self._since[obj] = time.monotonic()
        self._cached_objects[key].append(obj)
        self._num_cached_objects += 1
        return True

    def flush_cached_objects(self, force_all: bool = False) -> Iterator[Any]:
        """Those that are kept no longer; one stays unless workers of other resources are waited for, as in Tune."""
        if force_all:
            self._since.clear()
            yield from super().flush_cached_objects(force_all=True)
            return
        others = any(self._max_num_objects.values())
        for key, idle in self._cached_objects.items():
            for worker in [each for each in idle if self._since[each] + IDLE < time.monotonic()]:
                if len(idle) > self._max_num_objects[key] and (others or self._num_cached_objects > 1):
                    idle.remove(worker)
                    self._num_cached_objects -= 1
                    del self._since[worker]
                    yield worker

    def pop_cached_object(self, key: Any) -> Any:
        """A worker for a trial."""
        popped = super().pop_cached_object(key)
        self._since.pop(popped, None)
        return popped
