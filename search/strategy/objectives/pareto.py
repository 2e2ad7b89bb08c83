"""Multi-objective comparisons: the Pareto front, non-dominated ranks, and an order of all points.

A point has the values of one trial in all objectives. Larger is better. A value that was not measured is -inf, the
worst value. Shapes: N points, K objectives.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Vector = tuple[float, ...]
"""The values of a trial in all objectives, in the study's order."""

Points = Sequence[Vector]


def front(points: Points) -> list[int]:
    """The indices of the points on the Pareto front, that is, of the points that no other point dominates. Equal points
    do not dominate each other, so either all or none of them are on the front.
    """
    best: set[Vector] = set()
    left_NK = np.asarray(sorted(set(points), reverse=True))  # a point that dominates another comes before it
    while len(left_NK):
        best.add(tuple(left_NK[0].tolist()))
        left_NK = left_NK[(left_NK > left_NK[0]).any(axis=1)]
    return [place for place, point in enumerate(points) if point in best]


def ranks(points: Points) -> list[int]:
    """The rank of each point by non-dominated sorting (Deb et al., 2002). Points on the Pareto front have rank 0;
    points on the front of the remaining points have rank 1, and so on.

    A point a dominates b if a_k >= b_k in each objective k and a_k > b_k in at least one. Takes O(N²) time and memory.
    """
    if not points:
        return []
    points_NK = np.asarray(points, dtype=np.float64)
    dominates_NN = np.ones((len(points), len(points)), dtype=bool)
    better_NN = np.zeros_like(dominates_NN)
    for values_N in points_NK.T:
        dominates_NN &= values_N[:, None] >= values_N
        better_NN |= values_N[:, None] > values_N
    dominates_NN &= better_NN
    above_N = dominates_NN.sum(axis=0)
    ranks_N = np.full(len(points), -1)
    rank = 0
    while (left_N := ranks_N < 0).any():
        now_N = left_N & (above_N == 0)
        ranks_N[now_N] = rank
        above_N = above_N - dominates_NN[now_N].sum(axis=0)
        rank += 1
    found: list[int] = ranks_N.tolist()
    return found


def places(points: Points) -> list[int]:
    """The place of each point, that is, the number of points before it. Points are ordered by rank and, within a rank,
    by the epsilon-net of its points (``net``). So the first points of the order are spread along the front, however
    many are taken.

    Equal points have equal places. With a single objective, the place is the number of larger values.
    """
    distinct = list(dict.fromkeys(points))
    order: list[Vector] = []
    if distinct and len(distinct[0]) == 1:
        order = sorted(distinct, reverse=True)
    else:
        rank_of = dict(zip(distinct, ranks(distinct), strict=True))
        for rank in range(max(rank_of.values(), default=-1) + 1):
            alike = [point for point in distinct if rank_of[point] == rank]
            order += [alike[place] for place in net(alike)]
    place_of: dict[Vector, int] = {}
    times, before = Counter(points), 0
    for point in order:
        place_of[point] = before
        before += times[point]
    return [place_of[point] for point in points]


def best(points: Points, most: int) -> list[int]:
    """The indices of the first ``most`` points in the order of ``places``. Only the ranks needed are computed. With
    several objectives, repetitions of a point come after all distinct points of its rank.
    """
    left = list(range(len(points)))
    if points and len(points[0]) == 1:
        return sorted(left, key=lambda place: -points[place][0])[:most]
    found: list[int] = []
    while left and len(found) < most:
        rank = [left[place] for place in front([points[place] for place in left])]
        found += [rank[place] for place in net([points[place] for place in rank])]
        left = sorted(set(left) - set(rank))
    return found[:most]


def net(points: Points) -> Iterator[int]:
    """Yields the indices of points in the order of their greedy epsilon-net, each in O(N) time. Call this only if no
    point dominates another.

    The first point is the best in the first objective. Each further point is the one with the largest distance to its
    nearest predecessor. Distances are Euclidean; each objective is scaled to [0, 1], and values that were not measured
    are set to -1. Ties go to the earliest point.

    Source: Salinas et al., "A Multi-objective Perspective on Jointly Tuning Hardware and Hyperparameters" (2021). It is
    the tie-break of Schmucker et al., "Multi-objective Asynchronous Successive Halving" (2021).
    """
    if not points:
        return
    scaled_KN = np.ascontiguousarray(_scaled(np.asarray(points, dtype=np.float64)).T)
    taken = max(range(len(points)), key=lambda place: (points[place][0], -place))
    nearest_N = np.full(len(points), np.inf)
    for _ in range(len(points) - 1):
        yield taken
        apart_KN = scaled_KN - scaled_KN[:, taken, None]
        np.minimum(nearest_N, np.sqrt((apart_KN * apart_KN).sum(axis=0)), out=nearest_N)
        nearest_N[taken] = -1.0  # stays the minimum, since distances are at least 0
        taken = int(np.argmax(nearest_N))
    yield taken


def _scaled(points_NK: NDArray[np.float64]) -> NDArray[np.float64]:
    measured_NK = np.isfinite(points_NK)
    low_K = np.where(measured_NK, points_NK, np.inf).min(axis=0)
    high_K = np.where(measured_NK, points_NK, -np.inf).max(axis=0)
    width_K = np.where(high_K > low_K, high_K - low_K, 1.0)
    scaled_NK: NDArray[np.float64] = np.where(
        measured_NK, (points_NK - np.where(measured_NK, low_K, 0)) / width_K, -1.0
    )
    return scaled_NK
