"""Dominance by its definition, one pair at a time."""

from collections.abc import Sequence
from itertools import pairwise

Vector = tuple[float, ...]


def dominates(one: Vector, other: Vector) -> bool:
    """At least as good in every objective, better in one; larger is better."""
    return all(a >= b for a, b in zip(one, other, strict=True)) and any(a > b for a, b in zip(one, other, strict=True))


def ranks(points: Sequence[Vector]) -> list[int]:
    """The length of the longest chain of points that dominate each other and then this one, by enumerating chains.

    This is the rank by peeling fronts off: a point's front comes right after that of the worst point that dominates it.
    """

    def longest(point: Vector) -> int:
        return max((1 + longest(other) for other in points if dominates(other, point)), default=0)

    return [longest(point) for point in points]


def spread(order: Sequence[Vector]) -> bool:
    """Whether each point is, of those after it, one that is farthest from all before it. Coordinates as they come."""

    def gap(point: Vector, before: Sequence[Vector]) -> float:
        return min(sum((a - b) ** 2 for a, b in zip(point, other, strict=True)) ** 0.5 for other in before)

    for place, (_, point) in enumerate(pairwise(order), start=1):
        if any(gap(later, order[:place]) > gap(point, order[:place]) + 1e-12 for later in order[place + 1 :]):
            return False
    return True
