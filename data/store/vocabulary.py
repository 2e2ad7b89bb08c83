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
"""The ID of the context outside of a sentence among words, and of padding among characters."""
UNKNOWN = 1
"""The ID of all words and characters that have no ID of their own from the training split."""
FIRST_KNOWN = 2
"""The ID of the first word in ``Vocabulary.words``, and of the first character in ``Vocabulary.characters``."""

_DIGIT = re.compile(r"\d")


def spelling(form: str, config: VocabularyConfig) -> str:
    """The form with its case. If so configured, every decimal digit (Unicode Nd) is replaced by ``9``."""
    return _DIGIT.sub("9", form) if config.digits_to_nine else form


def normalise(form: str, config: VocabularyConfig) -> str:
    """The word that a form stands for: its ``spelling``, in lower case if so configured (wu2017, section 5.1.1)."""
    plain = spelling(form, config)
    return plain.lower() if config.lowercase else plain


class Vocabulary(Frozen):
    """The known words and characters of a trial. An ID is an index in ``words`` or ``characters``, plus 2.

    ``config``: how forms are normalised, and which are known. ``words``: the normalised forms, or the classes read
    instead of them, with at least ``config.minimum_count`` occurrences in the training split. The most frequent come
    first, ties in alphabetical order. All forms that become the same word are counted together. ``characters``: all
    characters in the spellings of the training split's forms, however rare, sorted by code point. ``classes``: pairs of
    a normalised form and its class. The class is read instead of the word or beside it
    (``data/store/word_classes.py``).
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
        """Build a vocabulary. ``counts_F``: the count of each form in ``train``. ``classes``: the classes of words."""
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
        """The word ID of a raw form: 0 for the boundary, 1 if its word or class is not in ``words``."""
        if not form:
            return BOUNDARY
        word = normalise(form, self.config)
        read = self._class_of.get(word, word) if self.config.classes == "instead" else word
        return self._word_ids.get(read, UNKNOWN)

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes that are read beside words, in alphabetical order. The ID of a class is its index plus 2."""
        return tuple(sorted({name for _, name in self.classes})) if self.config.classes == "beside" else ()

    def class_id(self, form: str) -> int:
        """The ID of the class that is read beside a raw form: 0 for the boundary, 1 if there is no class."""
        if not form:
            return BOUNDARY
        if not self._class_ids:  # saves normalising the form
            return UNKNOWN
        return self._class_ids.get(self._class_of.get(normalise(form, self.config), ""), UNKNOWN)

    def to_json(self) -> str:
        """The canonical JSON text, from which ``from_json`` creates an equal vocabulary."""
        return canonical_json(self)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Create a vocabulary from text of ``to_json``, which may be from anyone. Raises UserError if it is invalid."""
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
