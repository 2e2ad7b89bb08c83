"""Computes what an embedder reads of each form: word, capitals, outermost characters (wu2017, section 4.1), spelling,
class.

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
"""The number of classes of capitals: 0 the boundary, 1 no capital, 2 only the first letter, 3 all of at least two
letters, 4 mixed."""

LONGEST_SPELLING = 64
"""The maximum number of characters in the spelling of a form. Further characters are ignored."""


@dataclass(frozen=True, slots=True, eq=False)
class Lexicon:
    """The features of every form. A token has the features in the row of its form. Row 0, the boundary, is zeros.

    ``word_F``: the word's ID in the ``Vocabulary``. ``capital_F``: the ``capital_class``. ``prefix_FA``: the IDs of the
    first A characters. ``suffix_FA``: the IDs of the last A characters. Column j is the j-th character from the end
    (the paper writes them left to right). So in both arrays, the first k columns are the k outermost characters, for
    any k up to A. Shorter forms are padded with 0 at the end. ``spelling_FC``: the IDs of all characters, padded in the
    same way. ``class_F``: the ID of the class that is read beside the word.
    """

    word_F: Ids
    capital_F: Ids
    prefix_FA: Ids
    suffix_FA: Ids
    spelling_FC: Ids
    class_F: Ids


def lexicon(vocabulary: Vocabulary, forms: Sequence[str], affix: int) -> Lexicon:
    """Compute the features of ``forms``. The first form is empty. ``affix``: how many characters to keep at each
    side.
    """
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
    """The class of a form's capitals, one of ``CAPITAL_CLASSES``.

    wu2017 says only "whether or not a word is capitalized"; the classes are ours. Characters without upper and lower
    case are ignored. So ``'Tis``, ``3D`` and ``I`` have a capital in the first letter only (2), and ``U.S.`` has
    capitals in all letters (3). A form of such characters alone, for example ``1984`` or a Chinese word, has no capital
    (1).
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
    """The IDs of the characters of each text, padded at the end to length ``affix``, which no text exceeds."""
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
