"""Locks of files, which the kernel releases however a process ends."""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

WITHOUT_LOCKS: Final = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)
"""The errors of a disk that has no locks, as some disks of clusters."""


def locked(lock: Path, how: int, mode: int = 0o600) -> int:
    """Lock the file ``lock``, created with ``mode`` if it does not exist, and return its descriptor. ``how``: flags of
    ``flock``. If the lock file was removed meanwhile, a new one is created and locked.
    Raises BlockingIOError if ``how`` says not to wait and another process holds the lock.
    """
    while True:
        lock.parent.mkdir(mode=0o700, exist_ok=True)
        try:
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, mode)
        except FileNotFoundError:  # another process removed the parent folder while it was empty
            continue
        try:
            fcntl.flock(descriptor, how)
            if is_named(lock, descriptor):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


@contextmanager
def alone(lock: Path) -> Iterator[None]:
    """Context that only one process at a time enters with the file ``lock``, which exists only meanwhile. On a disk
    without locks any process enters. A process that is killed leaves the file, which other users of the folder can
    lock if the umask lets them write.
    """
    descriptor = None
    try:
        descriptor = locked(lock, fcntl.LOCK_EX, 0o666)
    except OSError as error:
        if error.errno not in WITHOUT_LOCKS:
            raise
    try:
        yield
    finally:
        with suppress(OSError):
            lock.unlink()
        if descriptor is not None:
            os.close(descriptor)


def is_named(path: Path, descriptor: int) -> bool:
    """Whether ``path`` names the open file ``descriptor``, and not a newer file."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
