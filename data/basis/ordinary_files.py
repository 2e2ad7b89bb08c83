"""Reads files whose paths come from users. Refuses devices, which may be endless, and pipes, which may block."""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO


def opened(path: Path) -> BinaryIO:
    """Open a file to read its bytes. Raises OSError if this fails, and for a device, a pipe or a socket."""
    file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115 (the caller closes it)
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is no ordinary file", str(path))
    return file


def content(path: Path) -> bytes:
    """Read the bytes of a file. Raises OSError as ``opened`` does."""
    with opened(path) as file:
        return file.read()


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)  # otherwise opening a pipe would wait for a writer
