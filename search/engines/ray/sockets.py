"""A folder for the session of a Ray cluster that we start: its sockets may not have long names."""

import os
import sys
import tempfile
from pathlib import Path
from typing import Final

from skipstack.data.basis.errors import UserError

LONGEST_SOCKET: Final = 103 if sys.platform == "darwin" else 107
"""Bytes of a socket's path, by the kernels of macOS and Linux."""

SESSION: Final = "/session_2026-01-01_00-00-00_000000_4194304/sockets/plasma_store"
"""What Ray adds to its folder: when the session began, and in which process."""

LONGEST: Final = LONGEST_SOCKET - len(SESSION)
"""Bytes of the folder's own path."""

SHORT: Final = ("/tmp", "/var/tmp", "/dev/shm")
"""Where a folder is made if Ray's own has too long a name, as in the TMPDIR of many a job, or cannot be written."""


def session_folder() -> Path | None:
    """A new folder, which its user removes; None where Ray's own choice will do.

    Raises UserError where no folder does.
    """
    chosen = os.environ.get("RAY_TMPDIR") or os.environ.get("TMPDIR") or "/tmp"
    if _is_usable(Path(chosen, "ray")):
        return None
    for place in SHORT:
        try:
            return Path(tempfile.mkdtemp(prefix="skipstack-ray-", dir=place))
        except OSError:
            continue
    raise UserError(
        f"TMPDIR: got {chosen}, where Ray can keep no sockets, nor in {', '.join(SHORT)} "
        f"(allowed: a folder that can be written, of at most {LONGEST - len('/ray')} bytes; or --engine serial)"
    )


def _is_usable(folder: Path) -> bool:
    if len(os.fsencode(folder)) > LONGEST:
        return False
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK | os.X_OK)
