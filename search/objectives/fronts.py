"""Points that arrive one by one, with their non-dominated ranks and places kept up to date.

Shapes: N distinct points, K objectives. What ranks and places are is defined in ``search/objectives/pareto.py``.
"""

from collections.abc import Iterator
from typing import final

import numpy as np
from numpy.typing import NDArray

from skipstack.search.objectives.pareto import Vector, net_order

Places = NDArray[np.intp]


@final
class Fronts:
    """The points that arrived, equal ones once with how many there are.

    A point comes right after the worst that dominates it: its rank is theirs plus 1. Of the points of its rank those
    that it dominates move to the next rank, of that one those that these dominate move on, and so on (Li et al.,
    "Efficient Nondomination Level Update Method for Steady-State Evolutionary Multiobjective Optimization", 2017). An
    arrival takes time in N, and of the epsilon-nets only what is asked for is computed.
    """

    def __init__(self) -> None:
        self._places: dict[Vector, int] = {}
        """Where each distinct point stands in what follows."""
        self._distinct: list[Vector] = []
        self._points_NK = np.empty((0, 0))
        self._ranks_N = np.empty(0, dtype=np.int64)
        self._times_N = np.empty(0, dtype=np.int64)

    def __len__(self) -> int:
        """How many points arrived, equal ones counted one by one."""
        return int(self._times_N.sum())

    def add(self, point: Vector) -> None:
        """A point arrives."""
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
        """The rank of a point that arrived."""
        return int(self._ranks_N[self._places[point]])

    def times(self, point: Vector) -> int:
        """How many points that arrived equal this one."""
        return int(self._times_N[self._places[point]])

    def before(self, rank: int) -> int:
        """How many points have a lower rank."""
        return int(self._times_N[self._ranks_N < rank].sum())  # places that are not used yet have no point

    def order(self, rank: int, first: Vector | None = None) -> Iterator[Vector]:
        """The points of a rank by their epsilon-net, equal ones once. Where two go alike, ``first`` goes before all
        others, and then whatever arrived first.
        """
        alike = [self._distinct[place] for place in self._of(rank)]
        if first in alike:
            alike = [first, *(point for point in alike if point != first)]
        return (alike[place] for place in net_order(alike))

    def place(self, point: Vector, *, most: int) -> int:
        """How many points go before one that arrived last, where that is less than ``most``; else ``most``."""
        before = self.before(rank := self.rank(point))
        for other in self.order(rank, point):
            if other == point or before >= most:
                break
            before += self.times(other)
        return min(before, most)

    def place_at(self, position: int, first: Vector) -> int:
        """The place of the point at a ``position`` in the order of all, ``first`` being the one that arrived last."""
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
        """Points that came to ``rank`` move those of the ``candidates`` there that they dominate to the next one."""
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
