"""Counts the trials of a whole study before they are proposed."""

import math
from typing import Final

from skipstack.data.basis.frozen import canonical_json
from skipstack.search.strategy.proposers.config import ListedConfig
from skipstack.search.study.config import StudyConfig
from skipstack.spaces.space import Space

COUNTED: Final = 1000
"""The points of a space are counted only if it has at most this many combinations."""


def study_size(study: StudyConfig, space: Space, *, begins_with_base: bool = True) -> int:
    """The number of trials that the study asks for, or the number of points that its proposer finds, if that is less.

    ``space``: the study's space. A space that is infinite, or too large to be counted quickly (``COUNTED``), has enough
    points. ``begins_with_base``: whether the base is tried before listed points (``StudyRecord.begins_with_base``).
    """
    points = _points(study, space, begins_with_base)
    return study.search.trials if points is None else min(study.search.trials, points)


def _points(study: StudyConfig, space: Space, begins_with_base: bool) -> int | None:
    proposer, base = study.search.proposer, study.space.base
    if isinstance(proposer, ListedConfig):
        first = [space.point(base)] if begins_with_base and space.contains(base) else []
        return len({canonical_json(point) for point in (*first, *proposer.points)})
    if not space.finite:
        return None
    sizes = [len(domain.values) for domain in space.domains.values()]
    if proposer.kind == "one_at_a_time":
        return sum(1 for _ in space.one_at_a_time()) if sum(sizes) <= COUNTED else None
    return space.count() if math.prod(sizes) <= COUNTED else None
