"""Reads word vectors from text files in GloVe's format (a word and its numbers on each line) or word2vec's.

word2vec's format has two counts in the first line. Array legend: W words found, E numbers per word.
"""

import hashlib
from codecs import BOM_UTF8
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from skipstack.data.basis.errors import UserError, undecodable, unreadable
from skipstack.data.basis.ordinary_files import opened

_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True, slots=True, eq=False)
class FoundVectors:
    """The vectors of the wanted words in a file.

    ``words``: the wanted words that were found. ``values_WE``: the vector of each. ``sha256``: the SHA-256 of the whole
    file. ``cut_line``: the number of a truncated last line, which was skipped; None if there was none. ``repeated``:
    the number of lines that were skipped because an earlier line has their word.
    """

    words: tuple[str, ...]
    values_WE: NDArray[np.float32]
    sha256: str
    cut_line: int | None
    repeated: int = 0


def read_vectors(path: Path, wanted: Container[str]) -> FoundVectors:
    """Read the vectors of ``wanted`` words from a file. Every line is checked, and the file is read once, as a stream.

    Numbers follow the word after single blanks or tabs. Empty lines and a byte order mark are skipped. A word may
    contain blanks, as a few do in some files: it is everything before the last ``E`` numbers. A word is refused if a
    part of it after a blank is a number. An invalid last line without a line end was truncated. It is skipped, and
    ``cut_line`` is its number. If a word occurs several times, as one does in GloVe's 840B, its first vector counts.

    Raises UserError for a file without vectors. Also raises it, with file and line, for another count of numbers than
    in the first line, text in place of numbers, wrong counts in the first line, and bytes that are not UTF-8.
    """
    file = _File(path, wanted)
    try:
        with opened(path) as lines:
            for number, line in enumerate(lines, start=1):
                file.take(number, line)
    except OSError as error:
        raise unreadable(path, error) from error
    return file.found()


class _File:
    """The state of reading a file of vectors."""

    def __init__(self, path: Path, wanted: Container[str]) -> None:
        self.path = path
        self.wanted = wanted
        self.digest = hashlib.sha256()
        self.width = 0
        self.promised: int | None = None
        self.seen: set[str] = set()
        self.rows: dict[str, NDArray[np.float32]] = {}
        self.cut_line: int | None = None
        self.repeated = 0

    def take(self, number: int, line: bytes) -> None:
        self.digest.update(line)
        if number == 1:
            line = line.removeprefix(BOM_UTF8)
        if not line.strip():
            return
        try:
            word, values = self._parsed(number, line)
        except UserError:
            if line.endswith(b"\n") or not self.seen:
                raise
            self.cut_line = number
            return
        if word is None:
            return
        if word in self.seen:
            self.repeated += 1
            return
        self.seen.add(word)
        if word in self.wanted:
            self.rows[word] = np.array(values, dtype=np.float32)

    def found(self) -> FoundVectors:
        if not self.seen:
            raise UserError(f"{self.path}: got no vectors, allowed: a word and its numbers on each line")
        words = len(self.seen) + self.repeated + (self.cut_line is not None)
        if self.promised not in (None, words):
            raise self._error(1, f"got {self.promised} words announced, allowed: {words}, which follow")
        values_WE = np.stack(list(self.rows.values())) if self.rows else np.zeros((0, self.width), dtype=np.float32)
        return FoundVectors(tuple(self.rows), values_WE, self.digest.hexdigest(), self.cut_line, self.repeated)

    def _parsed(self, number: int, line: bytes) -> tuple[str | None, list[float]]:
        """Split a line into its word and its numbers. The word is None for a first line of counts."""
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self._error(number, undecodable(error, "utf-8")) from error
        word, *rest = text.rstrip("\r\n \t").replace("\t", " ").split(" ")
        if number == 1 and len(rest) == 1 and word.isdecimal() and rest[0].isdecimal():
            self.promised, self.width = int(word), int(rest[0])
            return None, []
        self.width = self.width or len(rest)
        blanks = len(rest) - self.width
        if blanks > 0 and not any(_number(part) is not None for part in rest[:blanks]):
            word, rest = " ".join([word, *rest[:blanks]]), rest[blanks:]
        if len(rest) != self.width or not rest or not word:
            got = "no word" if not word else f"{len(rest)} numbers"
            raise self._error(number, f"got {got}, allowed: a word and {self.width or 'its'} numbers on every line")
        return word, self._numbers(number, rest)

    def _numbers(self, number: int, parts: list[str]) -> list[float]:
        try:
            values = [float(part) for part in parts]
        except ValueError:
            values = []
        # A file may have a billion numbers, so only each line's sum is checked. It is NaN or infinite if a number is.
        if values and sum(map(abs, values)) <= _LARGEST and "_" not in "".join(parts):
            return values
        wrong = next((part for part in parts if _number(part) is None), None)
        if wrong is not None:
            raise self._error(number, f"got {wrong!r}, allowed: a number of 32 bits")
        return values

    def _error(self, number: int, message: str) -> UserError:
        return UserError(f"{self.path}:{number}: {message}")


def _number(text: str) -> float | None:
    """Parse a finite number. Returns None for other text, such as ``1_000``, which only Python reads as a number."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) <= _LARGEST and "_" not in text else None
