"""Suggests the best trials of earlier studies on other corpora, which the new study tries first."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Final

from skipstack.data.basis.frozen import canonical_json
from skipstack.search.ledger.events import Suggestion
from skipstack.spaces.space import Point

MOST: Final = 5
"""The maximum number of suggestions. In replayed studies, the first suggestion helps most, and ten help no more than
five (``docs/schedulers.md``).
"""

OF_TRIALS: Final = 4
"""A study has one suggestion for each ``OF_TRIALS`` of its trials, but at least one and at most ``MOST``."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A trial that may be suggested. ``rank``: its rank, from 1, among its study's usable trials on the same corpus."""

    rank: int
    suggestion: Suggestion


def suggestions(candidates: Iterable[Candidate], base: Point, trials: int) -> tuple[Suggestion, ...]:
    """Choose the suggestions of a study with this number of ``trials``, in the order in which it tries them.

    The candidates are ordered by rank / similarity, so the second best trial on a corpus comes before the best trial on
    a corpus less than half as similar. Duplicates and the point ``base``, which is proposed anyway, are left out.
    """
    different: dict[str, Suggestion] = {}
    for each in sorted(candidates, key=lambda each: each.rank / each.suggestion.similarity):
        different.setdefault(canonical_json(each.suggestion.point), each.suggestion)
    different.pop(canonical_json(base), None)
    return tuple(islice(different.values(), max(1, min(MOST, trials // OF_TRIALS))))
