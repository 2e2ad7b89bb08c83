"""The built-in corpus: a small grammar whose words are ambiguous until a far-away word is read.

The tags are a function of the words, so a tagger can be right everywhere. The most frequent tag of each word is right
for about four tokens in five. Six rules decide between the readings of a word:

1. *The auxiliary, to the left.* A verb in -ed is PARTICIPLE after ``has`` and otherwise PAST. A verb without ending
   (``cut``) is PARTICIPLE after ``has`` and BASE after ``will``. In a question, the auxiliary stands before the whole
   subject.
2. *Clauses nest.* In ``has the guard that dogs chased cut the tree ?``, ``that`` opens a clause with its own verbs and
   perhaps its own auxiliary. ``has`` belongs to ``cut``, the verb after that clause.
3. *The time word, to the right.* Without an auxiliary, ``cut`` is PAST in a sentence that ends in ``yesterday`` and
   PRESENT in one that ends in ``now``. This holds in every clause of the sentence.
4. *Both sides at once.* After ``suppose`` at the start, the time word means its opposite: in
   ``suppose the guard cut the tree now``, the verb is PAST. No sum of a score of the words to the left and a score of
   the words to the right can express this rule. So one layer in two directions cannot learn it, and two layers can.
5. *The missing verb, to the right.* ``the old guard near the river`` is DET ADJ NOUN PREP DET NOUN if a verb of the
   same clause follows (``chased dogs``). If none follows (``dogs``), it is DET NOUN PRESENT ... Verbs of a clause after
   ``that`` do not count.
6. *The clause before a comma.* ``before``, ``after`` and ``since`` are MARK if a verb comes before the comma, otherwise
   PREP. The reading of a ``cut`` before the comma depends on the time word at the far end of the sentence.

Other choices are local: ``that`` is DET or MARK, and ``near`` is PREP or, before a verb, ADV. Names are an open class
with a capital, and some nouns and verbs have a prefix. So some words of dev and test are not in train, and their
capitals and affixes show their class.

Every sentence has a dependency tree, which follows its derivation and is a function of the words as well. Relations
have the names of Universal Dependencies. The head of a clause is its first verb. Nouns depend on it as ``nsubj``,
``obj`` and ``obl``, and a verb after ``and`` as ``conj``. A phrase after a preposition (``case``) is ``nmod`` under a
noun and ``obl`` under a verb. A clause after ``that`` is ``acl``, a clause before a comma ``advcl``.
"""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from pydantic import PositiveInt

from skipstack.data.basis.seeding import generator
from skipstack.data.corpora.synthetic import words
from skipstack.data.corpora.synthetic.generated import GeneratedCorpus
from skipstack.data.corpora.synthetic.phrases import Phrase, joined, word
from skipstack.data.formats.format import TaskOfLayer
from skipstack.data.formats.sentences import Sentence
from skipstack.data.labels.trees import TREES

EDITION = 1
SHORTEST, LONGEST = 6, 16
"""The minimum and maximum number of tokens in a sentence."""

_OPPOSITE = {"PAST": "PRESENT", "PRESENT": "PAST"}


class GrammarCorpus(GeneratedCorpus):
    """The built-in default: sentences drawn from a small grammar (``data/corpora/synthetic/grammar.py``)."""

    edition = EDITION

    kind: Literal["grammar"] = "grammar"
    tags: Literal["pos", "heads"] = "pos"
    """The tags to learn: the part of speech of each word (``pos``), or its head and the relation to it (``heads``)."""
    seed: int = 0
    """The seed of the sentences."""
    train: PositiveInt = 600
    """The number of sentences in train. ``dev`` and ``test`` are the numbers in those splits."""
    dev: PositiveInt = 200
    test: PositiveInt = 200

    @property
    def task(self) -> TaskOfLayer:
        """Parsing if the field ``tags`` is ``heads``, otherwise tagging."""
        return "parsing" if self.tags == TREES else "tagging"

    def sentences(self, split: str, size: int) -> list[Sentence]:
        """The first ``size`` sentences of a split, with tags or trees."""
        return sentences(self.seed, split, size, parsed=self.tags == TREES)


def sentences(seed: int, split: str, size: int, *, parsed: bool = False) -> list[Sentence]:
    """Draw the first ``size`` sentences of a split. If ``parsed``, they have heads and relations instead of tags.

    Each split is an independent random stream under ``seed``. The words are the same in both cases.
    """
    random = generator(seed, "grammar", split)
    drawn: list[Sentence] = []
    while len(drawn) < size:
        phrase = _Draft(random).sentence()
        if SHORTEST <= len(phrase.words) <= LONGEST:
            drawn.append(phrase.sentence(parsed=parsed))
    return drawn


class _Draft:
    """Draws one sentence, with a method for each phrase.

    ``_tense`` is the reading of every verb that has neither ending nor auxiliary and cannot be a noun. ``_timed`` is
    whether the sentence has such a verb. If so, the sentence ends in a time word.
    """

    def __init__(self, random: np.random.Generator) -> None:
        self._random = random
        self._tense = "PAST" if self._chance(0.5) else "PRESENT"
        self._timed = False

    def sentence(self) -> Phrase:
        """Draw an optional opening, a clause, a time word and the final mark. Some sentences have no time word."""
        shifted = self._chance(0.15)  # rarely, so that networks learn a rule with exceptions
        question = not shifted and self._chance(0.35)
        opening = [word(words.SHIFT, "MARK", "mark")] if shifted else self._maybe(0.3, self._before_comma)
        clause = self._question() if question else self._clause(None)
        time: list[Phrase] = []
        if self._timed or self._chance(0.1):
            form = words.TIMES[_OPPOSITE[self._tense] if shifted else self._tense]
            time = [word(form, "TIME", "advmod")]
        return joined(opening, clause, [*time, word("?" if question else ".", "PUNCT", "punct")]).related("root")

    def _before_comma(self) -> Phrase:
        noun = joined([], self._noun_phrase(), self._maybe(0.6, self._prepositional))
        verbs = [self._verbs(None)] if self._chance(0.5) else []
        opener = self._one(words.MARKS_OR_PREPOSITIONS)
        comma = word(",", "PUNCT", "punct")
        if not verbs:
            return joined([word(opener, "PREP", "case")], noun, [comma]).related("obl")
        return joined([word(opener, "MARK", "mark"), noun.related("nsubj")], verbs[0], [comma]).related("advcl")

    def _question(self) -> Phrase:
        reading = self._one(tuple(words.AUXILIARIES))
        return joined([self._auxiliary(reading)], self._clause(reading))

    def _clause(self, reading: str | None) -> Phrase:
        """Draw a subject, one or two verbs and an object. ``reading``: the verbs' reading, if an auxiliary sets it."""
        if reading != "PARTICIPLE" and self._chance(0.2):
            return self._clause_with_hidden_verb(reading)
        subject = joined(
            [],
            self._pair() if self._chance(0.5) else self._noun_phrase(),
            [*self._maybe(0.3, self._prepositional), *self._maybe(0.5, self._relative)],
        )
        like_a_noun = reading != "PARTICIPLE" and self._chance(0.05)
        verbs = self._noun_as_verb(reading) if like_a_noun else self._verbs(reading)
        return joined([subject.related("nsubj"), *self._maybe(0.3, self._adverb)], verbs, [self._object()])

    def _clause_with_hidden_verb(self, reading: str | None) -> Phrase:
        """Draw a clause such as ``the old guard near the river the dog``, whose only verb is ``guard``."""
        determiner = self._determiner()
        subject = joined([determiner], word(self._one(words.ADJECTIVES_OR_NOUNS), "NOUN", "nsubj"))
        verb = self._noun_as_verb(reading)
        beside = [
            *self._maybe(0.2, self._manner),
            *(each.related("obl") for each in self._maybe(0.7, self._prepositional)),
        ]
        return joined([subject], verb, [*beside, self._object()])

    def _object(self) -> Phrase:
        return joined([], self._noun_phrase(), self._maybe(0.15, self._relative)).related("obj")

    def _pair(self) -> Phrase:
        """Draw a noun phrase such as ``the old guard``, which a verb has to follow."""
        before = [self._determiner(), word(self._one(words.ADJECTIVES_OR_NOUNS), "ADJ", "amod")]
        return joined(before, self._noun())

    def _noun_phrase(self) -> Phrase:
        """Draw an unambiguous noun phrase: a name, a plural, or a noun after a determiner and perhaps an adjective."""
        kind = self._random.random()
        if kind < 0.25:
            return self._name()
        if kind < 0.5:
            return word(self._prefixed(words.NOUNS) + "s", "PLURAL")
        before = [self._determiner()]
        if kind < 0.55:
            before.append(word(self._one(words.ADJECTIVES_OR_NOUNS), "ADJ", "amod"))
            return joined(before, word(self._prefixed(words.NOUNS), "NOUN"))
        before += [word(self._one(words.ADJECTIVES), "ADJ", "amod")] if self._chance(0.15) else []
        return joined(before, word(self._prefixed(words.NOUNS), "NOUN") if kind < 0.6 else self._noun())

    def _prepositional(self) -> Phrase:
        """Draw a prepositional phrase under a noun. A caller that puts it under a verb changes its relation."""
        preposition = word(self._one(words.PREPOSITIONS), "PREP", "case")
        return joined([preposition], self._noun_phrase()).related("nmod")

    def _relative(self) -> Phrase:
        """Draw a clause such as ``that the dog chased`` or ``that chased the dog``. One in four has an auxiliary."""
        opening = [word("that", "MARK", "mark")]
        auxiliary: list[Phrase] = []
        reading = None
        if self._chance(0.25):
            reading = self._one(tuple(words.AUXILIARIES))
            auxiliary = [self._auxiliary(reading)]
        verbs = self._verbs(reading)
        other = self._noun_phrase()
        if self._chance(0.7):
            return joined([*opening, other.related("nsubj"), *auxiliary], verbs).related("acl")
        return joined([*opening, *auxiliary], verbs, [other.related("obj")]).related("acl")

    def _verbs(self, reading: str | None) -> Phrase:
        """Draw a verb, such as ``cut``, or two verbs with the same reading, such as ``cut and followed``."""
        both = self._chance(0.45)
        second = [joined([word("and", "CONJ", "cc")], self._verb(reading)).related("conj")] if both else []
        return joined([], self._verb(reading), second)

    def _verb(self, reading: str | None) -> Phrase:
        """Draw a verb that cannot be a noun. ``reading``: the reading that its auxiliary sets; None without one."""
        if reading != "BASE" and self._chance(0.5 if reading else 0.2):
            return word(self._prefixed(words.VERBS_IN_ED), reading or "PAST")
        self._timed = self._timed or reading is None
        return word(self._one(words.VERBS_WITHOUT_ENDING), reading or self._tense)

    def _noun_as_verb(self, reading: str | None) -> Phrase:
        ending = "s" if reading is None and self._chance(0.5) else ""
        return word(self._one(words.NOUNS_OR_VERBS) + ending, reading or "PRESENT")

    def _auxiliary(self, reading: str) -> Phrase:
        return word(words.AUXILIARIES[reading], "AUX", "aux")

    def _noun(self) -> Phrase:
        stem = self._one(words.NOUNS_OR_VERBS)
        return word(stem + "s", "PLURAL") if self._chance(0.5) else word(stem, "NOUN")

    def _prefixed(self, stems: Sequence[str]) -> str:
        """Draw one of ``stems``, sometimes with a prefix, which makes it a rare word."""
        return (self._one(words.PREFIXES) if self._chance(0.08) else "") + self._one(stems)

    def _name(self) -> Phrase:
        return word(self._one(words.NAME_STARTS) + self._one(words.NAME_ENDS), "NAME")

    def _determiner(self) -> Phrase:
        return word(self._one(words.DETERMINERS), "DET", "det")

    def _manner(self) -> Phrase:
        return word(self._one(words.ADVERBS), "ADV", "advmod")

    def _adverb(self) -> Phrase:
        """Draw an adverb before a verb, or a preposition that is used as an adverb."""
        return word(self._one((*words.ADVERBS, *words.PREPOSITIONS)), "ADV", "advmod")

    def _one(self, choices: Sequence[str]) -> str:
        return choices[int(self._random.integers(len(choices)))]

    def _chance(self, probability: float) -> bool:
        return bool(self._random.random() < probability)

    def _maybe(self, probability: float, phrase: Callable[[], Phrase]) -> list[Phrase]:
        return [phrase()] if self._chance(probability) else []
