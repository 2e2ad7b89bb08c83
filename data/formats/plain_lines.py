"""Splits a line of text into tokens."""

from typing import assert_never

from skipstack.data.formats.characters import split_words
from skipstack.data.formats.files import between_blanks
from skipstack.data.formats.format import Unit
from skipstack.data.formats.texts import tokens_of


def tokens_in(line: str, unit: Unit) -> list[str]:
    """Split a line into tokens: words between blanks, characters without the blanks, or words and punctuation marks."""
    match unit:
        case "word":
            return between_blanks(line)
        case "character":
            return [*"".join(split_words(line))]
        case "text":
            return tokens_of(line)
        case _:
            assert_never(unit)
