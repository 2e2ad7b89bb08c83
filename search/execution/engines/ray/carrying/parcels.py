"""A folder's files on their way to another machine: what changed since they were last sent, cut into pieces."""

import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from pickle import PickleBuffer
from typing import Any, Final

from skipstack.search.study.record.folder import CHECKPOINT

PIECE: Final = 32 * 2**20
"""Bytes that travel at once, at most."""

Version = tuple[int, int, int]
"""A file's size, time of change in nanoseconds, and inode: files that are replaced have another one."""

Read = Callable[[str, int], bytes]
"""Reads at most ``PIECE`` bytes of the file of this name, from this place on."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a file. ``name``: of the file, with slashes, from its folder on; ``start``: where in the file it
    begins; ``ends``: whether it is the last.
    """

    name: str
    start: int
    content: bytes
    ends: bool

    def __reduce__(self) -> tuple[Any, ...]:
        """Ray sends the content beside the pickled rest; where it arrives, it is a view of the bytes that Ray holds."""
        return Piece, (self.name, self.start, PickleBuffer(self.content), self.ends)


@dataclass(frozen=True, slots=True)
class Parcel:
    """Pieces that travel at once. A ``sending``, which is called by a word of its own, is one parcel or several; with
    its ``last`` one the files disappear that were ``removed`` since the sending before.
    """

    sending: str
    pieces: tuple[Piece, ...]
    last: bool
    removed: tuple[str, ...] = ()

    @property
    def bytes(self) -> int:
        """Bytes of the files' content."""
        return sum(len(piece.content) for piece in self.pieces)


def versions(folder: Path) -> dict[str, Version]:
    """All files below ``folder``, the oldest first, and checkpoints after all others.

    So what a file speaks of arrives before it: the best weights before the checkpoint, and whatever a function writes
    before the file that names it. A link counts as the file that it leads to, unless that lies elsewhere.
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
            except FileNotFoundError:  # it was replaced or removed meanwhile
                continue
            version = status.st_size, status.st_mtime_ns, status.st_ino
            found.append((path.relative_to(folder).as_posix(), version))
    return dict(sorted(found, key=lambda each: (each[0].endswith(CHECKPOINT), each[1][1], each[0])))


def changed(before: Mapping[str, Version], now: Mapping[str, Version]) -> tuple[list[str], list[str]]:
    """The files that are new or others ``now``, in their order, and those that are there no more."""
    return [name for name in now if before.get(name) != now[name]], [name for name in before if name not in now]


def parcels(folder: Path, names: Iterable[str], removed: Sequence[str] = ()) -> Iterator[Parcel]:
    """A sending of the files of these names, of which one that is there no more is left out; always one parcel."""
    sending, waiting = secrets.token_hex(4), list[Piece]()
    for name in names:
        for piece in _pieces(folder, name):
            if waiting and sum(len(each.content) for each in waiting) + len(piece.content) > PIECE:
                yield Parcel(sending, tuple(waiting), last=False)
                waiting = []
            waiting.append(piece)
    yield Parcel(sending, tuple(waiting), last=True, removed=tuple(removed))


def unpacked(sizes: Mapping[str, int], read: Read, folder: Path) -> int:
    """Write files of these sizes, as ``read`` gives them, below ``folder``; returns their bytes."""
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
