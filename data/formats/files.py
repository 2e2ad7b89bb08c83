"""Reads files. Each is read only once, so that the checked digest and the parsed lines come from the same bytes."""

import glob
import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from skipstack.data.basis.errors import UserError, undecodable, unreadable
from skipstack.data.basis.ordinary_files import content

PACKED: Final = {b"\x1f\x8b": "gzip", b"PK\x03\x04": "zip", b"BZh91AY&SY": "bzip2", b"\xfd7zXZ\x00": "xz"}
"""Programs that pack files, by the first bytes of a packed file."""

BYTE_ORDER_MARK: Final = "\ufeff"
"""A character that some editors write at the beginning of a text. It is no part of the text."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that was read: its bytes, and its path, which error messages name."""

    path: Path
    content: bytes
    beside: tuple["SourceFile", ...] = ()
    """Further files, of tags or spans, if the format has them (``data/formats/parallel.py``, ``brat.py``)."""

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read the whole file. Raises UserError if it cannot be read."""
        try:
            return cls(path, content(path))
        except OSError as error:
            raise unreadable(path, error) from error

    @property
    def sha256(self) -> str:
        """The SHA-256 of the bytes, as 64 hexadecimal digits."""
        return hashlib.sha256(self.content).hexdigest()

    def lines(self, encoding: str) -> Iterator[tuple[int, str]]:
        r"""Yield every line without its end, and its number, counted from 1.

        A line ends at ``\n`` or ``\r\n``, or at ``\r`` in a file without any ``\n``. It does not end at U+2028 or
        U+0085, which a word may contain. A byte order mark is skipped. Raises UserError as ``text`` does.
        """
        text = self.text(encoding)
        if "\n" not in text:
            text = text.replace("\r", "\n")
        for number, line in enumerate(text.removeprefix(BYTE_ORDER_MARK).split("\n"), start=1):
            yield number, line.removesuffix("\r")

    def text(self, encoding: str) -> str:
        """The whole text, with line ends and any byte order mark as they are.

        Raises UserError for an unknown encoding, for a packed file, and for bytes that are not text in the encoding.
        """
        packed = next((name for begin, name in PACKED.items() if self.content.startswith(begin)), None)
        if packed is not None:
            raise UserError(f"{self.path}: got a file packed by {packed} (allowed: the text in it, unpacked)")
        try:
            return self.content.decode(encoding)
        except LookupError as error:
            raise UserError(f"unknown encoding {encoding!r} (allowed: a text encoding that Python knows)") from error
        except UnicodeDecodeError as error:
            before = self.content[: error.start].decode(encoding, errors="replace")
            number = (before.count("\n") or before.count("\r")) + 1
            raise self.error(number, undecodable(error, encoding)) from error

    def blocks(self, encoding: str, *, comments: tuple[str, ...], blanks: str) -> Iterator[list[tuple[int, str]]]:
        """Yield every run of numbered lines between empty lines. A line of nothing but ``blanks`` counts as empty.

        Lines that start with one of ``comments`` are skipped, even inside a run. Raises UserError as ``lines`` does,
        and for a carriage return within a line.
        """
        block: list[tuple[int, str]] = []
        for number, line in self.lines(encoding):
            if comments and line.startswith(comments):
                continue
            if line.strip(blanks):
                if "\r" in line:
                    raise self.error(number, "got a carriage return within the line, allowed: one kind of line ends")
                block.append((number, line))
            elif block:
                yield block
                block = []
        if block:
            yield block

    def error(self, line: int, message: str) -> UserError:
        """Create the error to raise about a line: ``train.tsv:12: got 3 columns, ...``."""
        return UserError(f"{self.path}:{line}: {message}")


def between_blanks(line: str) -> list[str]:
    """Split a text into words at blanks, tabs and line ends. Other Unicode spaces, such as U+00A0, may be in words."""
    for blank in "\t\r\n":
        line = line.replace(blank, " ")
    return list(filter(None, line.split(" ")))


def joint_sha256(files: Sequence[SourceFile]) -> str:
    """The joint digest of several files, in order: the output of ``sha256sum NAMES | sha256sum`` in their folder."""
    return joint_of((file.sha256, file.path.name) for file in files)


def joint_of(each: Iterable[tuple[str, str]]) -> str:
    """The joint digest of several files, as in ``joint_sha256``. ``each``: the digest and the name of every file."""
    lines = "".join(f"{sha256}  {name}\n" for sha256, name in each)
    return hashlib.sha256(lines.encode()).hexdigest()


def matching(folder: Path, paths: Sequence[str]) -> tuple[Path, ...]:
    """Find the files that ``paths`` name, relative to ``folder``. A wildcard stands for all its matches, sorted.

    ``*`` and ``?`` stand for text within a name, ``**`` for folders at any depth. The path of an existing file is never
    taken for a wildcard. Raises UserError for a wildcard that matches no file.
    """
    found: list[Path] = []
    for path in paths:
        # Path.exists, unlike os.path.exists, raises OSError for a long name and in a folder that may not be entered.
        if os.path.exists(folder / path) or not glob.has_magic(path):
            found.append(folder / path)
            continue
        matches = sorted(
            each for each in glob.glob(path, root_dir=folder, recursive=True) if os.path.isfile(folder / each)
        )
        if not matches:
            raise UserError(f"{folder / path}: got no file of such a name, allowed: one or more")
        found += [folder / each for each in matches]
    return tuple(found)
