"""Where Ray 2.60's own parts are replaced or read, each with its reason: what to look at when Ray is upgraded.

``tests/search/engines/test_ray_private.py`` says of each of them what is no longer as it is taken to be.
"""

import os
import time
from pathlib import Path
from typing import Any, Final

import ray
from ray._private import worker as ray_worker
from ray._private.authentication.authentication_token_setup import AuthenticationTokenLoader, Config
from ray._private.node import Node
from ray.air.execution._internal import RayActorManager
from ray.exceptions import RayActorError, RayError, RayTaskError
from ray.tune.execution import tune_controller
from ray.tune.execution.class_cache import ENV_VARS_TO_PROPAGATE, _ActorClassCache

from skipstack.data.basis.errors import one_line
from skipstack.search.driver.faults import WorkersSilentError

START_SECONDS = 300.0
"""Within which a worker that has its resources must have started; it has ray and Tune to import."""

WORKER_LOGS: Final = ("worker-*.err", "raylet.err")
"""Where a worker that does not start leaves its last words: its own log, or, before it has one, the raylet's."""

# 1. Ray keeps the command line of whoever joins a cluster, in its records and logs: with the password of a
#    --tracking-uri.
ray._private.utils.get_entrypoint_name = lambda: "skipstack"

# 2. Ray prints the deaths of workers to stdout, where the report belongs; the ledger and the progress tell them.
ray_worker.print_to_stdstream = lambda *_, **__: None


# 3. Ray reads RAY_AUTH_MODE when it is imported, as a notebook may have done before ``ray_tune`` chose a mode.
Config.initialize("")


def forget_token() -> None:
    """4. Read the token of a cluster anew: ray keeps the first that it found for as long as the process lives."""
    AuthenticationTokenLoader.instance().reset_cache()


LATE: Final = "timed out during startup"
"""5. In the words of the plain ``Exception`` that ray raises where its processes have not started within its 30 s."""


def raylet_socket() -> str | None:
    """6. The socket of the raylet on this machine: whether it still listens, no public part of ray says.

    None for a client of a cluster elsewhere.
    """
    node = ray_worker.global_worker.node
    return None if node is None else str(node.raylet_socket_name)


def last_words() -> str | None:
    """7. The last line in the latest log of a worker on this machine; ray names the folder of its logs nowhere else.

    None where there is none, as for a client of a cluster elsewhere.
    """
    node = ray_worker.global_worker.node
    if node is None:
        return None
    logs = [path for pattern in WORKER_LOGS for path in Path(node.get_logs_dir_path()).glob(pattern)]
    for log in sorted(logs, key=lambda path: path.stat().st_mtime, reverse=True):
        lines = [line.strip() for line in log.read_text(errors="replace").splitlines()]
        if words := [line for line in lines if line and not line.startswith(":")]:  # lines with a colon are ray's marks
            return words[-1]
    return None


def silent(why: str) -> WorkersSilentError:
    """The error of workers that do not answer, with their last words."""
    words = last_words()
    return WorkersSilentError(why if words is None else f"{why}; the last line of a worker's log: {words}")


class ActorManager(RayActorManager):  # type: ignore[misc]
    """8. What starts Tune's actors, and learns of their deaths.

    Tune 2.60 knows one kind of error as the death of an actor. It would end the study where ray kills a worker because
    its machine runs low on memory, which has a kind of its own: here every error of ray's own is the actor's death.

    And it waits for ever for an actor that has its resources and does not start, as where its interpreter is broken.
    Here that is a WorkersSilentError after ``START_SECONDS``.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._starting: dict[Any, float] = {}
        """When each actor was first seen with its resources and without an answer."""
        self._started: set[Any] = set()
        self._given_up = False

    def next(self, timeout: float | None = None) -> bool:
        """As Tune's, after a look at those that do not start."""
        live = self._live_actors_to_ray_actors_resources
        now = time.monotonic()
        self._starting = {actor: self._starting.get(actor, now) for actor in live if actor not in self._started}
        if self._starting and now - min(self._starting.values()) > START_SECONDS and not self._given_up:
            self._given_up = True  # Tune looks at its actors again while it cleans up
            raise silent(f"a worker did not start within {START_SECONDS:g} s")
        return bool(super().next(timeout))

    def _actor_start_resolved(self, tracked_actor: Any, future: Any) -> None:
        self._started.add(tracked_actor)
        super()._actor_start_resolved(tracked_actor, future)

    def _cleanup_actor(self, tracked_actor: Any) -> None:
        self._started.discard(tracked_actor)
        super()._cleanup_actor(tracked_actor)

    def _actor_task_failed(self, tracked_actor_task: Any, exception: Exception) -> None:
        if isinstance(exception, RayError) and not isinstance(exception, RayActorError | RayTaskError):
            exception = RayActorError(error_msg=one_line(exception))
        super()._actor_task_failed(tracked_actor_task, exception)


tune_controller.RayActorManager = ActorManager


def save_nothing(controller: tune_controller.TuneController) -> None:
    """9. Tune keeps all trials in a file for a restore of its own, anew every few seconds, and needs one at the end.

    For short trials that is a quarter of what the driver computes. The ledger is what is resumed: ours is of no trial.
    """
    folder = Path(controller._storage.experiment_driver_staging_path)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / controller.experiment_state_file_name).write_text('{"trial_data": []}')


tune_controller.TuneController.save_to_dir = save_nothing

_start_api_server = Node.start_api_server


def start_api_server(node: Node, *, include_dashboard: bool | None, raise_on_failure: bool) -> None:
    """15. Without its dashboard, Ray still starts the dashboard's process, and waits a second for it: it counts users.

    A cluster of our own has no use for it; none is started where no dashboard is asked for.
    """
    if include_dashboard is not False:
        _start_api_server(node, include_dashboard=include_dashboard, raise_on_failure=raise_on_failure)


Node.start_api_server = start_api_server

_start_monitor, _start_log_monitor = Node.start_monitor, Node.start_log_monitor


def start_monitor(node: Node) -> None:
    """16. Ray starts a process that would ask a cloud for more machines; a cluster of our own, on one, does without.

    It is known by the dashboard that it is started without.
    """
    if node._ray_params.include_dashboard is not False:
        _start_monitor(node)


def start_log_monitor(node: Node) -> None:
    """17. Likewise one that brings what workers print to the driver, which asks for none of it."""
    if node._ray_params.include_dashboard is not False:
        _start_log_monitor(node)


Node.start_monitor, Node.start_log_monitor = start_monitor, start_log_monitor


class ActorClasses(_ActorClassCache):  # type: ignore[misc]
    """18. Tune asks a runtime environment of its own for every actor, with a variable for PyTorch Lightning.

    Ray then leaves the processes alone that it has started in advance, and starts others, which import ray once more: a
    second or two until they train. Here one is asked for only where a variable has to travel; Lightning's is set where
    it is read (``search/engines/actor.py``).
    """

    def get(self, trainable_cls: type) -> Any:
        """The class as Ray's, the same each time."""
        if trainable_cls not in self._cache:
            variables = {name: os.environ[name] for name in ENV_VARS_TO_PROPAGATE if name in os.environ}
            remote = ray.remote(runtime_env={"env_vars": variables}) if variables else ray.remote
            self._cache[trainable_cls] = remote(trainable_cls)
        return self._cache[trainable_cls]


tune_controller._ActorClassCache = ActorClasses
