"""Reads the sentences for ``skipstack predict`` and ``skipstack inspect`` from a file or stdin."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from skipstack.data.basis.errors import UserError, unreadable
from skipstack.data.formats.format import Unit
from skipstack.data.formats.plain_lines import tokens_in


def sentences(file: Path | None, unit: Unit) -> Iterator[list[str]]:
    """Yield the tokens of each line of a file, or of stdin if ``file`` is None.

    ``unit`` says what a token is: a word between blanks, a character (blanks are dropped), or a word or punctuation
    mark of running text. A byte order mark is skipped. Raises UserError if the file cannot be read or is not UTF-8.
    """
    return (tokens_in(line, unit) for line in _lines(file))


def _lines(file: Path | None) -> Iterator[str]:
    if file is None:
        yield from _decoded(sys.stdin.buffer, "stdin")
        return
    try:
        with file.open("rb") as lines:
            yield from _decoded(lines, str(file))
    except OSError as error:
        raise unreadable(file, error) from error


def _decoded(lines: Iterable[bytes], name: str) -> Iterator[str]:
    for number, line in enumerate(lines, start=1):
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            raise UserError(f"{name}:{number}: got bytes that are not UTF-8 (allowed: UTF-8 text)") from error
        if number == 1:
            text = text.removeprefix("\ufeff")
            if not text.endswith("\n") and "\r" in text:  # as in data/formats/files.py
                yield from text.removesuffix("\r").split("\r")
                return
        yield text.removesuffix("\n")
