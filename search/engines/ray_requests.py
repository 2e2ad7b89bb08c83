"""What Ray Tune 2.60 asks of its cluster for every trial, asked less often: each question is a wait of the driver's.

Parts of Ray's own are replaced, as in ``search/engines/ray_private.py``; the same tests hold them.
"""

import time
from collections import deque
from collections.abc import Iterator
from typing import Any, Final

from ray.actor import ActorHandle
from ray.air.execution import PlacementGroupResourceManager, ResourceRequest
from ray.tune import registry
from ray.tune.execution import tune_controller
from ray.tune.experiment import Trial
from ray.tune.registry import _Registry
from ray.tune.utils.object_cache import _ObjectCache

PATIENCE: Final = 3.0
"""Seconds for which room is not asked for, since a worker may become free for the trial; to start one takes as many."""

IDLE: Final = 10.0
"""Seconds for which a worker with nothing to do is kept."""


class Registry(_Registry):  # type: ignore[misc]
    """10. Where Tune keeps its classes of trials: in the cluster, which it asks for the same one six times a trial.

    What this process registered, or has read once, it knows.
    """

    _known: dict[tuple[str, str], Any]

    def register(self, category: str, key: str, value: Any) -> None:
        """As Tune's; what was known by this name is known no more."""
        self._known.pop((category, key), None)
        super().register(category, key, value)

    def unregister(self, category: str, key: str) -> None:
        """Likewise."""
        self._known.pop((category, key), None)
        super().unregister(category, key)

    def contains(self, category: str, key: str) -> bool:
        """Whether there is one."""
        return (category, key) in self._known or bool(super().contains(category, key))

    def get(self, category: str, key: str) -> Any:
        """The class of this name."""
        if (category, key) not in self._known:
            self._known[category, key] = super().get(category, key)
        return self._known[category, key]


class Placement(PlacementGroupResourceManager):  # type: ignore[misc]
    """11. What reserves room on the cluster for workers that are to start.

    Tune asks for room as soon as a trial is proposed, and takes that back when a worker that has become free takes the
    trial: that is so for nearly all. Here it is asked for once the trial has waited for ``PATIENCE``, and at once as
    long as nothing runs.
    """

    def __init__(self, update_interval_s: float = 0.1) -> None:
        super().__init__(update_interval_s)
        self._unasked: deque[tuple[float, ResourceRequest]] = deque()

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

    def _ask(self) -> None:
        while self._unasked and (not self._acquired_pgs or time.monotonic() - self._unasked[0][0] >= PATIENCE):
            super().request_resources(self._unasked.popleft()[1])


give: Final = tune_controller.TuneController._maybe_reuse_cached_actor


def give_where_none_starts(controller: tune_controller.TuneController, trial: Trial) -> bool:
    """12. Tune gives a worker that has become free to any trial, also to one whose own worker is starting, which it
    ends. Such a trial waits for its own; the free one goes to another trial, if there is one.
    """

    def starts(each: Trial) -> bool:
        return each in own and manager.is_actor_started(own[each])

    own, manager, resetting = controller._trial_to_actor, controller._actor_manager, controller._resetting_trials
    if trial in resetting or not starts(trial):
        return bool(give(controller, trial))
    alike = controller._resources_to_pending_trials[trial.placement_group_factory] & controller._staged_trials
    other = next((each for each in alike if each not in resetting and not starts(each)), None)
    if other is not None:
        give(controller, other)
    return False


class IdleWorkers(_ObjectCache):  # type: ignore[misc]
    """13. Of the workers that have nothing to do Tune keeps one, and ends the others at once.

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


assign: Final = Trial.set_ray_actor


def assign_once(trial: Trial, worker: ActorHandle | None) -> None:
    """14. Tune tells a trial twice which worker it has, and each time asks that one what it would report of itself."""
    if worker is None or worker is not trial.temporary_state.ray_actor:
        assign(trial, worker)


def ask_seldom() -> None:
    """Let Tune use all this, from here on."""
    Trial.set_ray_actor = assign_once
    tune_controller._ObjectCache = IdleWorkers
    tune_controller.PlacementGroupResourceManager = Placement
    tune_controller.TuneController._maybe_reuse_cached_actor = give_where_none_starts
    if not isinstance(registry._global_registry, Registry):
        registry._global_registry._known = {}
        registry._global_registry.__class__ = Registry  # ray holds on to the object itself
