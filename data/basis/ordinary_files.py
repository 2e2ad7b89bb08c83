"""Reads files whose paths come from users; refuses devices, which may be endless, and pipes, which may block."""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO


def opened(path: Path) -> BinaryIO:
    """The file, opened to read its bytes. Raises OSError where it cannot be, also for devices, pipes and sockets."""
    file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115 (the caller closes it)
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is no ordinary file", str(path))
    return file


def content(path: Path) -> bytes:
    """The bytes of the file. Raises OSError as ``opened`` does."""
    with opened(path) as file:
        return file.read()


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)  # a pipe would wait for a writer
