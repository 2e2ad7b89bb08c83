"""Packs the files of a folder that changed since they were last sent into pieces, for another machine."""

import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from pickle import PickleBuffer
from typing import Any, Final

from skipstack.search.study.record.folder import CHECKPOINT

PIECE: Final = 32 * 2**20
"""Largest number of bytes that are sent at once."""

Version = tuple[int, int, int]
"""A file's size, time of change in nanoseconds, and inode: a file that is replaced gets another inode."""

Read = Callable[[str, int], bytes]
"""Reads at most ``PIECE`` bytes of the file of this name, from this position on."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a file. ``name``: the file's path below its folder, with slashes; ``start``: its position in the file;
    ``ends``: whether it is the last.
    """

    name: str
    start: int
    content: bytes
    ends: bool

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the content as a buffer: Ray sends it beside the rest, and the receiver gets a view of Ray's bytes."""
        return Piece, (self.name, self.start, PickleBuffer(self.content), self.ends)


@dataclass(frozen=True, slots=True)
class Chunk:
    """Pieces that are sent at once. A ``sending``, named by a random word, consists of one or more chunks; with its
    ``last`` one, the receiver deletes the files that were ``removed`` since the sending before.
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
    """The versions of all files below ``folder``, the oldest first, and checkpoints after all others.

    So a file arrives after those that it refers to: the checkpoint after the best weights, and a file that a function
    writes after the files that it names. A link counts as the file that it leads to, unless that lies elsewhere.
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
    """Names of the files that are new or different ``now``, in their order, and of those that are gone."""
    return [name for name in now if before.get(name) != now[name]], [name for name in before if name not in now]


def chunks(folder: Path, names: Iterable[str], removed: Sequence[str] = ()) -> Iterator[Chunk]:
    """Pack the files of these names into a sending, which has at least one chunk; files that are gone are left out."""
    sending, waiting = secrets.token_hex(4), list[Piece]()
    for name in names:
        for piece in _pieces(folder, name):
            if waiting and sum(len(each.content) for each in waiting) + len(piece.content) > PIECE:
                yield Chunk(sending, tuple(waiting), last=False)
                waiting = []
            waiting.append(piece)
    yield Chunk(sending, tuple(waiting), last=True, removed=tuple(removed))


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
