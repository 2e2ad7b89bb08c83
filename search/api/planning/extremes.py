"""Finds the smallest and the largest network of a space by local search."""

from collections.abc import Callable

import numpy as np

from skipstack.data.basis.frozen import canonical_json
from skipstack.spaces.space import Point, Space
from skipstack.spaces.subject import Subject

LOOKED_AT = 64
"""The number of random points. The search starts from the smallest and the largest of these points."""


def extremes(space: Space, size: Callable[[Subject], int], generator: np.random.Generator) -> tuple[Point, Point]:
    """Search for the points (a value for each axis) with the smallest and the largest config, and return both.

    ``size`` returns the size of a config. The search starts from the smallest and the largest of ``LOOKED_AT`` random
    points. It changes one axis at a time (to any value of a choice, or an end of a range with a step) for as long as
    that helps. It may miss a better point that differs on several axes. Continuous axes stay as they are: they do not
    change a network's size.
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
    """Change one finite axis at a time to another value of a choice or to an end of a range (``Domain.ends``), until no
    change increases ``height``.
    """
    while True:
        below = height(point)
        for path in list(point):
            domain = space.domains[path]
            for value in domain.ends if domain.finite else ():
                # Axes that an earlier change deactivated are skipped.
                if path in point and space.allowed(other := space.moved(point, path, value)):
                    point = max(point, other, key=height)
        if height(point) == below:
            return point
