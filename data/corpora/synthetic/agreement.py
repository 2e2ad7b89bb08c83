"""The agreement corpus: a small grammar in which a verb depends on both ends of its sentence at once.

Every sentence starts with ``surely`` or ``suppose`` and ends in ``yesterday`` or ``now``. The words between agree with
these two words, at any distance.

1. *With the left end.* The object is ACC after ``surely`` and GEN after ``suppose``, as Russian objects may be under a
   negation.
2. *With the right end.* A subject is NOM in a sentence that ends in ``now`` and ERG in one that ends in ``yesterday``,
   as Hindi subjects are in the past.
3. *With both at once.* After ``surely``, a verb is PRESENT before ``now`` and PAST before ``yesterday``. After
   ``suppose`` it is the other way round, as in English: ``suppose they left now``.
4. *Except after* ``that``. A clause after ``that`` is a fact, even in a supposed sentence. So its verb depends on the
   time word alone.

A single bidirectional layer cannot be right everywhere. One half of its output knows the left end, the other half knows
the right end, and the output layer adds up their scores. No such sum is right in more than three of the four cases of
rule 3. A second layer that reads both halves can be right. Rules 1 and 2 make the first layer carry both ends to every
word, so the second layer finds what rule 3 needs.

One choice is local: ``guard`` is a noun after a determiner or an adjective, otherwise a verb. Names are an open class,
so some words of dev and test are not in train.
"""

from typing import Literal

import numpy as np
from pydantic import PositiveInt

from skipstack.data.basis.seeding import generator
from skipstack.data.corpora.synthetic import words
from skipstack.data.corpora.synthetic.generated import GeneratedCorpus
from skipstack.data.formats.sentences import Sentence

EDITION = 1
SHORTEST, LONGEST = 6, 11
"""The minimum and maximum number of tokens in a sentence."""

DETERMINERS = tuple(word for word in words.DETERMINERS if word != "that")  # here ``that`` only opens clauses
NOUNS = (*words.NOUNS, *words.NOUNS_OR_VERBS)
VERBS = (*words.VERBS_WITHOUT_ENDING, *words.NOUNS_OR_VERBS)

Tagged = list[tuple[str, str]]
"""Words with their tags, in text order."""


class AgreementCorpus(GeneratedCorpus):
    """Sentences whose verbs agree with both ends at once (``data/corpora/synthetic/agreement.py``)."""

    edition = EDITION

    kind: Literal["agreement"] = "agreement"
    seed: int = 0
    """The seed of the sentences."""
    train: PositiveInt = 500
    """The number of sentences in train. ``dev`` and ``test`` are the numbers in those splits."""
    dev: PositiveInt = 200
    test: PositiveInt = 200

    def sentences(self, split: str, size: int) -> list[Sentence]:
        """The first ``size`` sentences of a split."""
        return sentences(self.seed, split, size)


def sentences(seed: int, split: str, size: int) -> list[Sentence]:
    """Draw the first ``size`` sentences of a split. Each split is an independent random stream under ``seed``."""
    random = generator(seed, "agreement", split)
    drawn: list[Tagged] = []
    while len(drawn) < size:
        tagged = _Draft(random).sentence()
        if SHORTEST <= len(tagged) <= LONGEST:
            drawn.append(tagged)
    return [Sentence(tuple(word for word, _ in tagged), tuple(tag for _, tag in tagged)) for tagged in drawn]


class _Draft:
    """Draws one sentence, with a method for each phrase."""

    def __init__(self, random: np.random.Generator) -> None:
        self._random = random
        self._supposed = self._chance(0.4)
        self._past = self._chance(0.5)
        self._subject = "ERG" if self._past else "NOM"

    def sentence(self) -> Tagged:
        """Draw an opening, a subject, verbs, an object, a time word and a full stop."""
        opening = "suppose" if self._supposed else "surely"
        adverb = [(self._one(words.ADVERBS), "ADV")] if self._chance(0.1) else []
        verbs = [self._verb(turned=self._supposed)]
        if self._chance(0.4):
            verbs += [("and", "CONJ"), self._verb(turned=self._supposed)]
        return [
            (opening, "MARK"),
            *self._noun_phrase(self._subject, clause=0.25, place=0.2),
            *adverb,
            *verbs,
            *self._noun_phrase("GEN" if self._supposed else "ACC", clause=0.1, place=0.2),
            ("yesterday" if self._past else "now", "TIME"),
            (".", "PUNCT"),
        ]

    def _verb(self, *, turned: bool) -> tuple[str, str]:
        return self._one(VERBS), "PAST" if self._past != turned else "PRESENT"

    def _noun_phrase(self, tag: str, *, clause: float = 0, place: float = 0) -> Tagged:
        """Draw a name or a noun, tagged ``tag``, and perhaps a phrase after it.

        ``clause``: the probability of a clause after ``that``. ``place``: the probability of a prepositional phrase, if
        there is no such clause.
        """
        noun = self._name(tag) if self._chance(0.2) else self._noun(tag)
        if self._chance(clause):
            return [*noun, ("that", "MARK"), *self._noun_phrase(self._subject), self._verb(turned=False)]
        if self._chance(place):
            return [*noun, (self._one(words.PREPOSITIONS), "PREP"), *self._noun_phrase("OBL")]
        return noun

    def _noun(self, tag: str) -> Tagged:
        adjective = [(self._one(words.ADJECTIVES), "ADJ")] if self._chance(0.2) else []
        return [(self._one(DETERMINERS), "DET"), *adjective, (self._one(NOUNS), tag)]

    def _name(self, tag: str) -> Tagged:
        return [(self._one(words.NAME_STARTS) + self._one(words.NAME_ENDS), tag)]

    def _one(self, choices: tuple[str, ...]) -> str:
        return choices[int(self._random.integers(len(choices)))]

    def _chance(self, probability: float) -> bool:
        return bool(self._random.random() < probability)
