"""A study's temporary folder on a machine that does not see the study's own; the last process that uses it removes it.

All lie in one folder of the user, named by the study's mark, with a lock file beside each. Processes that use a folder
share its lock, which the kernel releases however a process ends. A process that gets it alone may remove the folder.
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
from skipstack.search.execution.engines.ray.copying.chunks import Version, versions
from skipstack.search.execution.engines.ray.copying.mark import unwritable
from skipstack.search.execution.workers.attempts import ATTEMPT
from skipstack.search.study.record.folder import TRIALS

PREFIX: Final = "skipstack-copied-"
"""Beginning of the name of the user's folder among temporary files."""

LOCK: Final = ".lock"

TRIAL: Final = re.compile(r"(\d+)-(\d+)-")
"""Beginning of the name of a trial's folder: its number and its attempt."""

PATIENCE: Final = 10.0
"""Seconds to wait until processes that end have released a folder."""

_staying: "dict[str, Scratch]" = {}


class Scratch:
    """The folder of the study with the mark ``word``, held until it is released. Leftovers of others are removed."""

    def __init__(self, word: str) -> None:
        root = user_folder()
        self._lock = root / f"{word}{LOCK}"
        self._descriptor = _locked(self._lock, fcntl.LOCK_SH)
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
        """The folder of a prepared corpus or of vectors, which one process of this machine fetches."""
        path = self.folder / "corpora" / name
        if not path.is_dir():
            fetching = _locked(path.with_name(f"{name}{LOCK}"), fcntl.LOCK_EX)
            try:
                if not path.is_dir():
                    with atomic_folder(path) as beside:
                        fetch(beside)
            finally:
                os.close(fetching)
        return path

    def trial(self, number: int, attempt: int) -> Path:
        """A new folder for the files that an attempt at a trial writes."""
        return Path(tempfile.mkdtemp(prefix=f"{number:06d}-{attempt}-", dir=self.folder / TRIALS))

    def reading(self) -> Path:
        """A new folder for a task that leaves no files."""
        return Path(tempfile.mkdtemp(prefix="reading-", dir=self.folder / TRIALS))

    def trials(self) -> Iterator[tuple[int, int, Path]]:
        """The number, the attempt and the folder of all trials that train here."""
        for folder in sorted((self.folder / TRIALS).iterdir()):
            if (named := TRIAL.match(folder.name)) is not None:
                yield int(named[1]), int(named[2]), folder

    def close(self) -> None:
        """Release the folder."""
        os.close(self._descriptor)

    def leave(self) -> None:
        """Release the folder, and remove it if nobody else holds it."""
        with suppress(BlockingIOError):
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if self.is_there():
                _remove(self._lock)
        self.close()

    def is_there(self) -> bool:
        """Whether the folder is still the one that is held: others may have removed it, and made it anew."""
        return is_named(self._lock, self._descriptor)


class TrialScratch:
    """The ``folder`` of a trial there, removed after the ``with`` block. An earlier removal by others does not count as
    the trial's.
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
        """The files that the trial has left there. Raises OSError, as for a failing disk, if the folder was removed."""
        found = files_of(self.folder)
        if not is_named(self.folder, self._descriptor):  # maybe while its files were looked at
            raise OSError(errno.ESTALE, "the folder was removed in the midst of a trial", str(self.folder))
        return found

    @contextmanager
    def removal_as_lost_disk(self) -> Iterator[None]:
        """Raise the OSError of ``files`` in place of any other error in the block that the folder's removal caused."""
        try:
            yield
        except Exception:
            self.files()
            raise


def trouble() -> str | None:
    """The reason in one line if this machine has no folder for a study's files; None if it has one."""
    try:
        folder = user_folder()
    except UserError as error:
        return str(error)
    found = unwritable(folder)
    _remove_empty(folder)
    return found


def stay(word: str) -> None:
    """Hold the folder of a study until this process leaves: what is fetched stays for its next trial."""
    if word in _staying and not _staying[word].is_there():
        _staying.pop(word).close()
    if word not in _staying:
        _staying[word] = Scratch(word)


def leave() -> None:
    """Release all folders that this process stays in."""
    while _staying:
        _, scratch = _staying.popitem()
        scratch.leave()


def swept(word: str) -> bool:
    """Remove the folder of a study that has ended, once nobody holds it, and those that killed processes left, maybe of
    the same study under an earlier driver; False if somebody still holds the study's folder.
    """
    leave()
    lock, until = user_folder() / f"{word}{LOCK}", time.monotonic() + PATIENCE
    while not (gone := _removed(lock)) and time.monotonic() < until:
        time.sleep(0.05)
    remove_leftovers(lock.parent)
    _remove_empty(lock.parent)
    return gone


def is_used(word: str) -> bool:
    """Whether this machine has a folder of the study."""
    return (user_folder() / word).is_dir()


def remove_leftovers(root: Path) -> None:
    """Remove the folders in ``root`` that nobody holds, which killed processes left."""
    for lock in root.glob(f"*{LOCK}"):
        _removed(lock)


def user_folder() -> Path:
    """The folder of all studies of this user on this machine. Raises UserError if there can be none."""
    try:
        folder = Path(tempfile.gettempdir()) / f"{PREFIX}{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        raise UserError(f"no folder for temporary files can be written there ({one_line(error)})") from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise UserError(f"{folder}: is not this user's alone (allowed: to remove it, or another TMPDIR)")
    return folder


def _removed(lock: Path) -> bool:
    """Remove the folder of a lock, and the lock; False where somebody holds it."""
    if not lock.exists():
        return True
    try:
        descriptor = _locked(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
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


def _locked(lock: Path, how: int) -> int:
    """Lock the file of this name and return its descriptor. Whoever removes a folder removes this file, too.

    Raises BlockingIOError if ``how`` does not wait and somebody holds the lock.
    """
    while True:
        lock.parent.mkdir(mode=0o700, exist_ok=True)
        try:
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
        except FileNotFoundError:  # the folder was empty for a moment, and went
            continue
        try:
            fcntl.flock(descriptor, how)
            if is_named(lock, descriptor):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def is_named(path: Path, descriptor: int) -> bool:
    """Whether the open file is the one that now has this name."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def files_of(folder: Path) -> dict[str, Version]:
    """The files that a trial has left in its folder on this machine."""
    return {name: version for name, version in versions(folder).items() if name != ATTEMPT}
