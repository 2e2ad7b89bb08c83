"""The keeper as an actor of the driver's machine, and how workers anywhere in the cluster ask it."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, final

import ray
from ray.actor import ActorHandle
from ray.exceptions import RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from skipstack.data.basis.errors import one_line
from skipstack.search.execution.engines.ray.carrying.keeper import Keeper, Keeping
from skipstack.search.execution.engines.ray.carrying.parcels import Parcel
from skipstack.search.study.record.folder import StudyFolder

CALLERS: Final = 8
"""How many workers it serves side by side."""

ENDING_SECONDS: Final = 10.0
"""Within which it says at a study's end what it has carried."""


class KeeperActor(Keeper):
    """Hands out the pieces of stores as objects of Ray, which spreads each of them from machine to machine."""

    def __init__(self, folder: StudyFolder) -> None:
        super().__init__(folder)
        self._shared: dict[tuple[str, str, int], Any] = {}

    def shared_piece(self, store: str, name: str, start: int) -> "list[ray.ObjectRef[bytes]]":
        """The reference to a piece, in a list: as such Ray would resolve it."""
        key = store, name, start
        with self._counting:
            known = self._shared.get(key)
        if known is None:
            known = self._shared.setdefault(key, ray.put(self.store_piece(store, name, start)))
        return [known]


@final
class RemoteKeeper(Keeping):
    """Asks the keeper of ``folder``, which an ``actor`` is, and raises what it raises. That it does not answer is an
    OSError of the folder: a lost disk is one, too, and is tried again, then interrupts the study.
    """

    def __init__(self, actor: ActorHandle, folder: Path) -> None:
        self.actor = actor
        self.folder = folder

    def store(self, store: str) -> dict[str, int]:
        """As ``Keeping`` says."""
        files: dict[str, int] = self._asked("store", store)
        return files

    def store_piece(self, store: str, name: str, start: int) -> bytes:
        """As ``Keeping`` says."""
        (reference,) = self._asked("shared_piece", store, name, start)
        with _silence_as_lost_disk(self.folder):
            piece: bytes = ray.get(reference)
        return piece

    def begin(self, trial: int, attempt: int) -> dict[str, int]:
        """As ``Keeping`` says."""
        files: dict[str, int] = self._asked("begin", trial, attempt)
        return files

    def files(self, trial: int) -> dict[str, int]:
        """As ``Keeping`` says."""
        files: dict[str, int] = self._asked("files", trial)
        return files

    def file_piece(self, trial: int, name: str, start: int) -> bytes:
        """As ``Keeping`` says."""
        piece: bytes = self._asked("file_piece", trial, name, start)
        return piece

    def take(self, trial: int, attempt: int, parcel: Parcel) -> None:
        """As ``Keeping`` says."""
        self._asked("take", trial, attempt, parcel)

    def goes_on(self, trial: int, attempt: int) -> bool:
        """As ``Keeping`` says."""
        return bool(self._asked("goes_on", trial, attempt))

    def part(self, trial: int, attempt: int) -> None:
        """As ``Keeping`` says."""
        self._asked("part", trial, attempt)

    def over(self, trial: int) -> None:
        """As ``Keeper`` says, some time later."""
        self.actor.over.remote(trial)

    def moved(self) -> int:
        """As ``Keeping`` says, unless it takes too long to answer."""
        with _silence_as_lost_disk(self.folder):
            moved: int = ray.get(self.actor.moved.remote(), timeout=ENDING_SECONDS)
        return moved

    def _asked(self, method: str, *arguments: object) -> Any:
        with _silence_as_lost_disk(self.folder):
            return ray.get(getattr(self.actor, method).remote(*arguments))


def start_keeper(folder: StudyFolder) -> RemoteKeeper:
    """The keeper of a study on this machine, where the driver runs. It ends with the driver."""
    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    actor = ray.remote(KeeperActor).options(num_cpus=0, max_concurrency=CALLERS, scheduling_strategy=here)
    return RemoteKeeper(actor.remote(folder), folder.path)


@contextmanager
def _silence_as_lost_disk(folder: Path) -> Iterator[None]:
    try:
        yield
    except RayTaskError as error:
        raise error.cause from error
    except RayError as error:
        why = one_line(error).partition(". ")[0]  # Ray goes on for a page
        raise OSError(
            errno.EHOSTDOWN,
            f"the driver's machine, which keeps the study's files, does not answer ({why})",
            str(folder),
        ) from error
