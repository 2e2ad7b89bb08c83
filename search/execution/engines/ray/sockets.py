"""The session folder of a Ray cluster that we start.

Its path must be short: the kernel limits the paths of the sockets in it.
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
"""Longest path of a socket in bytes, by the kernels of macOS and Linux."""

SESSION: Final = "/ray/session_2026-01-01_00-00-00_000000_4194304/sockets/plasma_store"
"""Path that Ray adds to its folder, with the start time and the process of the session."""

PREFIX: Final = "skipstack-"
"""Beginning of the folder's name; eight letters follow."""

LONGEST: Final = LONGEST_SOCKET - len(SESSION) - len("/") - len(PREFIX) - 8
"""Longest path in bytes of the folder in which the session folder is made."""

SHORT: Final = ("/tmp", "/var/tmp", "/dev/shm")
"""Alternatives if the path of the temporary folder is too long, as in many batch jobs, or cannot be written."""

PLACE: Final = "RAY_TMPDIR"
"""The environment variable with Ray's folder."""

REMOVING: Final = 10.0
"""Seconds for which the removal is repeated: a process of Ray's that ends may still write into the folder."""


@contextmanager
def session_folder() -> Iterator[Path]:
    """A new folder, which is removed at the end with all its content; the user's own sessions lie elsewhere.

    Raises UserError if no location for it will do.
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
    """Let Ray put the session of a cluster that it starts in the block into a folder of its own."""
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
