"""Questions to the head of a Ray cluster, which knows all machines; nobody waits without end if the head is gone."""

import atexit
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, TypeVar

import ray

from skipstack.data.basis.errors import one_line
from skipstack.data.basis.left_behind import leave_behind
from skipstack.search.execution.driver.faults import ClusterLostError

HEAD_SECONDS: Final = 60.0
"""Seconds to wait for an answer of the head; Ray itself gives up a head after as many."""

LOOKED_AT: Final = 1.0
"""Seconds between two looks whether Ray still runs on this machine, while an answer is awaited."""

Value = TypeVar("Value")


def of_the_head(question: Callable[[], Value]) -> Value:
    """The value of ``question``, which asks the head. Raises ClusterLostError if no answer comes.

    Ray waits without end for a head that is gone, and does not react to Ctrl-C meanwhile. So a thread waits instead,
    and is left behind if no answer comes.
    """
    answer = Future[Value]()

    def ask() -> None:
        try:
            answer.set_result(question())
        except Exception as failure:  # noqa: BLE001 (any is raised where the answer is awaited)
            answer.set_exception(failure)

    asking = threading.Thread(target=ask, name="asks the head", daemon=True)
    asking.start()
    until = time.monotonic() + HEAD_SECONDS
    try:
        while not wait([answer], LOOKED_AT).done:
            check_this_machine()
            if time.monotonic() > until:
                raise ClusterLostError(f"the head of the Ray cluster did not answer within {HEAD_SECONDS:g} s")
    except BaseException:
        leave_behind(asking)
        raise
    return answer.result()


def nodes() -> list[dict[str, Any]]:
    """The present and former machines of the cluster, as Ray describes them."""
    return of_the_head(ray.nodes)


def draining() -> frozenset[str]:
    """Node ids of the machines whose removal was announced; none if Ray does not say
    (``docs/decisions/private-names.md``).
    """
    try:
        from ray._private.state import state

        announced = state.get_draining_nodes
    except (ImportError, AttributeError):
        return frozenset()
    return frozenset() if ray.util.client.ray.is_connected() else frozenset(of_the_head(announced))


def leave_cluster() -> None:
    """Leave the cluster, or end the one that was started here.

    Ray asks the head for leave, without end if that hangs, and would ask again when the interpreter exits. So a thread
    does it, which is left behind after ``HEAD_SECONDS``.
    """
    leaving = threading.Thread(target=ray.shutdown, name="leaves the cluster", daemon=True)
    leaving.start()
    leaving.join(HEAD_SECONDS)
    if leaving.is_alive():
        leave_behind(leaving)
        atexit.unregister(ray.shutdown)


def check_this_machine() -> None:
    """Raises ClusterLostError if Ray no longer runs on this machine: no actor could start, and no trial is to blame."""
    raylet = raylet_socket()
    if raylet is None:
        return
    try:
        with socket.socket(socket.AF_UNIX) as knocking:
            knocking.connect(str(raylet))
    except OSError as error:
        raise ClusterLostError(f"ray does not run on this machine any more ({one_line(error)})") from error


def raylet_socket() -> Path | None:
    """The socket of the raylet on this machine, in the folder of its session; None for a client of a cluster elsewhere.

    No public part of Ray says whether the raylet still listens, or where its logs are.
    """
    if ray.util.client.ray.is_connected():
        return None
    return _socket(ray.get_runtime_context().get_node_id())


@lru_cache(maxsize=1)
def _socket(node_id: str) -> Path | None:
    """Ask the head for the socket, without a time limit: the check that Ray still runs here needs the socket first."""
    return next((Path(node["RayletSocketName"]) for node in ray.nodes() if node["NodeID"] == node_id), None)
