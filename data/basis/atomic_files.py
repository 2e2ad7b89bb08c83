"""Files and folders that are whole or absent: filled under a temporary name beside their own, then renamed.

A process that is killed in between leaves the old file as it was, and the temporary one, ``.NAME.RANDOM``.
"""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def write_atomically(path: Path, content: bytes, *, fsync: bool = False) -> None:
    """Write a file, or replace it, as ``atomic_file`` does."""
    with atomic_file(path, fsync=fsync) as temporary:
        temporary.write_bytes(content)


@contextmanager
def atomic_file(path: Path, *, fsync: bool = False) -> Iterator[Path]:
    """A path beside ``path`` to write a file to, which then replaces ``path``.

    ``fsync``: the file is on the disk before it is renamed, and its name when this returns, so that both survive a
    power cut. Raises OSError, which names ``path``, where the disk refuses. On any error ``path`` is as it was, and
    nothing is left beside it.
    """
    temporary = _temporary(path)
    try:
        yield temporary
        if fsync:
            fsync_path(temporary)
        os.replace(temporary, path)
    except OSError as error:
        if error.filename in (None, str(temporary)):
            error.filename, error.filename2 = str(path), None
        raise
    finally:
        temporary.unlink(missing_ok=True)
    if fsync:
        fsync_path(path.parent)


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """A new folder to fill, which then takes the name ``path``; on any error nothing of it is left.

    Raises OSError where ``path`` is anything but an empty folder.
    """
    with temporary_folder_beside(path) as temporary:
        yield temporary
        os.replace(temporary, path)


@contextmanager
def temporary_folder_beside(path: Path) -> Iterator[Path]:
    """A new folder beside ``path``, so on the same disk, with all parents; at the end it is removed, if still there."""
    temporary = _temporary(path)
    temporary.mkdir(parents=True)
    try:
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def fsync_path(path: Path | str) -> None:
    """Bring a file, or the names in a folder, to the disk, so that they survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _temporary(path: Path) -> Path:
    """A name that no other writer has, nor anybody can guess; cut, since a name may have 255 bytes at most."""
    return path.with_name(f".{path.name[:100]}.{secrets.token_hex(8)}")
