"""Characters that no reader sees, or that stand for bytes which nobody could read; words that are written in two ways.

Array legend: F forms.
"""

import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

REPLACEMENT: Final = "\ufffd"
"""What a decoder writes for bytes that are no text: the file was read in another encoding than it has."""

INVISIBLE: Final = frozenset("\u00ad\u200b\u2060\ufeff\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Soft hyphens, spaces of no width, byte order marks, directions: two words that differ in them look the same. Joiners
(U+200C, U+200D) are not among them, which scripts and emoji need."""

Flags = NDArray[np.bool_]


def suspicious(character: str) -> bool:
    """Whether it is the replacement character, or hidden: a control, of private use, or invisible."""
    hidden = character in INVISIBLE or unicodedata.category(character) in ("Cc", "Co")
    return hidden or character == REPLACEMENT


def suspicious_in(forms: Sequence[str]) -> dict[str, NDArray[np.intp]]:
    """The suspicious characters of some forms, and the rows of those that have them."""
    wanted = frozenset(filter(suspicious, set().union(*forms)))
    rows = defaultdict(list)
    for row, form in enumerate(forms):
        for character in wanted.intersection(form) if wanted else ():
            rows[character].append(row)
    return {character: np.array(those) for character, those in rows.items()}


def in_two_forms(forms: Sequence[str]) -> Flags:
    """Which forms another one equals but for Unicode's normal form, as ``é`` of one and of two characters: has_F.

    To a network they are two words.
    """
    alike = defaultdict(list)
    for row, form in enumerate(forms):
        if not form.isascii():
            alike[unicodedata.normalize("NFC", form)].append(row)
    twice_F = np.zeros(len(forms), dtype=np.bool_)
    for rows in alike.values():
        twice_F[rows] = len(rows) > 1
    return twice_F
