"""Finds invisible characters, replacement characters, and words that are written in two normal forms of Unicode.

Array legend: F forms.
"""

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from skipstack.data.basis.arrays import Flags

REPLACEMENT: Final = "\ufffd"
"""The character that many decoders write for invalid bytes. A file contains it if its text was decoded wrongly before.
"""

INVISIBLE: Final = frozenset("\u00ad\u200b\u2060\ufeff\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Invisible characters: soft hyphens, zero-width spaces, word joiners, byte order marks, and marks that embed, override
or isolate a direction of text. Words that differ only in these characters look the same. The zero-width joiner and
non-joiner (U+200D, U+200C) are not included, since scripts and emoji need them."""


def suspicious(character: str) -> bool:
    """Whether a character is the replacement character, a control character, a private-use character, or invisible."""
    hidden = character in INVISIBLE or unicodedata.category(character) in ("Cc", "Co")
    return hidden or character == REPLACEMENT


def suspicious_in(forms: Sequence[str]) -> dict[str, NDArray[np.intp]]:
    """Find the suspicious characters in ``forms``. Maps each to the rows of the forms that contain it."""
    wanted = frozenset(filter(suspicious, set().union(*forms)))
    rows = defaultdict(list)
    for row, form in enumerate(forms):
        for character in wanted.intersection(form) if wanted else ():
            rows[character].append(row)
    return {character: np.array(those) for character, those in rows.items()}


def in_two_forms(forms: Sequence[str]) -> Flags:
    """Whether each form differs from another form only in its Unicode normalisation (NFC): has_F.

    For example, ``é`` can be one character or two. A network takes such forms for different words.
    """
    alike = defaultdict(list)
    for row, form in enumerate(forms):
        if not form.isascii():
            alike[unicodedata.normalize("NFC", form)].append(row)
    twice_F = np.zeros(len(forms), dtype=np.bool_)
    for rows in alike.values():
        twice_F[rows] = len(rows) > 1
    return twice_F


def alike(names: Sequence[str]) -> tuple[str, ...]:
    """The names that differ from another name only in blanks and suspicious characters."""
    bare = {name: "".join(each for each in name if not each.isspace() and not suspicious(each)) for name in names}
    counts = Counter(bare.values())
    return tuple(name for name, text in bare.items() if counts[text] > 1)
