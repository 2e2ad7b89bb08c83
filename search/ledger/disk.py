"""What must be on the disk before anybody acts on it."""

import os
from pathlib import Path


def settle(path: Path | str) -> None:
    """Bring a file, or a folder's own entries, to the disk, so that they are still there after a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
