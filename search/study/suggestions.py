"""What earlier studies on other corpora are good for: their best trials are tried first."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Final

from skipstack.data.basis.frozen import canonical_json
from skipstack.search.ledger.events import Suggestion
from skipstack.spaces.space import Point

MOST: Final = 5
"""Trials that begin a study because they were good elsewhere, at most. In replayed studies the first is worth most, and
ten are worth no more than five (``docs/schedulers.md``)."""

OF_TRIALS: Final = 4
"""At most one in so many of a study's trials is one of them, but for the first."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A trial of an earlier study, the ``rank``-th best of it on its corpus, as a point of this study's space."""

    study: str
    trial: int
    rank: int
    similarity: float
    point: Point


def suggestions(candidates: Iterable[Candidate], base: Point, trials: int) -> tuple[Suggestion, ...]:
    """The candidates that a study of so many ``trials`` begins with, in their order.

    They are ordered by rank / similarity: the second best trial on a corpus comes before the best one on a corpus that
    is not half as similar. What is proposed anyway, the ``base``, and points that came before are left out.
    """
    different: dict[str, Candidate] = {}
    for each in sorted(candidates, key=lambda each: each.rank / each.similarity):
        different.setdefault(canonical_json(each.point), each)
    different.pop(canonical_json(base), None)
    return tuple(
        Suggestion(study=each.study, trial=each.trial, similarity=each.similarity, point=each.point)
        for each in islice(different.values(), max(1, min(MOST, trials // OF_TRIALS)))
    )
