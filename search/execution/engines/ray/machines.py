"""Joins a Ray cluster, lists its machines, and asks the machines questions by short tasks."""

import os
import re
import shlex
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, Final, Generic, TypeVar

import ray
from ray.exceptions import (
    ActorDiedError,
    ActorUnavailableError,
    GetTimeoutError,
    LocalRayletDiedError,
    NodeDiedError,
    ObjectLostError,
    RayError,
    RayTaskError,
)
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from skipstack.data.basis.errors import UserError, one_line
from skipstack.data.basis.system import usable_cpus
from skipstack.search.execution.driver.faults import ClusterLostError, WorkersSilentError
from skipstack.search.execution.engines.capacity import Machines
from skipstack.search.execution.engines.ray.head import check_this_machine, leave_cluster, nodes, raylet_socket
from skipstack.search.execution.engines.ray.process import environment
from skipstack.search.execution.engines.ray.sockets import PLACE, session_folder
from skipstack.search.execution.engines.ray.token import authenticated

OBJECT_STORE_BYTES = 100 * 1024 * 1024
"""Bytes of the object store of a cluster that is started here. They are few, since weights do not pass through it."""

KNOCK_SECONDS = 10

ADDRESS: Final = "RAY_ADDRESS"
"""Environment variable with the address of the cluster that ``--address auto`` means."""

ALLOWED: Final = "HOST:PORT or ray://HOST:10001 of a running one, or --address local"

LAST_PORT: Final = 65_535

SETTINGS: Final = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""An empty SETTINGS frame. Each side of an HTTP/2 connection first sends such a frame; the fourth byte is its type."""

ANSWER_SECONDS = 120
"""Seconds to wait for a machine's answer, including the import of torch in its first process."""

OF_A_MACHINE: Final = (NodeDiedError, LocalRayletDiedError, ObjectLostError, ActorUnavailableError, ActorDiedError)
"""Ray's errors about one machine, or a process or object on it, while the rest of the cluster still works."""

LATE: Final = "timed out during startup"
"""Part of the message of the plain ``Exception`` that Ray raises if its processes have not started within 30 s."""

MISMATCH: Final = r"(?s)Version mismatch.*?Ray: (\S+).*?Python: (\S+).*?Ray: (\S+).*?Python: (\S+)"
"""Pattern of the message of Ray's plain ``RuntimeError`` for a cluster of other versions. Its groups are the cluster's
versions of Ray and of Python, then this process's versions of Ray and of Python.
"""

WORKER_LOGS: Final = ("worker-*.err", "raylet.err")
"""Logs that may show why a worker does not start: the worker's own log or, for a worker without a log, the log of the
raylet (Ray's process that manages a machine).
"""

Value = TypeVar("Value")

_is_ours = False
"""Whether Ray runs in this process because a study has called ``ray.init``."""


@contextmanager
def joined(address: str | None) -> Iterator[None]:
    """Make this process a member of the cluster at ``address`` during the block. None means a new cluster on this
    machine, which ends with the block. A cluster that this process has already joined with ``ray.init`` is used, and
    not left. Raises UserError if no cluster answers or starts, or if Ray already runs here on another cluster or for
    another study.
    """
    global _is_ours
    if ray.is_initialized():
        if _is_ours:
            raise UserError("a study runs on Ray in this process already (allowed: after it, or the engine serial)")
        _check_cluster(address)
        yield
        return
    with ExitStack() as leaving:
        leaving.enter_context(authenticated(own=address is None))
        if address is None:
            folder = leaving.enter_context(session_folder())
            leaving.enter_context(environment({PLACE: str(folder)}))
        leaving.callback(leave_cluster)
        try:
            ray.init(
                address=address or "local",  # None would join any cluster that was started on this machine
                include_dashboard=None if address else False,
                object_store_memory=None if address else OBJECT_STORE_BYTES,
                num_cpus=None if address else own_cpus(),
                log_to_driver=False,
                logging_level="error",
                configure_logging=True,
                runtime_env=worker_interpreter(),
            )
        except (ConnectionError, RayError) as error:  # RayError: the token that the cluster requires is missing
            raise _unanswered(address, error) from error
        except RuntimeError as error:
            if address is None or (versions := _other_versions(str(error))) is None:
                raise
            raise UserError(f"{_origin(address)}: {versions}") from error
        except ValueError as error:  # a package for this kind of address is missing
            if address is None:
                raise
            raise _unanswered(address, error) from error
        except Exception as error:  # Ray raises a plain Exception if it starts too late
            if LATE not in str(error):
                raise
            raise UserError(
                "Ray did not start within 30 s (allowed: once more, when less runs here, or --engine serial)"
            ) from error
        _is_ours = True
        leaving.callback(_forget)
        yield


def _forget() -> None:
    global _is_ours
    _is_ours = False


def check_address(address: str | None) -> None:
    """Raise UserError if no Ray cluster listens at ``address``. Ray itself would wait for minutes, and write logs.
    Nothing is checked if Ray is to start a cluster (None or ``local``) or to look for one on this machine (``auto``
    without ``RAY_ADDRESS``).
    """
    if address is None:
        return
    named = _given(address)
    if named in ("local", "auto"):
        return
    try:
        host, _, port = named.removeprefix("ray://").rpartition(":")
        if not host or not port.isdigit() or int(port) > LAST_PORT:
            raise UserError(f"{_origin(address)}: is no address (allowed: {ALLOWED})")
        _knock(host.strip("[]"), int(port))
    except OSError as error:
        raise _unanswered(address, error) from error


def _knock(host: str, port: int) -> None:
    """Check that a gRPC server, such as a Ray process, listens at this port and answers an HTTP/2 greeting. Raises
    OSError if no server answers. With ``RAY_USE_TLS``, check only that the port accepts connections.
    """
    with socket.create_connection((host, port), timeout=KNOCK_SECONDS) as knocking:
        if os.environ.get("RAY_USE_TLS", "0") not in ("0", ""):
            return  # the server waits for a certificate
        knocking.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + SETTINGS)
        if knocking.recv(len(SETTINGS), socket.MSG_WAITALL)[3:4] != SETTINGS[3:4]:
            raise ConnectionError(f"what listens on port {port} is no process of Ray's")


def _given(address: str) -> str:
    """The address; for ``auto``, the value of ``RAY_ADDRESS`` if that is set."""
    return (os.environ.get(ADDRESS) or address) if address == "auto" else address


def _origin(address: str) -> str:
    """An address with its origin (a variable or an option), for messages."""
    named = os.environ.get(ADDRESS) if address == "auto" else None
    return f"{ADDRESS}={named}" if named else f"--address {address}"


def cluster_in_words(address: str | None) -> str | None:
    """A phrase for the user about the cluster in ``RAY_ADDRESS``, if ``address`` is ``auto``; otherwise None."""
    named = os.environ.get(ADDRESS)
    return f"on the cluster of {ADDRESS}={named}" if address == "auto" and named else None


def own_cpus() -> int | None:
    """The number of CPUs that this process may use; None if it may use all. A batch job, for example, limits them."""
    own = usable_cpus()
    return None if own == os.cpu_count() else own


def worker_interpreter() -> dict[str, str] | None:
    """Ray's option for the path of the workers' Python interpreter, quoted for a shell; None if no quotes are needed.
    Ray does not quote the path itself, so workers would never start from a path with a space.
    """
    python = shlex.quote(sys.executable)
    return None if python == sys.executable else {"py_executable": python}


def resources() -> list[Mapping[str, float]]:
    """The machines' resources. Raises ClusterLostError if Ray does not run here or the cluster does not answer."""
    return [has for _, has in machines().values()]


def machines() -> Machines:
    """The name and resources of each machine of the cluster, by node id. Raises the errors of ``resources``."""
    check_this_machine()
    return {
        node["NodeID"]: (_name(node), {name: node["Resources"].get(name, 0.0) for name in ("CPU", "GPU")})
        for node in nodes()
        if node["Alive"]
    }


def _name(node: Mapping[str, Any]) -> str:
    return f"{node['NodeManagerHostname']} ({node['NodeManagerAddress']})"


class Question(Generic[Value]):
    """Runs the function ``question`` as a Ray task, in the background. ``options``: Ray's options for the task. The
    task reserves no CPU, so that it takes none from the trials.
    """

    def __init__(self, question: Callable[[], Value], **options: Any) -> None:
        task = ray.remote(_ask).options(num_cpus=0, **options)
        self._reference = task.remote(question)
        self._until = time.monotonic() + ANSWER_SECONDS

    def is_over(self) -> bool:
        """Whether the answer has arrived, or is no longer awaited."""
        with lost_cluster_interrupts():
            done, _ = ray.wait([self._reference], timeout=0)
        return bool(done) or time.monotonic() > self._until

    def answer(self) -> Value | UserError:
        """Wait for the answer and return it; return a UserError with the reason if the task fails or is late."""
        try:
            answer: Value = ray.get(self._reference, timeout=max(0.0, self._until - time.monotonic()))
            return answer
        except GetTimeoutError:
            return UserError(f"no answer within {ANSWER_SECONDS} s")
        except RayTaskError as error:
            return UserError(error.cause if isinstance(error.cause, UserError) else one_line(error.cause))
        except RayError as error:
            return UserError(one_line(error))


def asked(question: Callable[[], Value]) -> list[tuple[str, Value | UserError]]:
    """Run ``question`` on every machine, wait, and return each machine's name and answer. Machines that leave the
    cluster before they answer are left out.
    """
    waiting = {
        machine: (name, Question(question, scheduling_strategy=NodeAffinitySchedulingStrategy(machine, soft=False)))
        for machine, (name, _) in machines().items()
    }
    answers = {machine: (name, each.answer()) for machine, (name, each) in waiting.items()}
    silent = any(isinstance(answer, UserError) for _, answer in answers.values())
    there = machines().keys() if silent else answers.keys()
    return [
        answers[machine] for machine in answers if machine in there or not isinstance(answers[machine][1], UserError)
    ]


def on_gpu(question: Callable[[], Value], machine: str) -> Question[Value]:
    """Run ``question`` in a process that can use a GPU, on the machine with node id ``machine``."""
    here = NodeAffinitySchedulingStrategy(machine, soft=False)
    return Question(question, num_gpus=0.001, scheduling_strategy=here)


def _ask(question: Callable[[], Value]) -> Value:
    """Call ``question``. Runs on the machine that is asked."""
    return question()


def check_answers() -> None:
    """Raise WorkersSilentError if no machine starts a process that answers."""
    answers = asked(socket.gethostname)
    if answers and all(isinstance(answer, UserError) for _, answer in answers):
        name, why = answers[0]
        raise silent(f"machine {name}: {why}")


def silent(why: str) -> WorkersSilentError:
    """Return the error for workers that do not answer: ``why``, and the last line of a worker's log."""
    words = last_words()
    return WorkersSilentError(why if words is None else f"{why}; the last line of a worker's log: {words}")


def last_words() -> str | None:
    """The last line in the latest log of a worker or raylet on this machine; None if there is none."""
    raylet = raylet_socket()
    if raylet is None:
        return None
    folder = raylet.parents[1] / "logs"
    logs = [path for pattern in WORKER_LOGS for path in folder.glob(pattern)]
    for log in sorted(logs, key=lambda path: path.stat().st_mtime, reverse=True):
        lines = [line.strip() for line in log.read_text(errors="replace").splitlines()]
        if words := [line for line in lines if line and not line.startswith(":")]:  # Ray's own markers begin with :
            return words[-1]
    return None


@contextmanager
def lost_cluster_interrupts() -> Iterator[None]:
    """Turn Ray's errors in the block into ClusterLostError if the cluster or a machine is lost."""
    try:
        yield
    except RayTaskError:
        raise
    except OF_A_MACHINE as error:
        raise ClusterLostError(f"a machine of the Ray cluster is lost ({one_line(error)})") from error
    except RayError as error:
        raise ClusterLostError(f"the Ray cluster does not answer any more ({one_line(error)})") from error


def _check_cluster(address: str | None) -> None:
    """Raise UserError if the cluster that this process has joined is not the one at ``address``."""
    own = ray.get_runtime_context().gcs_address
    if address not in (None, "auto", own):
        raise UserError(
            f"--address {address}: Ray runs in this process already, on the cluster {own} (allowed: that one, or "
            "`ray.shutdown()` first)"
        )


def _other_versions(message: str) -> str | None:
    """A line for the user about differing versions of Ray or Python; None if Ray's message is about something else."""
    found = re.search(MISMATCH, message)
    if found is None:
        return None
    theirs, python, ours, own = found.groups()
    what = [f"Ray {theirs} (pip install 'ray[tune]=={theirs}')"] if theirs != ours else []
    what += [f"Python {python}"] if python != own else []
    return (
        f"the cluster runs Ray {theirs} on Python {python}, and this process Ray {ours} on Python {own} "
        f"(allowed: the cluster's: {' and '.join(what)})"
    )


def _unanswered(address: str | None, error: Exception) -> UserError:
    """Return the error for an address without a cluster or, for None, for a failed start of Ray on this machine."""
    if address is None:
        return UserError(
            f"Ray does not start on this machine ({one_line(error)}; allowed: where it does, --engine serial)"
        )
    return UserError(f"{_origin(address)}: no Ray cluster answers ({one_line(error)}; allowed: {ALLOWED})")
