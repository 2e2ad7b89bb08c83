"""A forest of regression trees that are grown together: each level of all trees takes a few operations on arrays.

Array legend: T trees; N points (trials); D dimensions; L boxes of a tree; M boxes that are cut on a level (depth), of
all trees together; 2 the lower and the upper bound. A tree cuts the space into at most L boxes; all further boxes are
empty.

A tree is grown from N draws of the points with replacement (Breiman, "Random Forests", 2001). Each box of a level is
cut halfway between two neighbouring points: where the sum of squared residuals of the scores becomes smallest. A box is
not cut if its scores or its points are all equal. Ties between dimensions are broken at random.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]

ROUNDED: Final = 1e-9
"""Sums of squares count as equal if they differ by less than this share of the sum of squares of all scores."""


@dataclass(frozen=True, slots=True)
class Boxes:
    """The boxes of trees, from ``low_TLD`` to ``high_TLD`` (both 0 if empty), with the mean scores ``value_TL``."""

    low_TLD: Array
    high_TLD: Array
    value_TL: Array


def drawn(points: int, trees: int, source: np.random.Generator) -> NDArray[np.int64]:
    """Draw bootstrap samples, and return the number of times that each tree has each point, (T, N)."""
    return source.multinomial(points, np.full(points, 1 / points), size=trees)


def grow(
    place_ND: Array,
    score_N: Array,
    bounds_D2: Array,
    times_TN: NDArray[np.int64],
    depth: int,
    source: np.random.Generator,
) -> Boxes:
    """Grow a tree for each row of ``times_TN``.

    ``place_ND``: the positions of the points. ``score_N``: their scores. ``bounds_D2``: the bounds of each dimension.
    ``times_TN``: the number of times that each tree has each point. ``depth``: the maximum depth of a tree. ``source``:
    breaks ties between dimensions.
    """
    trees, (points, dimensions) = len(times_TN), place_ND.shape
    centred_N = score_N - score_N.mean()
    square = float(centred_N @ centred_N) or 1.0
    low_TLD, high_TLD = np.zeros((2, trees, 2**depth, dimensions))
    low_TLD[:, 0], high_TLD[:, 0] = bounds_D2.T
    box_TN = np.zeros((trees, points), dtype=np.int64)
    by_place_DN = np.argsort(place_ND, axis=0, kind="stable").T
    for boxes in 2 ** np.arange(depth):  # the maximum number of boxes of the level
        level = _Level(place_ND, centred_N, times_TN, by_place_DN, box_TN, int(boxes), ROUNDED * square)
        tree_M, box_M, dimension_M, place_M = level.cuts(source)
        if not len(tree_M):
            break
        # A cut box splits in two: the lower one keeps its number, the upper one gets that number plus ``boxes``.
        for side_TLD in (low_TLD, high_TLD):
            side_TLD[tree_M, box_M + boxes] = side_TLD[tree_M, box_M]
        low_TLD[tree_M, box_M + boxes, dimension_M] = high_TLD[tree_M, box_M, dimension_M] = place_M
        cut_TL, along_TL = np.full((trees, boxes), np.inf), np.zeros((trees, boxes), dtype=np.int64)
        cut_TL[tree_M, box_M], along_TL[tree_M, box_M] = place_M, dimension_M
        own_TN = place_ND[np.arange(points), np.take_along_axis(along_TL, box_TN, axis=1)]
        box_TN = box_TN + boxes * (own_TN > np.take_along_axis(cut_TL, box_TN, axis=1))
    weight_TL, sum_TL = (_totals(times_TN * each_N, box_TN, 2**depth) for each_N in (np.ones(points), centred_N))
    return Boxes(low_TLD, high_TLD, sum_TL / np.maximum(weight_TL, 1) + score_N.mean())


class _Level:
    """A level (depth) of all trees: finds the best cuts of all its boxes together.

    For each tree and dimension, the points are sorted by box and, within a box, by position. Points that were not drawn
    for a tree are in an additional last box, which is not cut.
    """

    def __init__(
        self,
        place_ND: Array,
        score_N: Array,
        times_TN: NDArray[np.int64],
        by_place_DN: NDArray[np.int64],
        box_TN: NDArray[np.int64],
        boxes: int,
        rounded: float,
    ) -> None:
        self._boxes, self._rounded = boxes, rounded
        # NumPy sorts integers as small as uint8 by counting, which is fast.
        apart_TN = np.where(times_TN > 0, box_TN, boxes).astype(np.uint8)
        box_TDN = apart_TN[:, by_place_DN]
        sorted_TDN = np.argsort(box_TDN, axis=2, kind="stable")
        point_TDN = np.take_along_axis(np.broadcast_to(by_place_DN, box_TDN.shape), sorted_TDN, axis=2)
        self._box_TDN = np.take_along_axis(box_TDN, sorted_TDN, axis=2).astype(np.int64)
        self._place_TDN = place_ND[point_TDN, np.arange(place_ND.shape[1])[:, None]]
        tree_T11 = np.arange(len(times_TN))[:, None, None]
        self._count_TL = _totals(np.ones(times_TN.shape), apart_TN, boxes + 1).astype(np.int64)
        weight_TL, sum_TL, square_TL = (
            _totals(times_TN * each_N, apart_TN, boxes + 1) for each_N in (np.ones_like(score_N), score_N, score_N**2)
        )
        times_TDN = times_TN[tree_T11, point_TDN]
        below_TDN = np.cumsum(times_TDN, axis=2) - _before(weight_TL)[tree_T11, self._box_TDN]
        sum_TDN = np.cumsum(times_TDN * score_N[point_TDN], axis=2) - _before(sum_TL)[tree_T11, self._box_TDN]
        above_TDN = np.maximum(weight_TL[tree_T11, self._box_TDN] - below_TDN, 1)
        rest_TDN = sum_TL[tree_T11, self._box_TDN] - sum_TDN
        unequal_TL = square_TL - sum_TL**2 / np.maximum(weight_TL, 1) > rounded
        between_TDN = np.diff(self._box_TDN, axis=2, append=-1) == 0
        between_TDN &= np.diff(self._place_TDN, axis=2, append=np.inf) > 0
        between_TDN &= unequal_TL[tree_T11, self._box_TDN]
        explained_TDN = sum_TDN**2 / np.maximum(below_TDN, 1) + rest_TDN**2 / above_TDN
        self._explained_TDN = np.where(between_TDN, explained_TDN, -np.inf)

    def cuts(
        self, source: np.random.Generator
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], Array]:
        """Return the tree, box, dimension and position of the best cut of each box; ``source`` breaks ties."""
        trees, dimensions, points = self._explained_TDN.shape
        first_TL = _before(self._count_TL)
        row_TD1 = points * np.arange(trees * dimensions).reshape(trees, dimensions, 1)
        there_TDL = np.broadcast_to(self._count_TL[:, None] > 0, (trees, dimensions, self._boxes + 1))
        best_TDL = np.full(there_TDL.shape, -np.inf)
        starts = (row_TD1 + first_TL[:, None])[there_TDL]
        best_TDL[there_TDL] = np.maximum.reduceat(self._explained_TDN.ravel(), starts)
        best_TL = best_TDL.max(axis=1)
        tree_M, box_M = np.nonzero(best_TL > -np.inf)
        least_M = best_TL[tree_M, box_M] - self._rounded
        equal_MD = best_TDL[tree_M, :, box_M] >= least_M[:, None]
        dimension_M = np.where(equal_MD, source.random(equal_MD.shape), -1.0).argmax(axis=1)
        as_good_MN = self._explained_TDN[tree_M, dimension_M] >= least_M[:, None]
        as_good_MN &= self._box_TDN[tree_M, dimension_M] == box_M[:, None]
        last_M = as_good_MN.argmax(axis=1)
        low_M, high_M = (self._place_TDN[tree_M, dimension_M, each_M] for each_M in (last_M, last_M + 1))
        middle_M = (low_M + high_M) / 2
        place_M = np.where(middle_M < high_M, middle_M, low_M)  # no float lies between neighbouring floats
        return tree_M, box_M, dimension_M, place_M


def _totals(each_TN: Array, box_TN: NDArray[Any], boxes: int) -> Array:
    """Return the sum of ``each_TN`` over the points of each box, (T, L). ``box_TN``: the box of each point."""
    trees = len(each_TN)
    flat = (box_TN + boxes * np.arange(trees)[:, None]).ravel()
    return np.bincount(flat, each_TN.ravel(), minlength=trees * boxes).reshape(trees, boxes).astype(float)


def _before(total_TL: NDArray[Any]) -> NDArray[Any]:
    """Return, for each box, the sum of ``total_TL`` over the earlier boxes of the same tree."""
    return np.asarray(np.cumsum(total_TL, axis=1) - total_TL)
