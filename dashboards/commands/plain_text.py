"""Text that is to be tagged, and tagged text, as ``skipstack predict`` reads and writes them."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, assert_never

from skipstack.data.basis.errors import UserError
from skipstack.data.formats.format import Unit
from skipstack.data.formats.texts import tokens_of
from skipstack.data.formats.word_tags import split_words

Form = Literal["columns", "lines"]


def sentences(file: Path | None, unit: Unit) -> Iterator[list[str]]:
    """The tokens of each line of a file, or of stdin: its words, its characters without the blanks between them, or
    the words and marks of running text.

    A byte order mark is passed over. Raises UserError where the file cannot be read or is not UTF-8.
    """
    for line in _lines(file):
        match unit:
            case "word":
                yield line.split()
            case "character":
                yield [*"".join(split_words(line))]
            case "text":
                yield tokens_of(line)
            case _:
                assert_never(unit)


def tagged(pairs: Sequence[tuple[str, str]], form: Form) -> str:
    """A sentence of words and tags: in ``columns`` with an empty line after it, or as one of the ``lines``.

    There a word is ``word_TAG``, or itself where its tag is empty.
    """
    if form == "columns":
        return columns(pairs)
    return " ".join(f"{word}_{tag}" if tag else word for word, tag in pairs) + "\n"


def columns(lines: Iterable[Sequence[str]]) -> str:
    """A sentence as lines of columns, with an empty line after it."""
    return "".join("\t".join(line) + "\n" for line in lines) + "\n"


def _lines(file: Path | None) -> Iterator[str]:
    if file is None:
        yield from _decoded(sys.stdin.buffer, "stdin")
        return
    try:
        with file.open("rb") as lines:
            yield from _decoded(lines, str(file))
    except OSError as error:
        raise UserError(f"{file}: cannot be read ({error.strerror})") from error


def _decoded(lines: Iterable[bytes], name: str) -> Iterator[str]:
    for number, line in enumerate(lines, start=1):
        try:
            text = line.decode().removesuffix("\n")
        except UnicodeDecodeError as error:
            raise UserError(f"{name}:{number}: got bytes that are not UTF-8 (allowed: UTF-8 text)") from error
        yield text.removeprefix("\ufeff") if number == 1 else text
