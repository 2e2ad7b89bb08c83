"""The words and characters that a trial knows, from its training split.

Array legend: F forms (row 0 is the boundary, ``""``).
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError, field_validator

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.explain import explain
from skipstack.data.basis.frozen import Frozen, canonical_json
from skipstack.data.corpora.config import VocabularyConfig

BOUNDARY = 0
"""The id of the boundary outside of a sentence, for words; of padding, for characters."""
UNKNOWN = 1
"""The id of words or characters without an id of their own from the training split."""
FIRST_KNOWN = 2
"""The id of the first word in ``Vocabulary.words``, and of the first of ``Vocabulary.characters``."""

_DIGIT = re.compile(r"\d")


def spelling(form: str, config: VocabularyConfig) -> str:
    """The form whose characters are read: case kept, and every decimal digit (Unicode Nd) as ``9`` if so configured."""
    return _DIGIT.sub("9", form) if config.digits_to_nine else form


def normalise(form: str, config: VocabularyConfig) -> str:
    """The form that identifies a word: ``spelling``, in lower case if so configured (wu2017, section 5.1.1)."""
    plain = spelling(form, config)
    return plain.lower() if config.lowercase else plain


class Vocabulary(Frozen):
    """Known words and characters; a word's id is its index in ``words`` plus 2, and likewise a character's.

    ``words``: the normalised forms whose occurrences in train, summed over the forms with the same normalisation, reach
    ``config.minimum_count``; the most frequent first, ties in text order. ``characters``: those of the spellings of all
    forms in train, by code point, without a cut-off. ``classes``: each normalised form with a class, and the class,
    which replaces it as a word, or stands beside it (see ``word_classes.py``).
    """

    config: VocabularyConfig
    words: tuple[str, ...]
    characters: tuple[str, ...]
    classes: tuple[tuple[str, str], ...] = ()

    @field_validator("words")
    @classmethod
    def _are_distinct(cls, words: tuple[str, ...]) -> tuple[str, ...]:
        if "" in words:
            raise ValueError("got an empty word, allowed one character or more")
        twice = [word for word, count in Counter(words).items() if count > 1]
        if twice:
            raise ValueError(f"got {twice[0]!r} twice, allowed once")
        return words

    @field_validator("characters")
    @classmethod
    def _ascend(cls, characters: tuple[str, ...]) -> tuple[str, ...]:
        several = [text for text in characters if len(text) != 1]
        if several:
            raise ValueError(f"got {several[0]!r}, allowed one character each")
        for before, after in pairwise(characters):
            if before >= after:
                raise ValueError(f"got {after!r} after {before!r}, allowed ascending, each once")
        return characters

    @classmethod
    def build(
        cls,
        config: VocabularyConfig,
        forms: Sequence[str],
        counts_F: NDArray[np.integer[Any]],
        classes: Mapping[str, str] | None = None,
    ) -> Self:
        """The vocabulary of a corpus with these ``forms``, which occur ``counts_F`` times in train."""
        class_of = classes or {}
        read_as = class_of if config.classes == "instead" else {}
        occurrences: Counter[str] = Counter()
        characters: set[str] = set()
        for form, count in zip(forms, counts_F.tolist(), strict=True):
            if form and count > 0:
                word = normalise(form, config)
                occurrences[read_as.get(word, word)] += count
                characters.update(spelling(form, config))
        frequent = [word for word, count in occurrences.items() if count >= config.minimum_count]
        words = sorted(frequent, key=lambda word: (-occurrences[word], word))
        classed = tuple(sorted(class_of.items()))
        return cls(config=config, words=tuple(words), characters=tuple(sorted(characters)), classes=classed)

    def word_id(self, form: str) -> int:
        """The id of a raw form: 0 for the boundary ``""``, 1 where its normalised form, or class, is not a word."""
        if not form:
            return BOUNDARY
        word = normalise(form, self.config)
        read = self._class_of.get(word, word) if self.config.classes == "instead" else word
        return self._word_ids.get(read, UNKNOWN)

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes that stand beside words, in text order; a class's id is its index plus 2."""
        return tuple(sorted({name for _, name in self.classes})) if self.config.classes == "beside" else ()

    def class_id(self, form: str) -> int:
        """The id of the class that stands beside a raw form: 0 for the boundary, 1 where there is none."""
        if not form:
            return BOUNDARY
        if not self._class_ids:  # no form need be normalised once more
            return UNKNOWN
        return self._class_ids.get(self._class_of.get(normalise(form, self.config), ""), UNKNOWN)

    def to_json(self) -> str:
        """The canonical JSON text; ``from_json`` gives an equal vocabulary back."""
        return canonical_json(self)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read the output of ``to_json``. Raises UserError for any other text, since it may come from anywhere."""
        try:
            return cls.model_validate_json(text, strict=True)
        except ValidationError as error:
            line = explain(error, cls, file="vocabulary")
            raise UserError(" ".join(line.split())) from error  # an unknown key may contain a line break

    @cached_property
    def _word_ids(self) -> dict[str, int]:
        return {word: place for place, word in enumerate(self.words, start=FIRST_KNOWN)}

    @cached_property
    def _class_ids(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.class_names, start=FIRST_KNOWN)}

    @cached_property
    def _class_of(self) -> dict[str, str]:
        return dict(self.classes)
