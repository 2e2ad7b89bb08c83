"""Suggestions from earlier studies on other corpora: their best trials are tried first."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Final

from skipstack.data.basis.frozen import canonical_json
from skipstack.search.ledger.events import Suggestion
from skipstack.spaces.space import Point

MOST: Final = 5
"""The maximum number of suggestions. In replayed studies the first one helps most, and ten help no more than five
(``docs/schedulers.md``)."""

OF_TRIALS: Final = 4
"""Minimum number of a study's trials for each suggestion; one suggestion is always allowed."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A trial that may be suggested: the ``rank``-th best of its study on its corpus."""

    rank: int
    suggestion: Suggestion


def suggestions(candidates: Iterable[Candidate], base: Point, trials: int) -> tuple[Suggestion, ...]:
    """The candidates that a study of so many ``trials`` tries first, in their order.

    They are ordered by rank / similarity: the second best trial on a corpus comes before the best one on a corpus less
    than half as similar. The ``base``, which is proposed anyway, and duplicates are left out.
    """
    different: dict[str, Suggestion] = {}
    for each in sorted(candidates, key=lambda each: each.rank / each.suggestion.similarity):
        different.setdefault(canonical_json(each.suggestion.point), each.suggestion)
    different.pop(canonical_json(base), None)
    return tuple(islice(different.values(), max(1, min(MOST, trials // OF_TRIALS))))
