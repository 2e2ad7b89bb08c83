"""Parzen estimators: densities estimated by placing a kernel around each known point.

Shapes: N known points, K = N + 1 kernels, A axes, M candidates, V values of a choice.
"""

from collections.abc import Sequence
from typing import Protocol, final

import numpy as np
from numpy.typing import NDArray

from skipstack.search.strategy.proposers.encoding import Numbers
from skipstack.spaces.domains import Domain, Range

NARROWEST = 100
"""The width of a number's kernel is at least the number's range divided by this."""


class Uniform(Protocol):
    """A generator of random numbers that are uniform in [0, 1)."""

    def random(self, size: int) -> Numbers:
        """Draw ``size`` numbers."""


@final
class Parzen:
    """A density estimated from known points: p(x) = sum_k w_k prod_a p_ka(x_a) (Bergstra et al., 2011; Falkner et al.,
    2018). w_k is the weight of kernel k, and p_ka its density on axis a. Each known point has a kernel, and a further
    kernel with weight 1 covers the whole space. The weights are then scaled to sum to 1. ``_Normals`` are the kernels
    of numbers, ``_Categories`` the kernels of choices.

    ``domains``: the domain of each axis. ``rows_NA``: the known points, as rows of ``Encoding``. ``weights_N``: their
    weights.
    """

    def __init__(self, domains: Sequence[Domain], rows_NA: Numbers, weights_N: Numbers) -> None:
        weights_K = np.append(weights_N, 1.0)
        self._weights_K = weights_K / weights_K.sum()
        self._axes = [
            _Normals(seen_N, domain) if domain.ordered else _Categories(seen_N.astype(int), len(domain.values))
            for domain, seen_N in zip(domains, rows_NA.T, strict=True)
        ]

    def drawn(self, source: Uniform, count: int) -> Numbers:
        """Draw ``count`` points from this density, as rows of A columns."""
        ends_K = np.cumsum(self._weights_K)
        kernel_M = np.searchsorted(ends_K / ends_K[-1], source.random(count), side="right")
        return np.stack([axis.drawn(kernel_M, source.random(count)) for axis in self._axes], axis=1)

    def log(self, rows_MA: Numbers) -> Numbers:
        """The logarithm of the density at each of M points."""
        logs_MK = sum(axis.logs(x_M) for axis, x_M in zip(self._axes, rows_MA.T, strict=True)) + np.log(self._weights_K)
        most_M = logs_MK.max(axis=1)
        found_M: Numbers = np.log(np.exp(logs_MK - most_M[:, None]).sum(axis=1)) + most_M
        return found_M


@final
class _Categories:
    """The K kernels of a choice. The kernel at a known point gives the point's value the probability
    (1 + 1/K) / (1 + V/K), and each other value the probability 1/K / (1 + V/K). The last kernel is uniform.
    """

    def __init__(self, index_N: NDArray[np.int_], values: int) -> None:
        kernels = len(index_N) + 1
        shares_KV = np.full((kernels, values), 1 / kernels)
        shares_KV[np.arange(len(index_N)), index_N] += 1
        self._shares_KV = shares_KV / shares_KV.sum(axis=1, keepdims=True)

    def drawn(self, kernel_M: NDArray[np.int_], uniform_M: Numbers) -> Numbers:
        """Draw a value's index from each kernel in ``kernel_M``. ``uniform_M``: random numbers in [0, 1)."""
        ends_MV = np.cumsum(self._shares_KV[kernel_M], axis=1)[:, :-1]
        found_M: Numbers = (ends_MV < uniform_M[:, None]).sum(axis=1).astype(float)
        return found_M

    def logs(self, index_M: Numbers) -> Numbers:
        """The logarithm of the probability of each of M values under each kernel, of shape (M, K)."""
        found_MK: Numbers = np.log(self._shares_KV)[:, index_M.astype(int)].T
        return found_MK


@final
class _Normals:
    """The K kernels of a number: normal distributions around the positions of the known points, truncated at the ends
    of the range. A value of a range with a step gets the probability of all positions that are nearer to it than to any
    other value. The last kernel is centred in the middle of the range and as wide as the range.

    The width of a kernel, its standard deviation, is the distance from its point to the farther of the two neighbouring
    points. The first and the last point have a single neighbour. If there is only one point, its neighbours are the
    ends of the range. The width is at most the range, and at least the range divided by the smaller of K + 1 and
    ``NARROWEST``. A range with a step is extended by half a step at either end.
    """

    def __init__(self, position_N: Numbers, domain: Domain) -> None:
        self._step = 1 / domain.steps if domain.steps else 0.0
        self._uneven = domain if isinstance(domain, Range) and domain.is_uneven else None
        low, high = self._uneven.span if self._uneven else (-self._step / 2, 1 + self._step / 2)
        order = np.argsort(position_N)
        gaps = np.diff(np.concatenate([[low], position_N[order], [high]]))
        width_N = np.empty(len(order))
        width_N[order] = np.maximum(gaps[:-1], gaps[1:])
        if len(order) > 1:
            width_N[order[[0, -1]]] = gaps[[1, -2]]
        narrowest = (high - low) / min(NARROWEST, len(order) + 2)
        self._at_K = np.append(position_N, 0.5)
        self._width_K = np.append(np.clip(width_N, narrowest, high - low), high - low)
        self._before_K = _below((low - self._at_K) / self._width_K)
        self._inside_K = _below((high - self._at_K) / self._width_K) - self._before_K

    def drawn(self, kernel_M: NDArray[np.int_], uniform_M: Numbers) -> Numbers:
        """Draw a position from each kernel in ``kernel_M``. ``uniform_M``: random numbers in [0, 1)."""
        from scipy.special import ndtri

        away_M = ndtri(self._before_K[kernel_M] + uniform_M * self._inside_K[kernel_M])
        position_M = self._at_K[kernel_M] + self._width_K[kernel_M] * away_M
        if self._step:
            position_M = np.round(position_M / self._step) * self._step
        elif self._uneven:
            position_M = self._uneven.cells(position_M)[1]
        found_M: Numbers = np.clip(position_M, 0.0, 1.0)
        return found_M

    def logs(self, position_M: Numbers) -> Numbers:
        """The logarithm of the density at each of M positions under each kernel, of shape (M, K). In a range with a
        step, it is the logarithm of the value's probability, which is -inf far from the kernel.
        """
        away_MK = -np.abs(position_M[:, None] - self._at_K) / self._width_K  # ndtr is exact for negative numbers
        found_MK: Numbers = -0.5 * away_MK**2 - np.log(self._width_K * self._inside_K * np.sqrt(2 * np.pi))
        if self._step or self._uneven:
            near_MK, far_MK = self._halves(position_M)
            with np.errstate(divide="ignore"):
                found_MK = np.log((_below(away_MK + near_MK) - _below(away_MK - far_MK)) / self._inside_K)
        return found_MK

    def _halves(self, position_M: Numbers) -> tuple[Numbers, Numbers]:
        """The distances from a value to the ends of its cell, towards each kernel and away from it, in widths of the
        kernel. The cell of a value has all positions that are nearer to it than to any other value.
        """
        if not self._uneven:
            half_K = self._step / 2 / self._width_K
            return half_K, half_K
        below_M, at_M, above_M = self._uneven.cells(position_M)
        is_above_MK = position_M[:, None] > self._at_K
        down_MK, up_MK = ((each_M[:, None] / self._width_K) for each_M in (at_M - below_M, above_M - at_M))
        return np.where(is_above_MK, down_MK, up_MK), np.where(is_above_MK, up_MK, down_MK)


def _below(x: Numbers) -> Numbers:
    """The cumulative distribution function of the standard normal."""
    from scipy.special import ndtr  # scipy takes a while to load

    found: Numbers = ndtr(x)
    return found
