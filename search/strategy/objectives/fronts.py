"""Incremental non-dominated sorting: points are added one by one, and their ranks are updated at each addition.

A point has the values of one trial in all objectives. ``search/strategy/objectives/pareto.py`` defines its rank and its
place (the number of points ordered before it). Shapes: N distinct points, K objectives.
"""

from collections.abc import Iterator
from typing import final

import numpy as np
from numpy.typing import NDArray

from skipstack.search.strategy.objectives.pareto import Vector, net

Places = NDArray[np.intp]


@final
class Fronts:
    """The points added so far, sorted into non-dominated ranks. Equal points are stored once, with a count.

    The rank of a new point is 1 plus the highest rank number of the points that dominate it. If no point does, the rank
    is 0. The existing points of this rank that the new point dominates move to the next rank. There, the points that
    the moved points dominate move one rank further, and so on (Li et al., "Efficient Nondomination Level Update Method
    for Steady-State Evolutionary Multiobjective Optimization", 2017). Adding a point takes O(N) time if no other point
    moves. Epsilon-nets are computed only as far as needed.
    """

    def __init__(self) -> None:
        self._places: dict[Vector, int] = {}
        """The row of each distinct point in ``_distinct`` and in the arrays, which have spare rows at their ends."""
        self._distinct: list[Vector] = []
        self._points_NK = np.empty((0, 0))
        self._ranks_N = np.empty(0, dtype=np.int64)
        self._times_N = np.empty(0, dtype=np.int64)

    def __len__(self) -> int:
        """The number of added points; equal points count separately."""
        return int(self._times_N.sum())

    def add(self, point: Vector) -> None:
        """Add a point, and update the ranks of the points that it dominates."""
        if (known := self._places.get(point)) is not None:
            self._times_N[known] += 1
            return
        place = self._places[point] = len(self._distinct)
        self._distinct.append(point)
        if place == len(self._points_NK):
            self._grow(len(point))
        self._points_NK[place] = point
        self._times_N[place] = 1
        points_NK, own_K = self._points_NK[:place], self._points_NK[place]
        above_N, below_N = (points_NK >= own_K).all(axis=1), (points_NK <= own_K).all(axis=1)
        rank = int(self._ranks_N[:place][above_N].max(initial=-1)) + 1
        self._ranks_N[place] = rank
        self._push(np.array([place]), np.flatnonzero(below_N), rank)

    def rank(self, point: Vector) -> int:
        """The rank of an added point; 0 is the Pareto front."""
        return int(self._ranks_N[self._places[point]])

    def times(self, point: Vector) -> int:
        """The number of times that ``point`` was added."""
        return int(self._times_N[self._places[point]])

    def before(self, rank: int) -> int:
        """The number of added points with a rank below ``rank``; equal points count separately."""
        return int(self._times_N[self._ranks_N < rank].sum())  # the count of an unused row is 0

    def order(self, rank: int, first: Vector | None = None) -> Iterator[Vector]:
        """Yields the points of a rank in epsilon-net order. Ties go to ``first``, then to the earliest point."""
        alike = [self._distinct[place] for place in self._of(rank)]
        if first in alike:
            alike = [first, *(point for point in alike if point != first)]
        return (alike[place] for place in net(alike))

    def place(self, point: Vector, *, most: int) -> int:
        """The place of ``point``, or ``most`` if that is smaller. Call this only for the point added last, which wins
        ties in its epsilon-net.
        """
        before = self.before(rank := self.rank(point))
        for other in self.order(rank, point):
            if other == point or before >= most:
                break
            before += self.times(other)
        return min(before, most)

    def place_at(self, position: int, first: Vector) -> int:
        """The place of the point at ``position`` in the order of all points. It is less than ``position`` only if an
        equal point comes before. ``first``: the point added last, which wins ties in its epsilon-net.
        """
        used = len(self._distinct)
        sizes = np.bincount(self._ranks_N[:used], weights=self._times_N[:used]).astype(np.int64)
        rank = int(np.searchsorted(np.cumsum(sizes), position, side="right"))
        if (self._times_N[self._of(rank)] == 1).all():
            return position
        start = int(sizes[:rank].sum())
        for point in self.order(rank, first):
            if start + self.times(point) > position:
                break
            start += self.times(point)
        return start

    def _of(self, rank: int) -> Places:
        return np.flatnonzero(self._ranks_N[: len(self._distinct)] == rank)

    def _push(self, moving: Places, candidates: Places, rank: int) -> None:
        """Move the candidates that are of rank ``rank`` and dominated by a moving point to the next rank. Repeat there
        with the moved candidates as moving points. ``moving``, ``candidates``: the rows of points in the arrays.
        """
        while len(moving):
            there = candidates[self._ranks_N[candidates] == rank]
            there = np.setdiff1d(there, moving, assume_unique=True)
            beaten = (self._points_NK[moving][:, None] >= self._points_NK[there]).all(axis=2).any(axis=0)
            moving = there[beaten]
            rank += 1
            self._ranks_N[moving] = rank

    def _grow(self, objectives: int) -> None:
        size = max(16, 2 * len(self._points_NK))
        points_NK = np.empty((size, objectives))
        points_NK[: len(self._points_NK)] = self._points_NK.reshape(len(self._points_NK), objectives)
        self._points_NK = points_NK
        self._ranks_N = np.concatenate([self._ranks_N, np.zeros(size - len(self._ranks_N), dtype=np.int64)])
        self._times_N = np.concatenate([self._times_N, np.zeros(size - len(self._times_N), dtype=np.int64)])
