"""A local search for the smallest and the largest network of a space."""

from collections.abc import Callable, Iterator

import numpy as np

from skipstack.data.basis.frozen import canonical_json
from skipstack.spaces.domains import Choice, Domain, Integer, Json
from skipstack.spaces.space import Point, Space
from skipstack.spaces.subject import Subject

LOOKED_AT = 64
"""The number of random points from which the search starts."""


def extremes(space: Space, size: Callable[[Subject], int], generator: np.random.Generator) -> tuple[Point, Point]:
    """Points of the smallest and the largest ``size``: from the best of ``LOOKED_AT`` random points, one axis is
    changed at a time as long as that helps. A point that needs changes of several axes at once may be missed.
    """
    sizes: dict[str, int] = {}

    def measured(point: Point) -> int:
        text = canonical_json(point)
        if text not in sizes:
            sizes[text] = size(space.config(point))
        return sizes[text]

    drawn = [space.sample(generator) for _ in range(LOOKED_AT)]
    smallest = _climb(space, min(drawn, key=measured), lambda point: -measured(point))
    return smallest, _climb(space, max(drawn, key=measured), measured)


def _climb(space: Space, point: Point, height: Callable[[Point], int]) -> Point:
    """Hill-climb from ``point`` until no change of an axis increases ``height``."""
    while True:
        below = height(point)
        for path in list(point):
            for value in _far(space.domains[path]):
                # Axes that an earlier change deactivated are skipped.
                if path in point and space.allowed(other := space.moved(point, path, value)):
                    point = max(point, other, key=height)
        if height(point) == below:
            return point


def _far(domain: Domain) -> Iterator[Json]:
    """The values to try: all choices, or the two ends of a range of integers; none of other numbers, which change no
    size.
    """
    match domain:
        case Choice():
            yield from domain.values
        case Integer():
            yield from (domain.low, domain.high)
        case _:
            pass
