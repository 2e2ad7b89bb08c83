"""Phrases with dependency trees. A phrase is joined from a head and its dependents."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from skipstack.data.formats.sentences import Sentence


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words in order, with their tags and their dependency tree. One word is the head of the phrase.

    ``words``: the words. ``tags``: the tag of each word. ``distances``: for each word, the position of its head minus
    its own; 0 for the head of the phrase. Joining phrases changes it only for the heads of dependents. ``relations``:
    the relation of each word to its head. The head of the phrase has the relation to the word that will become its
    head.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]
    distances: tuple[int, ...]
    relations: tuple[str, ...]

    @property
    def head(self) -> int:
        """The position of the phrase's head, from 0."""
        return self.distances.index(0)

    def related(self, relation: str) -> "Phrase":
        """Copy the phrase with ``relation`` as its relation to the word that will become its head."""
        place = self.head
        return replace(self, relations=(*self.relations[:place], relation, *self.relations[place + 1 :]))

    def sentence(self, *, parsed: bool) -> Sentence:
        """Convert the phrase to a sentence. If ``parsed``, it has relations and heads instead of tags."""
        if not parsed:
            return Sentence(self.words, self.tags)
        heads = [place + distance if distance else 0 for place, distance in enumerate(self.distances, start=1)]
        return Sentence(self.words, self.relations, tuple(heads))


def word(form: str, tag: str, relation: str = "dep") -> Phrase:
    """Create a phrase of a single word. ``relation``: the relation to the word that will become its head."""
    return Phrase((form,), (tag,), (0,), (relation,))


def joined(before: Sequence[Phrase], head: Phrase, after: Sequence[Phrase] = ()) -> Phrase:
    """Join ``head`` with its dependents ``before`` and ``after`` it, in order."""
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
