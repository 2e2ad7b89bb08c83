"""Stores copies of the files and folders that a user's function passes; only complete copies are found.

Each copy has its own folder. Its ``content/`` holds the copied file or folder. Its ``whole.json``, which is written
last, holds the size of each file. A copy is ignored if a file is missing or has another size. Its writer was then
interrupted, or its files are still being transferred from another machine.
"""

import json
import shutil
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeVar

from skipstack.data.basis.atomic_files import fsync_path, write_atomically

WHOLE: Final = "whole.json"
CONTENT: Final = "content"

NAMES: Final = "*-*-*"
"""A pattern of the names of the copies' folders."""

BYTES: Final = "checkpoint"
"""The name of the file that holds content which was passed as bytes."""


Copy = TypeVar("Copy")


def folder_of(parent: Path, epoch: int, attempt: int, number: int) -> Path:
    """Return the folder in ``parent`` for a copy. Its name gives the epoch, the attempt, and the number of the copy in
    that attempt, so names sort by epoch.
    """
    return parent / f"{epoch:08d}-{attempt:04d}-{number:06d}"


def copied(given: Path | bytes, folder: Path) -> tuple[str, dict[str, int]]:
    """Copy ``given``, which is the path of a file or a folder or the bytes of a file, into ``folder``. Returns the name
    of the copy in ``content/``, and the sizes of the copied files in bytes. The copy is on the disk when this returns.
    """
    name = BYTES if isinstance(given, bytes) else given.resolve().name
    to = folder / CONTENT / name
    to.parent.mkdir(parents=True)
    if isinstance(given, bytes):
        to.write_bytes(given)
    else:
        copy_contents(given, to)
    files = [to] if to.is_file() else [each for each in sorted(to.rglob("*")) if each.is_file()]
    for each in files:
        fsync_path(each)
    return name, {each.relative_to(to.parent).as_posix(): each.stat().st_size for each in files}


def copy_contents(given: Path, to: Path) -> None:
    """Copy a file, or a folder with all its contents, without owners, permissions and times."""
    if given.is_dir():
        shutil.copytree(given, to, copy_function=shutil.copyfile)
    else:
        shutil.copyfile(given, to)


def declare_whole(folder: Path, notes: Mapping[str, Any]) -> None:
    """Mark the copy in ``folder`` as complete, so that it is found. ``notes``: any data to store with the copy; the
    entry ``files`` holds the sizes of its files.
    """
    write_atomically(folder / WHOLE, json.dumps(notes).encode(), fsync=True)


def whole_in(parent: Path, kind: Callable[..., Copy]) -> list[Copy]:
    """Return the complete copies in the folder ``parent``, in the order of their names. Each is created by calling
    ``kind`` with its folder and its notes. Copies whose notes do not fit ``kind`` are left out.
    """
    found = []
    for folder in sorted(parent.glob(NAMES)):
        if (notes := _notes_of(folder)) is not None:
            with suppress(TypeError):
                found.append(kind(folder, **notes))
    return found


def keep_only(parent: Path, kept: Iterable[Path]) -> None:
    """Remove all copies in the folder ``parent``, complete or not, except those in the folders ``kept``."""
    names = {folder.name for folder in kept}
    for folder in parent.glob(NAMES):
        if folder.name not in names:
            remove(folder)


def _notes_of(folder: Path) -> dict[str, Any] | None:
    """Return the notes of the copy in a folder; None if the copy is not complete."""
    try:
        notes: dict[str, Any] = json.loads((folder / WHOLE).read_bytes())
        there = {name: (folder / CONTENT / name).stat().st_size for name in notes["files"]}
    except (FileNotFoundError, NotADirectoryError, ValueError, TypeError, KeyError):
        return None
    return notes if there == notes["files"] else None


def remove(folder: Path) -> None:
    """Remove a copy. It is marked as incomplete first, so that it is not found while its files are deleted."""
    (folder / WHOLE).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
