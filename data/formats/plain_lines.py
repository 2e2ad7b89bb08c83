"""Splits a line of text into tokens."""

import re
from typing import Final

from skipstack.data.formats.format import Unit
from skipstack.data.formats.texts import token_places

_TOKENS: Final = {"word": re.compile(r"[^ \t\r\n]+"), "character": re.compile("[^ \t\r\n\u3000]")}
"""The pattern of a token, by unit. Tokens end at the same blanks as in ``between_blanks`` (``word``) and
``split_words`` (``character``)."""


def tokens_in(line: str, unit: Unit) -> list[str]:
    """Split a line into tokens: words between blanks, characters without the blanks, or words and punctuation marks."""
    return [line[start:end] for start, end in places_in(line, unit)]


def places_in(text: str, unit: Unit) -> list[tuple[int, int]]:
    """The start and the end of each token of ``tokens_in``: its characters are ``text[start:end]``."""
    return token_places(text) if unit == "text" else [found.span() for found in _TOKENS[unit].finditer(text)]
