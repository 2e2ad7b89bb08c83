"""Phrases with dependency trees, joined from a head and its dependents."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from skipstack.data.formats.sentences import Sentence


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words in order, one of them the head of the others; each with its tag and the relation to its own head.

    ``distances``: how many words to the right its head is, negative to the left; 0 for the head of the phrase, whose
    relation is that of the phrase to its future head. So distances do not change when phrases are joined.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]
    distances: tuple[int, ...]
    relations: tuple[str, ...]

    @property
    def head(self) -> int:
        """The place of the head, from 0."""
        return self.distances.index(0)

    def related(self, relation: str) -> "Phrase":
        """The same phrase under another relation."""
        place = self.head
        return replace(self, relations=(*self.relations[:place], relation, *self.relations[place + 1 :]))

    def sentence(self, *, parsed: bool) -> Sentence:
        """The phrase as a sentence of its own with its tags, or with its relations and heads."""
        if not parsed:
            return Sentence(self.words, self.tags)
        heads = [place + distance if distance else 0 for place, distance in enumerate(self.distances, start=1)]
        return Sentence(self.words, self.relations, tuple(heads))


def word(form: str, tag: str, relation: str = "dep") -> Phrase:
    """A single word; its relation is ``dep`` until its phrase gets one."""
    return Phrase((form,), (tag,), (0,), (relation,))


def joined(before: Sequence[Phrase], head: Phrase, after: Sequence[Phrase] = ()) -> Phrase:
    """``head`` with its dependents on either side, in order."""
    parts = [*before, head, *after]
    starts = list(accumulate((len(part.words) for part in parts), initial=0))
    places = [start + part.head for start, part in zip(starts, parts, strict=False)]
    head_place = places[len(before)]
    distances = [distance for part in parts for distance in part.distances]
    for place in places:
        distances[place] = head_place - place
    return Phrase(
        words=tuple(each for part in parts for each in part.words),
        tags=tuple(each for part in parts for each in part.tags),
        distances=tuple(distances),
        relations=tuple(each for part in parts for each in part.relations),
    )
