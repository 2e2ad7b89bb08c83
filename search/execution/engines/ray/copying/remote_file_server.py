"""A study's file server as a Ray actor on the driver's machine, and its client for workers on any machine."""

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, TypeVar, final

import ray
from ray.actor import ActorHandle
from ray.exceptions import RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from skipstack.data.basis.errors import one_line
from skipstack.search.execution.engines.ray.copying.chunks import Chunk
from skipstack.search.execution.engines.ray.copying.file_server import FileServer
from skipstack.search.study.record.folder import StudyFolder

CALLERS: Final = 8
"""Number of calls that the server handles in parallel."""

ENDING_SECONDS: Final = 10.0
"""Seconds to wait for the server's count of copied bytes at the end of a study."""

Arguments = ParamSpec("Arguments")
Value = TypeVar("Value")


class FileServerActor(FileServer):
    """A file server that stores pieces of corpora and vectors as Ray objects, which Ray copies between machines."""

    def __init__(self, folder: StudyFolder) -> None:
        super().__init__(folder)
        self._shared: dict[tuple[str, str, int], Any] = {}

    def shared_piece(self, store: str, name: str, start: int) -> "list[ray.ObjectRef[bytes]]":
        """Return a list with one item: the reference to a piece of a store, which the client fetches by itself."""
        key = store, name, start
        with self._counting:
            known = self._shared.get(key)
        if known is None:
            known = self._shared.setdefault(key, ray.put(self.store_piece(store, name, start)))
        return [known]


@final
class RemoteFileServer:
    """Client of the file server that runs as ``actor`` for ``folder``. Methods raise the server's errors. If the
    server does not answer, they raise an OSError that names the folder. Such an error is handled like a lost disk: the
    call is retried, and then the study is interrupted.
    """

    def __init__(self, actor: ActorHandle, folder: Path) -> None:
        self.actor = actor
        self.folder = folder

    def store(self, store: str) -> dict[str, int]:
        """Call ``FileServer.store``."""
        return self._asked(FileServer.store, store)

    def store_piece(self, store: str, name: str, start: int) -> bytes:
        """Call ``FileServer.store_piece``."""
        (reference,) = self._asked(FileServerActor.shared_piece, store, name, start)
        with _silence_as_lost_disk(self.folder):
            piece: bytes = ray.get(reference)
        return piece

    def begin(self, trial: int, attempt: int) -> dict[str, int]:
        """Call ``FileServer.begin``."""
        return self._asked(FileServer.begin, trial, attempt)

    def files(self, trial: int) -> dict[str, int]:
        """Call ``FileServer.files``."""
        return self._asked(FileServer.files, trial)

    def file_piece(self, trial: int, name: str, start: int) -> bytes:
        """Call ``FileServer.file_piece``."""
        return self._asked(FileServer.file_piece, trial, name, start)

    def take(self, trial: int, attempt: int, chunk: Chunk) -> None:
        """Call ``FileServer.take``."""
        self._asked(FileServer.take, trial, attempt, chunk)

    def goes_on(self, trial: int, attempt: int) -> bool:
        """Call ``FileServer.goes_on``."""
        return self._asked(FileServer.goes_on, trial, attempt)

    def part(self, trial: int, attempt: int) -> None:
        """Call ``FileServer.part``."""
        self._asked(FileServer.part, trial, attempt)

    def over(self, trial: int) -> None:
        """Tell the server that a trial has ended (``FileServer.over``), without waiting for an answer."""
        self.actor.over.remote(trial)

    def moved(self) -> int:
        """Call ``FileServer.moved``. Raises OSError if no answer comes within ``ENDING_SECONDS``."""
        with _silence_as_lost_disk(self.folder):
            moved: int = ray.get(self.actor.moved.remote(), timeout=ENDING_SECONDS)
        return moved

    def _asked(
        self,
        method: Callable[Concatenate[FileServerActor, Arguments], Value],
        *arguments: Arguments.args,
        **named: Arguments.kwargs,
    ) -> Value:
        with _silence_as_lost_disk(self.folder):
            answer: Value = ray.get(getattr(self.actor, method.__name__).remote(*arguments, **named))
        return answer


FileService = FileServer | RemoteFileServer
"""A study's file server, in this process or on the driver's machine."""


def start_file_server(folder: StudyFolder) -> RemoteFileServer:
    """Start a study's file server on the driver's machine, and return its client. The server ends with the driver."""
    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    actor = ray.remote(FileServerActor).options(num_cpus=0, max_concurrency=CALLERS, scheduling_strategy=here)
    return RemoteFileServer(actor.remote(folder), folder.path)


@contextmanager
def _silence_as_lost_disk(folder: Path) -> Iterator[None]:
    try:
        yield
    except RayTaskError as error:
        raise error.cause from error
    except RayError as error:
        why = one_line(error).partition(". ")[0]  # Ray's message fills a page
        raise OSError(
            errno.EHOSTDOWN,
            f"the driver's machine, which keeps the study's files, does not answer ({why})",
            str(folder),
        ) from error
