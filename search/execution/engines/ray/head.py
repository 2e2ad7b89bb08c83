"""Asks the head of a Ray cluster, which knows all machines, with a time limit in case the head is gone."""

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
"""Seconds to wait for an answer of the head; Ray has the same default."""

LOOKED_AT: Final = 1.0
"""Seconds between two checks that Ray still runs on this machine, while an answer is awaited."""

Value = TypeVar("Value")


def of_the_head(question: Callable[[], Value]) -> Value:
    """Call ``question``, which asks the head, and return its value. Raises ClusterLostError if no answer comes within
    ``HEAD_SECONDS``, or if Ray no longer runs on this machine. Ray waits for ever for a head that is gone, and ignores
    Ctrl-C meanwhile. So ``question`` runs in a thread, which is abandoned if no answer comes.
    """
    answer = Future[Value]()

    def ask() -> None:
        try:
            answer.set_result(question())
        except Exception as failure:  # noqa: BLE001 (the waiting caller raises it)
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
    """Node ids of machines whose removal was announced. Empty if this Ray lacks the private function that returns the
    ids (``docs/decisions/private-names.md``), and in a Ray client of a remote cluster.
    """
    try:
        from ray._private.state import state

        announced = state.get_draining_nodes
    except (ImportError, AttributeError):
        return frozenset()
    return frozenset() if ray.util.client.ray.is_connected() else frozenset(of_the_head(announced))


def leave_cluster() -> None:
    """Leave the cluster, or end it if it was started here. Ray's shutdown never returns if the head hangs, and Ray
    would repeat the call at the interpreter's exit. So a thread makes the call. It is abandoned after ``HEAD_SECONDS``.
    """
    leaving = threading.Thread(target=ray.shutdown, name="leaves the cluster", daemon=True)
    leaving.start()
    leaving.join(HEAD_SECONDS)
    if leaving.is_alive():
        leave_behind(leaving)
        atexit.unregister(ray.shutdown)


def check_this_machine() -> None:
    """Raise ClusterLostError if Ray no longer runs on this machine. A Ray client of a remote cluster checks nothing."""
    raylet = raylet_socket()
    if raylet is None:
        return
    try:
        with socket.socket(socket.AF_UNIX) as knocking:
            knocking.connect(str(raylet))
    except OSError as error:
        raise ClusterLostError(f"ray does not run on this machine any more ({one_line(error)})") from error


def raylet_socket() -> Path | None:
    """The socket of this machine's raylet (Ray's process that manages a machine); None in a Ray client of a remote
    cluster. The socket shows whether the raylet still listens, and its path contains the folder of Ray's logs. Ray's
    public interface gives neither the raylet's state nor this folder.
    """
    if ray.util.client.ray.is_connected():
        return None
    return _socket(ray.get_runtime_context().get_node_id())


@lru_cache(maxsize=1)
def _socket(node_id: str) -> Path | None:
    """Ask the head for the socket without a time limit, since ``of_the_head`` needs the socket for its own check."""
    return next((Path(node["RayletSocketName"]) for node in ray.nodes() if node["NodeID"] == node_id), None)
