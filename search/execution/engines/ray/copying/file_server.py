"""The file server of a study: reads and writes the study's folder for workers on machines that do not see it.

This file does not use Ray. On a cluster, the server is an actor on the driver's machine (``remote_file_server.py``),
and several threads call its methods.
"""

import hashlib
import shutil
import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import Final

from skipstack.data.basis.errors import UserError
from skipstack.search.execution.driver.faults import lost_disk_interrupts, own_file_interrupts
from skipstack.search.execution.engines.ray.copying.chunks import PIECE, Chunk, Piece, versions
from skipstack.search.execution.workers.attempts import ATTEMPT, check_latest, claim
from skipstack.search.study.record.folder import (
    CALL_CHECKPOINTS,
    CHECKPOINT,
    GROUP,
    StudyFolder,
    delete_checkpoints,
    make_trial_folder,
)

ARRIVING: Final = ".arriving."
"""Prefix of the temporary names of files that are not received completely."""


class FileServer:
    """Reads and writes ``folder``, a study's folder, for workers on other machines. A store is the folder of a prepared
    corpus or of pretrained vectors, identified by its name. Attempts at a trial are counted from 1.

    ``begin`` and ``take`` raise SupersededError if a later attempt at the trial has begun. Disk errors are raised as
    OutOfSpaceError or DiskLostError. A name that leads out of the folder raises UserError.
    """

    def __init__(self, folder: StudyFolder) -> None:
        self._folder = folder
        self.received = 0
        """Bytes of the trials' files that were received."""
        self.given = 0
        """Bytes of files that were sent."""
        self._counting = threading.Lock()
        self._locks: defaultdict[int, threading.Lock] = defaultdict(threading.Lock)
        self._arriving: dict[tuple[int, str], dict[str, Path]] = {}
        """Temporary paths of the received files, by file name, for each incomplete sending of a trial."""
        self._over: set[int] = set()
        """Trials that have ended and need no checkpoints."""
        self._parting: set[tuple[int, int]] = set()

    def moved(self) -> int:
        """Number of bytes received and sent so far; 0 if all machines see the study's folder."""
        return self.received + self.given

    def store(self, store: str) -> dict[str, int]:
        """The files of a store, with their sizes in bytes."""
        with lost_disk_interrupts(f"{self._folder.corpora / store}"):
            return {path.name: path.stat().st_size for path in sorted(self._store(store).iterdir()) if path.is_file()}

    def store_piece(self, store: str, name: str, start: int) -> bytes:
        """Read up to ``PIECE`` bytes of the file ``name`` of a store, from position ``start`` on."""
        return self._piece(self._store(store), name, start)

    def begin(self, trial: int, attempt: int) -> dict[str, int]:
        """Claim a trial's folder for an attempt. Return the sizes in bytes of the files to continue from, by name."""
        with self._locked(trial) as folder, own_file_interrupts(folder):
            self._claim(folder, attempt, [])
            _discard(folder)
            return _files(folder)

    def files(self, trial: int) -> dict[str, int]:
        """The files of a trial, with their sizes in bytes."""
        with self._locked(trial) as folder, lost_disk_interrupts(f"{folder}"):
            return _files(folder)

    def file_piece(self, trial: int, name: str, start: int) -> bytes:
        """Read up to ``PIECE`` bytes of the file ``name`` of a trial, from position ``start`` on."""
        return self._piece(self._folder.trial(trial), name, start)

    def take(self, trial: int, attempt: int, chunk: Chunk) -> None:
        """Receive a chunk of files. After the last chunk of a sending, all its files get their final names, except
        checkpoints of a trial that has ended: these are dropped.
        """
        names = [piece.name for piece in chunk.pieces]
        with self._locked(trial) as folder, own_file_interrupts(folder):
            for name in (*names, *chunk.removed):
                check_name(folder, name)
            self._claim(folder, attempt, names)
            arriving = self._arriving.setdefault((trial, chunk.sending), {})
            for piece in chunk.pieces:
                arriving[piece.name] = _written(folder, chunk.sending, piece)
            if chunk.last:
                self._settle(trial, folder, chunk)
        with self._counting:
            self.received += chunk.bytes

    def goes_on(self, trial: int, attempt: int) -> bool:
        """Whether the attempt may train further epochs: True until ``part`` is called for it."""
        return (trial, attempt) not in self._parting

    def part(self, trial: int, attempt: int) -> None:
        """Note that an attempt has ended or paused, so that its worker sends its remaining files and stops."""
        self._parting.add((trial, attempt))

    def over(self, trial: int) -> None:
        """Note that a trial has ended. Delete its checkpoints, and drop checkpoints that arrive later."""
        with self._locked(trial) as folder:
            self._over.add(trial)
            _discard(folder)
            delete_checkpoints(folder)

    @contextmanager
    def _locked(self, trial: int) -> Iterator[Path]:
        """Hold the lock of a trial during the block, and yield the trial's folder."""
        with self._counting:
            lock = self._locks[trial]
        with lock:
            yield self._folder.trial(trial)

    def _claim(self, folder: Path, attempt: int, names: Sequence[str]) -> None:
        """Claim a trial's folder for an attempt. Raises SupersededError if a later attempt has claimed it, or has
        claimed the folder of a group of racing seeds to which one of the files ``names`` belongs.
        """
        groups = {group for name in names if (group := _group(name)) is not None}
        for each in (folder, *(folder / group for group in groups)):
            check_latest(each, attempt)
        make_trial_folder(folder)
        claim(folder, attempt)

    def _settle(self, trial: int, folder: Path, chunk: Chunk) -> None:
        """Give the files of a complete sending their final names, and delete files that were removed."""
        for name, path in self._arriving.pop((trial, chunk.sending)).items():
            if trial in self._over and _is_of_checkpoints(name):
                path.unlink()
                continue
            target = folder / name
            _make_way(folder, target)
            target.parent.mkdir(parents=True, exist_ok=True)
            path.replace(target)
        for name in chunk.removed:
            if (folder / name).is_file():  # otherwise a folder took the file's place, or a file that of its folder
                (folder / name).unlink()

    def _store(self, store: str) -> Path:
        if PurePosixPath(store).name != store or store in ("", "..") or "\0" in store:
            raise UserError(f"a worker asks for the corpus {store!r} (allowed: a name in {self._folder.corpora})")
        return self._folder.corpora / store

    def _piece(self, folder: Path, name: str, start: int) -> bytes:
        check_name(folder, name)
        with lost_disk_interrupts(str(folder / name)), (folder / name).open("rb") as file:
            file.seek(start)
            content = file.read(PIECE)
        with self._counting:
            self.given += len(content)
        return content


def check_name(folder: Path, name: str) -> None:
    """Raise UserError for a file name that leads out of ``folder``, or that the server reserves for itself."""
    path = PurePosixPath(name)
    inside = path.parts and not path.is_absolute() and not {"..", "."} & set(name.split("/")) and "\0" not in name
    if not inside or path.parts[0] == ATTEMPT or path.name.startswith(ARRIVING):
        raise UserError(f"a worker names the file {name!r} (allowed: one of its own below {folder})")
    if not (folder / path).parent.resolve().is_relative_to(folder.resolve()):
        raise UserError(f"a worker names the file {name!r}, which a link leads out of {folder}")


def _files(folder: Path) -> dict[str, int]:
    """The files from which a trial's worker continues, with sizes in bytes: the oldest first, checkpoints last."""
    found = versions(folder)
    return {name: version[0] for name, version in found.items() if name != ATTEMPT and not name.startswith(ARRIVING)}


def _group(name: str) -> str | None:
    """The folder of a group of racing seeds to which the file ``name`` belongs, or None."""
    top, _, rest = name.partition("/")
    return top if rest and fnmatch(top, GROUP.format("*")) else None


def _is_of_checkpoints(name: str) -> bool:
    """Whether a file of a trial belongs to a checkpoint. Such a file is not needed once the trial has ended."""
    return name == CHECKPOINT or _group(name) is not None or PurePosixPath(name).parts[0] == CALL_CHECKPOINTS


def _written(folder: Path, sending: str, piece: Piece) -> Path:
    """Write a piece of a sending into the temporary copy of a file, and return the path of the copy."""
    path = folder / f"{ARRIVING}{sending}.{hashlib.sha256(piece.name.encode()).hexdigest()[:16]}"
    with path.open("r+b" if piece.start else "wb") as file:
        file.seek(piece.start)
        file.write(piece.content)
    return path


def _make_way(folder: Path, target: Path) -> None:
    """Remove what a trial has replaced by the file ``target``: a file where ``target`` needs a folder, or a folder in
    its place. ``folder``: the trial's folder.
    """
    for above in target.relative_to(folder).parents:
        if (folder / above).is_file():
            (folder / above).unlink()
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target)


def _discard(folder: Path) -> None:
    """Remove temporary files of incomplete sendings."""
    for torn in folder.glob(f"{ARRIVING}*"):
        torn.unlink(missing_ok=True)
