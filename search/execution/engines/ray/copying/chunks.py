"""Packs the files of a folder that have changed since the last transfer into chunks, to send them to another machine.

A sending is the transfer of a set of files in one or more chunks, one call each. A chunk consists of pieces; a piece is
a range of bytes of one file.
"""

import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from pickle import PickleBuffer
from typing import Any, Final

from skipstack.search.study.record.folder import CHECKPOINT

PIECE: Final = 32 * 2**20
"""Largest number of bytes of a piece, and of all pieces of a chunk together."""

Version = tuple[int, int, int]
"""A file's size in bytes, modification time in nanoseconds, and inode. A replaced file has a new inode."""

Read = Callable[[str, int], bytes]
"""A function that reads at most ``PIECE`` bytes of a file, given the file's name and the first byte's position."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A range of bytes of a file. ``name``: the file's path below the folder that is sent, with slashes. ``start``: the
    position of the first byte in the file. ``ends``: whether this is the last piece of the file.
    """

    name: str
    start: int
    content: bytes
    ends: bool

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the content as a buffer, which Ray sends without copying."""
        return Piece, (self.name, self.start, PickleBuffer(self.content), self.ends)


@dataclass(frozen=True, slots=True)
class Chunk:
    """Pieces that are sent in one call. ``sending``: a random id of the sending. ``last``: whether this is the
    sending's last chunk. ``removed``: in the last chunk, the names of files that were removed since the previous
    sending, and that the receiver is to delete.
    """

    sending: str
    pieces: tuple[Piece, ...]
    last: bool
    removed: tuple[str, ...] = ()

    @property
    def bytes(self) -> int:
        """Size of the pieces in bytes."""
        return sum(len(piece.content) for piece in self.pieces)


def versions(folder: Path) -> dict[str, Version]:
    """Return the version of each file below ``folder``, by name. The oldest file comes first, checkpoints come last. In
    this order, a file arrives after the files to which it refers, as a checkpoint refers to the best weights. A link
    counts as the file to which it leads, and is left out if that is outside ``folder``.
    """
    found: list[tuple[str, Version]] = []
    whole = folder.resolve()
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place, name)
            try:
                if path.is_symlink() and not path.resolve().is_relative_to(whole):
                    continue
                if not path.is_file():
                    continue
                status = path.stat()
            except FileNotFoundError:  # the file was replaced or removed just now
                continue
            version = status.st_size, status.st_mtime_ns, status.st_ino
            found.append((path.relative_to(folder).as_posix(), version))
    return dict(sorted(found, key=lambda each: (each[0].endswith(CHECKPOINT), each[1][1], each[0])))


def changed(before: Mapping[str, Version], now: Mapping[str, Version]) -> tuple[list[str], list[str]]:
    """Return the names of files that are new or changed in ``now``, and the names of files that are gone."""
    return [name for name in now if before.get(name) != now[name]], [name for name in before if name not in now]


def chunks(folder: Path, names: Iterable[str], removed: Sequence[str] = ()) -> Iterator[Chunk]:
    """Pack the files with these names below ``folder`` into one or more chunks of one sending. Files that no longer
    exist are left out. ``removed``: names of files that the receiver is to delete.
    """
    sending, waiting = secrets.token_hex(4), list[Piece]()
    for name in names:
        for piece in _pieces(folder, name):
            if waiting and sum(len(each.content) for each in waiting) + len(piece.content) > PIECE:
                yield Chunk(sending, tuple(waiting), last=False)
                waiting = []
            waiting.append(piece)
    yield Chunk(sending, tuple(waiting), last=True, removed=tuple(removed))


def unpacked(sizes: Mapping[str, int], read: Read, folder: Path) -> int:
    """Fetch files with ``read`` into ``folder``, and return their total bytes. ``sizes``: bytes by file name."""
    for name, size in sizes.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            while file.tell() < size and (content := read(name, file.tell())):
                file.write(content)
    return sum(sizes.values())


def _pieces(folder: Path, name: str) -> Iterator[Piece]:
    try:
        file = (folder / name).open("rb")
    except FileNotFoundError:
        return
    with file:
        ends = False
        while not ends:
            start, content = file.tell(), file.read(PIECE)
            ends = len(content) < PIECE
            yield Piece(name, start, content, ends)
