"""What must be on the disk before anybody acts on it."""

import errno
import os
from pathlib import Path
from typing import Final

FULL_DISK: Final = (errno.ENOSPC, errno.EDQUOT)
"""What no second try mends."""


def settle(path: Path | str) -> None:
    """Bring a file, or a folder's own entries, to the disk, so that they are still there after a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
