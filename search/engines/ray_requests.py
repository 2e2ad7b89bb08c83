"""What Ray Tune 2.60 asks of its cluster for every trial, asked less often: each question is a wait of the driver's.

Parts of Ray's own are replaced, as in ``search/engines/ray_private.py``; the same tests hold them.
"""

import time
from collections import deque
from typing import Any, Final

from ray.air.execution import PlacementGroupResourceManager, ResourceRequest
from ray.tune import registry
from ray.tune.execution import tune_controller
from ray.tune.experiment import Trial
from ray.tune.registry import _Registry

PATIENCE: Final = 0.25
"""Seconds for which room is not asked for, since a worker may become free for the trial."""


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


def ask_seldom() -> None:
    """Let Tune use all three, from here on."""
    tune_controller.PlacementGroupResourceManager = Placement
    tune_controller.TuneController._maybe_reuse_cached_actor = give_where_none_starts
    if not isinstance(registry._global_registry, Registry):
        registry._global_registry._known = {}
        registry._global_registry.__class__ = Registry  # ray holds on to the object itself
