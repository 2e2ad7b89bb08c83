"""The session folder of a Ray cluster that is started here. Its path must be short, since it holds sockets, and the
kernel limits the length of a socket's path.
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
"""Longest path of a socket in bytes, on macOS or Linux."""

SESSION: Final = "/ray/session_2026-01-01_00-00-00_000000_4194304/sockets/plasma_store"
"""Example of the longest path that Ray appends to its folder, with the session's start time and process id."""

PREFIX: Final = "skipstack-"
"""Prefix of the folder's name, to which ``tempfile`` appends eight characters."""

LONGEST: Final = LONGEST_SOCKET - len(SESSION) - len("/") - len(PREFIX) - 8
"""Longest path in bytes of the parent of the session folder."""

SHORT: Final = ("/tmp", "/var/tmp", "/dev/shm")
"""Folders to use if the path of the temporary folder is too long, as in many batch jobs, or cannot be written."""

PLACE: Final = "RAY_TMPDIR"
"""Environment variable with the folder of Ray's sessions."""

REMOVING: Final = 10.0
"""Seconds for which the removal of the folder is retried, since an ending Ray process may still write into it."""


@contextmanager
def session_folder() -> Iterator[Path]:
    """Create a folder for a session, and remove it with all its content after the block. The user's own sessions are
    not in it. Raises UserError if no parent folder has a short enough path and can be written.
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
