"""The features of each form that the embedder reads: word, capitals, outermost characters (wu2017, section 4.1),
spelling, class.

Array legend: F forms (row 0 is the boundary, ``""``), A characters kept at each side of a form, C characters of the
longest form.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skipstack.data.basis.arrays import Ids
from skipstack.data.store.vocabulary import BOUNDARY, FIRST_KNOWN, UNKNOWN, Vocabulary, spelling

CAPITAL_CLASSES = 5
"""The number of classes of capitals: 0 boundary, 1 no capital, 2 the first letter only, 3 all of two letters or more,
4 mixed."""

LONGEST_SPELLING = 64
"""The maximum number of characters of a form; further ones are ignored."""


@dataclass(frozen=True, slots=True, eq=False)
class Lexicon:
    """The features of every form; a token's features are the row of its form id. Row 0 is zeros: the boundary.

    ``word_F``: ids of ``Vocabulary``. ``capital_F``: ``capital_class``. ``prefix_FA``: ids of the first A characters.
    ``suffix_FA``: ids of the last A characters, outermost first: column j is the j-th character from the end (the paper
    writes them left to right). So the first k columns of either are the k outermost characters, for any k up to A. A
    form shorter than A is followed by padding, 0. ``spelling_FC``: ids of all characters, padded likewise.
    ``class_F``: ids of classes that stand beside words.
    """

    word_F: Ids
    capital_F: Ids
    prefix_FA: Ids
    suffix_FA: Ids
    spelling_FC: Ids
    class_F: Ids


def lexicon(vocabulary: Vocabulary, forms: Sequence[str], affix: int) -> Lexicon:
    """The features of ``forms``, which begin with the boundary ``""``, with ``affix`` characters per side."""
    assert list(forms[:1]) == [""], "row 0 is the boundary"
    spellings = [spelling(form, vocabulary.config) for form in forms]
    whole = [text[:LONGEST_SPELLING] for text in spellings]
    return Lexicon(
        word_F=np.array([vocabulary.word_id(form) for form in forms], dtype=np.int64),
        capital_F=np.array([capital_class(form) for form in forms], dtype=np.int64),
        prefix_FA=_character_ids(vocabulary, [text[:affix] for text in spellings], affix),
        suffix_FA=_character_ids(vocabulary, [text[::-1][:affix] for text in spellings], affix),
        spelling_FC=_character_ids(vocabulary, whole, max(1, *map(len, whole))),
        class_F=np.array([vocabulary.class_id(form) for form in forms], dtype=np.int64),
    )


def capital_class(form: str) -> int:
    """The capitalisation of a form, one of ``CAPITAL_CLASSES``.

    wu2017 says only "whether or not a word is capitalized"; the classes are ours. Only letters that have a case count,
    so ``'Tis`` and ``3D`` are "first only" and ``U.S.`` is "all". A single capital letter, as in ``I``, is "first
    only". A form without cased letters, as ``1984`` or a Chinese word, has no capital.
    """
    if not form:
        return 0
    capitals = [letter.isupper() for letter in form if letter.isupper() or letter.islower()]
    if not any(capitals):
        return 1
    if capitals[0] and not any(capitals[1:]):
        return 2
    return 3 if all(capitals) else 4


def _character_ids(vocabulary: Vocabulary, texts: Sequence[str], affix: int) -> Ids:
    """The ids of the characters of texts no longer than ``affix``, padded at the end."""
    lengths_F = np.array([len(text) for text in texts])
    padded = "".join(text.ljust(affix) for text in texts)
    codes_FA = _code_points(padded).reshape(len(texts), affix)
    known = _code_points("".join(vocabulary.characters))
    if len(known):
        places_FA = np.searchsorted(known, codes_FA).clip(max=len(known) - 1)
        ids_FA = np.where(known[places_FA] == codes_FA, places_FA + FIRST_KNOWN, UNKNOWN)
    else:
        ids_FA = np.full(codes_FA.shape, UNKNOWN)
    return np.where(np.arange(affix) < lengths_F[:, None], ids_FA, BOUNDARY)


def _code_points(text: str) -> NDArray[np.uint32]:
    # Text may contain half a surrogate pair, which is treated as an unknown character.
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
