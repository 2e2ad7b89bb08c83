"""Writes files and folders atomically. Each is filled under a temporary name in the same folder, then renamed.

If the process is killed before the renaming, the old file is unchanged and the temporary file ``.NAME.RANDOM`` stays.
"""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from skipstack.data.basis.errors import UserError


def write_atomically(path: Path, content: bytes, *, fsync: bool = False) -> None:
    """Write ``content`` to ``path`` through ``atomic_file``, replacing an existing file."""
    with atomic_file(path, fsync=fsync) as temporary:
        temporary.write_bytes(content)


@contextmanager
def atomic_file(path: Path, *, fsync: bool = False) -> Iterator[Path]:
    """Yield a temporary path to write a file to. When the context ends, that file replaces ``path``.

    ``fsync``: whether the new file must survive a power cut. Its content is then flushed to disk, and so is the
    renaming. If writing or renaming fails, ``path`` is unchanged and the temporary file is deleted. An OSError names
    ``path``.
    """
    temporary = _temporary(path)
    try:
        yield temporary
        if fsync:
            fsync_path(temporary)
        os.replace(temporary, path)
    except BaseException as error:
        with suppress(OSError):  # an error of the deletion would hide the first error
            temporary.unlink()
        if isinstance(error, OSError) and error.filename in (None, str(temporary)):
            error.filename, error.filename2 = str(path), None
        raise
    if fsync:
        fsync_path(path.parent)


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Yield a folder that becomes ``path`` unless an error occurs. Raises OSError if ``path`` exists with content."""
    with temporary_folder_beside(path) as temporary:
        yield temporary
        os.replace(temporary, path)


@contextmanager
def temporary_folder_beside(path: Path) -> Iterator[Path]:
    """Yield a new folder beside ``path``. At the end, delete it and the empty parents created for it."""
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
    """Context that turns an OSError about ``path`` into a UserError which says that ``path`` cannot be written.

    An OSError about a parent of ``path``, about a path inside ``path``, or about the temporary file of ``path`` is
    converted too. Any other OSError is raised as it is.
    """
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
    """Whether ``named`` is ``path``, a parent of it, a path inside it, or the temporary file of ``path``."""
    beside = str(path.with_name(_beginning(path))) if path.name else str(path)
    return named.is_relative_to(path) or path.is_relative_to(named) or str(named).startswith(beside)


def fsync_path(path: Path | str) -> None:
    """Flush a file to disk, so that it survives a power cut. If ``path`` is a folder, its list of names is flushed."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _temporary(path: Path) -> Path:
    """A temporary path beside ``path``. No other writer uses its random name, and nobody can guess it."""
    return path.with_name(_beginning(path) + secrets.token_hex(8))


def _beginning(path: Path) -> str:
    """The prefix of temporary names for ``path``: its name, cut to 100 bytes since file names have at most 255."""
    return f".{os.fsencode(path.name)[:100].decode(errors='ignore')}."
