"""Files and folders that are whole or absent: filled under a temporary name beside their own, then renamed.

A process that is killed in between leaves the old file as it was, and the temporary one, ``.NAME.RANDOM``.
"""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from skipstack.data.basis.errors import UserError


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
    except BaseException as error:
        with suppress(OSError):  # it says less than the error before it
            temporary.unlink()
        if isinstance(error, OSError) and error.filename in (None, str(temporary)):
            error.filename, error.filename2 = str(path), None
        raise
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
    """A new folder beside ``path``, so on the same disk, with all parents; at the end it is removed, if still there,
    and so are parents that were made for it and hold nothing.
    """
    temporary = _temporary(path)
    made = [parent for parent in path.parents if not parent.exists()]
    try:
        temporary.mkdir(parents=True)
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        for parent in made:
            with suppress(OSError):
                parent.rmdir()


@contextmanager
def refused_where_unwritable(path: Path) -> Iterator[None]:
    """Raises UserError where ``path`` cannot be written within the context; errors of other paths are not changed."""
    try:
        yield
    except OSError as error:
        named = [Path(os.fsdecode(each)) for each in (error.filename, error.filename2) if isinstance(each, str | bytes)]
        if not any(_concerns(each, path) for each in named):
            raise
        raise UserError(
            f"{path}: cannot be written: {error.strerror} (allowed: a new name in a folder that can be written)"
        ) from error


def _concerns(named: Path, path: Path) -> bool:
    """Whether a path is ``path``, above it, below it, or the temporary one beside it."""
    beside = str(path.with_name(_beginning(path))) if path.name else str(path)
    return named.is_relative_to(path) or path.is_relative_to(named) or str(named).startswith(beside)


def fsync_path(path: Path | str) -> None:
    """Bring a file, or the names in a folder, to the disk, so that they survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _temporary(path: Path) -> Path:
    """A name that no other writer has, nor anybody can guess."""
    return path.with_name(_beginning(path) + secrets.token_hex(8))


def _beginning(path: Path) -> str:
    """The beginning of the names of temporary files beside ``path``; cut, since a name may have 255 bytes at most."""
    return f".{os.fsencode(path.name)[:100].decode(errors='ignore')}."
