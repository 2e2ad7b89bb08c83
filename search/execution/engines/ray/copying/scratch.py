"""A study's temporary folder on a machine that does not see the study's own folder. The last process that uses the
temporary folder removes it.

The temporary folders of all studies of a user lie in one folder. Each temporary folder is named by the word of its
study's mark, and has a lock file beside it. Processes that use a temporary folder hold a shared lock on that file,
which the kernel releases however a process ends. A process that gets the exclusive lock may remove the folder.
"""

import errno
import fcntl
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Self

from skipstack.data.basis.atomic_files import atomic_folder
from skipstack.data.basis.errors import UserError, one_line
from skipstack.data.basis.locks import is_named, locked
from skipstack.search.execution.engines.ray.copying.chunks import Version, versions
from skipstack.search.execution.engines.ray.copying.mark import unwritable
from skipstack.search.execution.workers.attempts import ATTEMPT
from skipstack.search.study.record.folder import TRIALS

PREFIX: Final = "skipstack-copied-"
"""Prefix of the name of the folder that holds the temporary folders of one user."""

LOCK: Final = ".lock"

TRIAL: Final = re.compile(r"(\d+)-(\d+)-")
"""Beginning of the name of a trial's folder: the trial's number and the attempt's number."""

PATIENCE: Final = 10.0
"""Seconds to wait for ending processes to release a folder."""

_staying: "dict[str, Scratch]" = {}


class Scratch:
    """The temporary folder of the study whose mark has the word ``word``. Until ``close`` or ``leave``, it is locked
    against removal by other processes. On creation, temporary folders that no process holds are removed.
    """

    def __init__(self, word: str) -> None:
        root = user_folder()
        self._lock = root / f"{word}{LOCK}"
        self._descriptor = locked(self._lock, fcntl.LOCK_SH)
        self.folder = root / word
        try:
            (self.folder / TRIALS).mkdir(parents=True, exist_ok=True)
            (self.folder / "corpora").mkdir(exist_ok=True)
            remove_leftovers(root)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def store(self, name: str, fetch: Callable[[Path], None]) -> Path:
        """Return the folder of the prepared corpus or vectors ``name`` on this machine. If it does not exist, one
        process calls ``fetch`` with the folder to fill, while others wait.
        """
        path = self.folder / "corpora" / name
        if not path.is_dir():
            fetching = locked(path.with_name(f"{name}{LOCK}"), fcntl.LOCK_EX)
            try:
                if not path.is_dir():
                    with atomic_folder(path) as beside:
                        fetch(beside)
            finally:
                os.close(fetching)
        return path

    def trial(self, number: int, attempt: int) -> Path:
        """Create a folder for the files that an attempt at a trial writes, and return its path."""
        return Path(tempfile.mkdtemp(prefix=f"{number:06d}-{attempt}-", dir=self.folder / TRIALS))

    def reading(self) -> Path:
        """Create a folder for a task that trains no trial, and return its path."""
        return Path(tempfile.mkdtemp(prefix="reading-", dir=self.folder / TRIALS))

    def trials(self) -> Iterator[tuple[int, int, Path]]:
        """Yield the number, the attempt and the folder of each trial on this machine."""
        for folder in sorted((self.folder / TRIALS).iterdir()):
            if (named := TRIAL.match(folder.name)) is not None:
                yield int(named[1]), int(named[2]), folder

    def close(self) -> None:
        """Release the folder without removing it."""
        os.close(self._descriptor)

    def leave(self) -> None:
        """Release the folder, and remove it if no other process holds it."""
        with suppress(BlockingIOError):
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if self.is_there():
                _remove(self._lock)
        self.close()

    def is_there(self) -> bool:
        """Whether the locked folder still exists. False also if it was removed and created again."""
        return is_named(self._lock, self._descriptor)


class TrialScratch:
    """The folder of a trial or another task on this machine, removed after the ``with`` block. A removal by another
    process is detected, and does not count as a deletion of files by the trial.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._descriptor = os.open(folder, os.O_RDONLY)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)
        shutil.rmtree(self.folder, ignore_errors=True)

    def files(self) -> dict[str, Version]:
        """The versions of the files that the trial has written, by name. Raises an OSError, as a failing disk would, if
        the folder was removed.
        """
        found = files_of(self.folder)
        if not is_named(self.folder, self._descriptor):  # possibly while its files were listed
            raise OSError(errno.ESTALE, "the folder was removed in the midst of a trial", str(self.folder))
        return found

    @contextmanager
    def removal_as_lost_disk(self) -> Iterator[None]:
        """If the block raises an error and the folder was removed, raise the OSError of ``files`` instead."""
        try:
            yield
        except Exception:
            self.files()
            raise


def trouble() -> str | None:
    """Return the reason, in one line, why this machine cannot have a folder for a study's files; None if it can."""
    try:
        folder = user_folder()
    except UserError as error:
        return str(error)
    found = unwritable(folder)
    _remove_empty(folder)
    return found


def stay(word: str) -> None:
    """Hold the temporary folder of a study until ``leave``. So fetched files remain for the next trial of this process.
    ``word``: the word of the study's mark.
    """
    if word in _staying and not _staying[word].is_there():
        _staying.pop(word).close()
    if word not in _staying:
        _staying[word] = Scratch(word)


def leave() -> None:
    """Release all folders that ``stay`` holds for this process, and remove folders that no other process holds."""
    while _staying:
        _, scratch = _staying.popitem()
        scratch.leave()


def swept(word: str) -> bool:
    """Remove the temporary folder of the ended study whose mark has the word ``word``, and folders of killed processes.
    Return False if a process still holds the study's folder after ``PATIENCE`` seconds.
    """
    leave()
    lock, until = user_folder() / f"{word}{LOCK}", time.monotonic() + PATIENCE
    while not (gone := _removed(lock)) and time.monotonic() < until:
        time.sleep(0.05)
    remove_leftovers(lock.parent)
    _remove_empty(lock.parent)
    return gone


def is_used(word: str) -> bool:
    """Whether this machine has a temporary folder of the study whose mark has the word ``word``."""
    return (user_folder() / word).is_dir()


def remove_leftovers(root: Path) -> None:
    """Remove temporary folders in ``root`` that no process holds, because their processes were killed."""
    for lock in root.glob(f"*{LOCK}"):
        _removed(lock)


def user_folder() -> Path:
    """Return the folder of this user's temporary folders, created if it does not exist. Raises UserError if it cannot
    be created, or if other users own it or can write into it.

    Permissions of others to read it are removed: if a clean-up of temporary files deletes the folder while a process
    writes there, that process may create it again with such permissions.
    """
    try:
        folder = Path(tempfile.gettempdir()) / f"{PREFIX}{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        raise UserError(f"no folder for temporary files can be written there ({one_line(error)})") from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise UserError(f"{folder}: is not this user's alone (allowed: to remove it, or another TMPDIR)")
    if found.st_mode & 0o077:
        folder.chmod(0o700)
    return folder


def _removed(lock: Path) -> bool:
    """Remove the folder that belongs to a lock file, and the lock file. Return False if a process holds the lock."""
    if not lock.exists():
        return True
    try:
        descriptor = locked(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    try:
        _remove(lock)
    finally:
        os.close(descriptor)
    return True


def _remove(lock: Path) -> None:
    shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
    lock.unlink(missing_ok=True)
    _remove_empty(lock.parent)


def _remove_empty(root: Path) -> None:
    with suppress(OSError):
        root.rmdir()


def files_of(folder: Path) -> dict[str, Version]:
    """The versions of the files that a trial has written in ``folder``, by name."""
    return {name: version for name, version in versions(folder).items() if name != ATTEMPT}
