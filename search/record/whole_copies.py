"""Copies of files and folders that a user's function gives, each in a folder of its own and seen only when it is whole.

There ``content/`` has what was given, and ``whole.json``, which is written last, says how large each file is. One whose
files are not all there in their sizes is not seen: writing was cut off, or files are still on their way from another
machine.
"""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from skipstack.data.basis.atomic_files import fsync_path, write_atomically

WHOLE: Final = "whole.json"
CONTENT: Final = "content"

BYTES: Final = "checkpoint"
"""The name of the file that holds what was given as bytes."""


def copied(given: Path | bytes, folder: Path) -> tuple[str, dict[str, int]]:
    """Write what was given into ``folder``, on the disk when this returns; its name there, and its files' sizes."""
    name = BYTES if isinstance(given, bytes) else given.resolve().name
    to = folder / CONTENT / name
    to.parent.mkdir(parents=True)
    if isinstance(given, bytes):
        to.write_bytes(given)
    elif given.is_dir():
        shutil.copytree(given, to, copy_function=shutil.copyfile)
    else:
        shutil.copyfile(given, to)
    files = [to] if to.is_file() else [each for each in sorted(to.rglob("*")) if each.is_file()]
    for each in files:
        fsync_path(each)
    return name, {each.relative_to(to.parent).as_posix(): each.stat().st_size for each in files}


def declare_whole(folder: Path, notes: Mapping[str, Any]) -> None:
    """Make a copy seen, with its notes, of which ``files`` are the sizes."""
    write_atomically(folder / WHOLE, json.dumps(notes).encode(), fsync=True)


def notes_of(folder: Path) -> dict[str, Any] | None:
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
