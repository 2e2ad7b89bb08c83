"""Joins a Ray cluster, lists its machines and asks them questions: the engine's use of Ray apart from Tune."""

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
from skipstack.search.execution.engines.ray.sockets import in_session_folder
from skipstack.search.execution.engines.ray.token import authenticated

OBJECT_STORE_BYTES = 100 * 1024 * 1024
"""Size of the object store in a cluster that we start: tasks and reports are small, and weights go to files."""

KNOCK_SECONDS = 10

ADDRESS: Final = "RAY_ADDRESS"
"""The environment variable with the address of the cluster for ``auto``."""

ALLOWED: Final = "HOST:PORT or ray://HOST:10001 of a running one, or --address local"

LAST_PORT: Final = 65_535

SETTINGS: Final = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""An empty frame of settings, with which both ends of HTTP/2 begin; its fourth byte is its kind."""

ANSWER_SECONDS = 120
"""Seconds for a machine to answer a question; its first process has to import torch."""

OF_A_MACHINE: Final = (NodeDiedError, LocalRayletDiedError, ObjectLostError, ActorUnavailableError, ActorDiedError)
"""Ray's errors about one machine, or about a process or an object there: the cluster goes on."""

LATE: Final = "timed out during startup"
"""Part of the message of the plain ``Exception`` that Ray raises if its processes have not started within 30 s."""

MISMATCH: Final = r"(?s)Version mismatch.*?Ray: (\S+).*?Python: (\S+).*?Ray: (\S+).*?Python: (\S+)"
"""Pattern of the plain ``RuntimeError`` of a cluster of other versions: its Ray and Python, and those here."""

WORKER_LOGS: Final = ("worker-*.err", "raylet.err")
"""Logs with the last words of a worker that does not start: its own, or, before it has one, the raylet's."""

Value = TypeVar("Value")

_is_ours = False
"""Whether a study has started Ray in this process."""


@contextmanager
def joined(address: str | None) -> Iterator[None]:
    """Make this process a member of the cluster at ``address``, or of one that is started on this machine, for the
    block; then leave that cluster, or end what was started. Ray that runs in this process already is used, and goes on.

    Raises UserError if no cluster answers or none can be started, and if Ray runs here on another cluster or for
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
            leaving.enter_context(in_session_folder())
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
        except (ConnectionError, RayError) as error:  # RayError: the token that the cluster asks for is missing
            raise _unanswered(address, error) from error
        except RuntimeError as error:
            if address is None or (versions := _other_versions(str(error))) is None:
                raise
            raise UserError(f"{_origin(address)}: {versions}") from error
        except ValueError as error:  # a package for this kind of address is missing
            if address is None:
                raise
            raise _unanswered(address, error) from error
        except Exception as error:  # ray has no class of its own for it
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
    """Raises UserError for an address at which no Ray cluster listens: Ray itself would wait for minutes, and log.

    ``auto`` stands for the address in ``RAY_ADDRESS``, or else for that of a cluster which ray finds on this machine.
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
    """Raises OSError if nothing answers there as Ray's processes do, by gRPC, which is HTTP/2."""
    with socket.create_connection((host, port), timeout=KNOCK_SECONDS) as knocking:
        if os.environ.get("RAY_USE_TLS", "0") not in ("0", ""):
            return  # it waits for a certificate
        knocking.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + SETTINGS)
        if knocking.recv(len(SETTINGS), socket.MSG_WAITALL)[3:4] != SETTINGS[3:4]:
            raise ConnectionError(f"what listens on port {port} is no process of Ray's")


def _given(address: str) -> str:
    """The address, or what the environment says for ``auto``."""
    return (os.environ.get(ADDRESS) or address) if address == "auto" else address


def _origin(address: str) -> str:
    """An address with its source, for the user."""
    named = os.environ.get(ADDRESS) if address == "auto" else None
    return f"{ADDRESS}={named}" if named else f"--address {address}"


def cluster_in_words(address: str | None) -> str | None:
    """The words for the user about the cluster that the environment gives for ``auto``; None if there is none."""
    named = os.environ.get(ADDRESS)
    return f"on the cluster of {ADDRESS}={named}" if address == "auto" and named else None


def own_cpus() -> int | None:
    """Number of CPUs that this process may use, if not all, as in a batch job; None: Ray counts them."""
    own = usable_cpus()
    return None if own == os.cpu_count() else own


def worker_interpreter() -> dict[str, str] | None:
    """The interpreter of workers, quoted for a shell: Ray leaves it bare, and a path with a space never starts."""
    python = shlex.quote(sys.executable)
    return None if python == sys.executable else {"py_executable": python}


def resources() -> list[Mapping[str, float]]:
    """The resources of each machine. Raises ClusterLostError if this one is no longer among them."""
    return [has for _, has in machines().values()]


def machines() -> Machines:
    """The machines of the cluster, by the ids of their nodes. Raises ClusterLostError as ``resources`` does."""
    check_this_machine()
    return {
        node["NodeID"]: (_name(node), {name: node["Resources"].get(name, 0.0) for name in ("CPU", "GPU")})
        for node in nodes()
        if node["Alive"]
    }


def _name(node: Mapping[str, Any]) -> str:
    return f"{node['NodeManagerHostname']} ({node['NodeManagerAddress']})"


class Question(Generic[Value]):
    """A question to a worker of the cluster, which is answered while the caller goes on.

    It takes no CPU from the trials. A missing answer is a UserError that says why.
    """

    def __init__(self, question: Callable[[], Value], **options: Any) -> None:
        task = ray.remote(_ask).options(num_cpus=0, **options)
        self._reference = task.remote(question)
        self._until = time.monotonic() + ANSWER_SECONDS

    def is_over(self) -> bool:
        """Whether the answer has arrived, or is overdue."""
        with lost_cluster_interrupts():
            done, _ = ray.wait([self._reference], timeout=0)
        return bool(done) or time.monotonic() > self._until

    def answer(self) -> Value | UserError:
        """Wait for the answer."""
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
    """The answer of every machine, with its name, except of machines that leave the cluster meanwhile."""
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
    """A question to a machine with GPUs, by the id of its node: the process that is asked gets a GPU."""
    here = NodeAffinitySchedulingStrategy(machine, soft=False)
    return Question(question, num_gpus=0.001, scheduling_strategy=here)


def _ask(question: Callable[[], Value]) -> Value:
    """Runs on the machine that is asked."""
    return question()


def check_answers() -> None:
    """Raises WorkersSilentError if no machine starts a worker that answers."""
    answers = asked(socket.gethostname)
    if answers and all(isinstance(answer, UserError) for _, answer in answers):
        name, why = answers[0]
        raise silent(f"machine {name}: {why}")


def silent(why: str) -> WorkersSilentError:
    """The error of workers that do not answer, with their last words."""
    words = last_words()
    return WorkersSilentError(why if words is None else f"{why}; the last line of a worker's log: {words}")


def last_words() -> str | None:
    """The last line in the latest log of a worker on this machine.

    None if there is none, as for a client of a cluster elsewhere.
    """
    raylet = raylet_socket()
    if raylet is None:
        return None
    folder = raylet.parents[1] / "logs"
    logs = [path for pattern in WORKER_LOGS for path in folder.glob(pattern)]
    for log in sorted(logs, key=lambda path: path.stat().st_mtime, reverse=True):
        lines = [line.strip() for line in log.read_text(errors="replace").splitlines()]
        if words := [line for line in lines if line and not line.startswith(":")]:  # lines with a colon are ray's marks
            return words[-1]
    return None


@contextmanager
def lost_cluster_interrupts() -> Iterator[None]:
    """Raise ClusterLostError if the cluster is lost during the block, or a machine whose loss nobody has handled."""
    try:
        yield
    except RayTaskError:
        raise
    except OF_A_MACHINE as error:
        raise ClusterLostError(f"a machine of the Ray cluster is lost ({one_line(error)})") from error
    except RayError as error:
        raise ClusterLostError(f"the Ray cluster does not answer any more ({one_line(error)})") from error


def _check_cluster(address: str | None) -> None:
    """Raises UserError if the Ray that runs in this process is not the one at ``address``."""
    own = ray.get_runtime_context().gcs_address
    if address not in (None, "auto", own):
        raise UserError(
            f"--address {address}: Ray runs in this process already, on the cluster {own} (allowed: that one, or "
            "`ray.shutdown()` first)"
        )


def _other_versions(message: str) -> str | None:
    """A line about a cluster's versions with which this process cannot work, from Ray's message; None for others."""
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
    """The error for an address, maybe of an earlier run, where no cluster answers; None: Ray does not start here."""
    if address is None:
        return UserError(
            f"Ray does not start on this machine ({one_line(error)}; allowed: where it does, --engine serial)"
        )
    return UserError(f"{_origin(address)}: no Ray cluster answers ({one_line(error)}; allowed: {ALLOWED})")
