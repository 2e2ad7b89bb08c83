"""Copies of files and folders that a user's function gives, each in a folder of its own and seen only when it is whole.

There ``content/`` has what was given, and ``whole.json``, which is written last, says how large each file is. One whose
files are not all there in their sizes is not seen: writing was cut off, or files are still on their way from another
machine.
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
"""A pattern of the names of copies."""

BYTES: Final = "checkpoint"
"""The name of the file that holds what was given as bytes."""


Copy = TypeVar("Copy")


def folder_of(parent: Path, epoch: int, attempt: int, number: int) -> Path:
    """The folder of an attempt's copy of this number; in the order of names, copies are in that of their epochs."""
    return parent / f"{epoch:08d}-{attempt:04d}-{number:06d}"


def copied(given: Path | bytes, folder: Path) -> tuple[str, dict[str, int]]:
    """Write what was given into ``folder``, on the disk when this returns; its name there, and its files' sizes."""
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
    """Copy a file, or a folder with all that is in it, without owners, rights and times."""
    if given.is_dir():
        shutil.copytree(given, to, copy_function=shutil.copyfile)
    else:
        shutil.copyfile(given, to)


def declare_whole(folder: Path, notes: Mapping[str, Any]) -> None:
    """Make a copy seen, with its notes, of which ``files`` are the sizes."""
    write_atomically(folder / WHOLE, json.dumps(notes).encode(), fsync=True)


def whole_in(parent: Path, kind: Callable[..., Copy]) -> list[Copy]:
    """The whole copies there, in the order of their names, each as ``kind(folder, **notes)``; those whose notes are
    none of that kind are not seen either.
    """
    found = []
    for folder in sorted(parent.glob(NAMES)):
        if (notes := _notes_of(folder)) is not None:
            with suppress(TypeError):
                found.append(kind(folder, **notes))
    return found


def keep_only(parent: Path, kept: Iterable[Path]) -> None:
    """Remove all copies there, whole or not, but those in the folders ``kept``."""
    names = {folder.name for folder in kept}
    for folder in parent.glob(NAMES):
        if folder.name not in names:
            remove(folder)


def _notes_of(folder: Path) -> dict[str, Any] | None:
    """The notes of the copy in a folder; None unless it is whole."""
    try:
        notes: dict[str, Any] = json.loads((folder / WHOLE).read_bytes())
        there = {name: (folder / CONTENT / name).stat().st_size for name in notes["files"]}
    except (FileNotFoundError, NotADirectoryError, ValueError, TypeError, KeyError):
        return None
    return notes if there == notes["files"] else None


def remove(folder: Path) -> None:
    """Remove a copy, which is not seen while it goes."""
    (folder / WHOLE).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
