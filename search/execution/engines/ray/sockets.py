"""The folder of the session of a Ray cluster that we start.

Paths of the sockets in that folder may not be long.
"""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from skipstack.data.basis.errors import UserError

LONGEST_SOCKET: Final = 103 if sys.platform == "darwin" else 107
"""Bytes of a socket's path, by the kernels of macOS and Linux."""

SESSION: Final = "/ray/session_2026-01-01_00-00-00_000000_4194304/sockets/plasma_store"
"""What Ray adds to its folder: when the session began, and in which process."""

PREFIX: Final = "skipstack-"
"""Of the folder's name; eight letters follow."""

LONGEST: Final = LONGEST_SOCKET - len(SESSION) - len("/") - len(PREFIX) - 8
"""Bytes of the path of the place in which the folder is made."""

SHORT: Final = ("/tmp", "/var/tmp", "/dev/shm")
"""Where it is made if the place for temporary files has too long a name, as in many a job, or cannot be written."""

PLACE: Final = "RAY_TMPDIR"
"""The variable that says where Ray's folder is."""

REMOVING: Final = 10.0
"""Seconds within which the folder is removed: until then, a process of Ray's that ends may still write there."""


@contextmanager
def session_folder() -> Iterator[Path]:
    """A new folder, which goes at the end with all in it; sessions of the user's own lie elsewhere.

    Raises UserError where no place for it will do.
    """
    folder = _new_folder()
    try:
        yield folder
    finally:
        until = time.monotonic() + REMOVING
        shutil.rmtree(folder, ignore_errors=True)
        while folder.exists() and time.monotonic() < until:
            time.sleep(0.05)
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def in_session_folder() -> Iterator[None]:
    """Within, Ray puts the session of a cluster that it starts into a folder of its own."""
    before = os.environ.get(PLACE)
    with session_folder() as folder:
        os.environ[PLACE] = str(folder)
        try:
            yield
        finally:
            os.environ.pop(PLACE)
            if before is not None:
                os.environ[PLACE] = before


def _new_folder() -> Path:
    chosen = os.environ.get(PLACE) or os.environ.get("TMPDIR") or "/tmp"
    for place in (chosen, *SHORT):
        if len(os.fsencode(place)) <= LONGEST:
            try:
                if place == chosen:
                    Path(place).mkdir(parents=True, exist_ok=True)  # as Ray does
                return Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
            except OSError:
                continue
    raise UserError(
        f"TMPDIR: got {chosen}, where Ray can keep no sockets, nor in {', '.join(SHORT)} "
        f"(allowed: a folder that can be written, of at most {LONGEST} bytes; or --engine serial)"
    )
