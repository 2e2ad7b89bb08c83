"""The expected improvement of a point over all known values, in one objective or in several.

Shapes: C candidates, S cases (``regression.py``), K objectives, B boxes, P points.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, ndtr

from skipstack.search.strategy.objectives.pareto import front

Numbers = NDArray[np.float64]

LOG_DENSITY: Final = -0.5 * math.log(2 * math.pi)
"""The logarithm of the normal density at 0."""

LEAST: Final = 1e-300
"""Smaller improvements of hypervolume are set to this, so that their logarithm is finite."""


@final
class Improvement:
    """The logarithm of the expected improvement E[max(0, y - best)], the mean over cases (Ament et al., 2023).

    ``best_S``: the best value in each case.
    """

    def __init__(self, best_S: Numbers) -> None:
        self._best_S = best_S

    def of(self, expected: Sequence[tuple[Numbers, Numbers]]) -> Numbers:
        """The logarithm (C,), from means (C, S) and standard deviations (C, 1) of the one objective."""
        ((mean_CS, deviation_C1),) = expected
        found_CS = _log_unit((mean_CS - self._best_S) / deviation_C1)
        most_C = found_CS.max(axis=1)
        mean_C: Numbers = np.log(np.exp(found_CS - most_C[:, None]).mean(axis=1)) + most_C + np.log(deviation_C1[:, 0])
        return mean_C


@final
class HypervolumeImprovement:
    """The logarithm of the expected growth of the hypervolume that the front dominates, the mean over cases.

    The region that is not dominated is a union of boxes, and objectives are independent: so the expectation is, summed
    over boxes from l to u, the product over objectives of E[max(0, y - l)] - E[max(0, y - u)] (after Yang et al.,
    2019). ``values_SPK``: the known values in each case; the better, the larger.
    """

    def __init__(self, values_SPK: Numbers, reference_K: Numbers) -> None:
        found = [boxes(_front(values_PK, reference_K), reference_K) for values_PK in values_SPK]
        most = max(len(each) for each in found)
        # Boxes without volume fill up the cases that have fewer.
        padded = [np.concatenate([each, np.full((most - len(each), *each.shape[1:]), np.inf)]) for each in found]
        self._low_SBK, self._high_SBK = np.moveaxis(np.array(padded), -1, 0)

    def of(self, expected: Sequence[tuple[Numbers, Numbers]]) -> Numbers:
        """The logarithm (C,), from means (C, S) and standard deviations (C, 1) of each objective."""
        volumes_CSB: Numbers | float = 1.0
        for objective, (mean_CS, deviation_C1) in enumerate(expected):
            mean_CS1, deviation_C11 = mean_CS[..., None], deviation_C1[..., None]
            above = _above(mean_CS1, deviation_C11, self._low_SBK[..., objective])
            volumes_CSB = volumes_CSB * (above - _above(mean_CS1, deviation_C11, self._high_SBK[..., objective]))
        assert not isinstance(volumes_CSB, float)
        found_C: Numbers = np.log(np.maximum(volumes_CSB.sum(axis=2).mean(axis=1), LEAST))
        return found_C


def boxes(front_PK: Numbers, reference_K: Numbers) -> Numbers:
    """Disjoint boxes (B, K, 2), from low to high, of all that is above the reference and not dominated by the front."""
    below = np.array([[[*pair] for pair in zip(reference_K, np.full(len(reference_K), np.inf), strict=True)]])
    if not len(front_PK):
        return below
    if len(reference_K) == 1:
        return np.array([[[front_PK.max(), np.inf]]])
    levels = [reference_K[-1], *np.unique(front_PK[:, -1]), np.inf]
    slabs = []
    for low, high in pairwise(levels):
        rest = boxes(front_PK[front_PK[:, -1] >= high, :-1], reference_K[:-1])
        slabs.append(np.concatenate([rest, np.broadcast_to([low, high], (len(rest), 1, 2))], axis=1))
    return np.concatenate(slabs)


def _front(values_PK: Numbers, reference_K: Numbers) -> Numbers:
    above_PK = values_PK[(values_PK > reference_K).all(axis=1)]
    return above_PK[front([tuple(values) for values in above_PK.tolist()])]


def _above(mean: Numbers, deviation: Numbers, level: Numbers) -> Numbers:
    """E[max(0, y - level)]; 0 for an infinite level."""
    found: Numbers = deviation * np.exp(_log_unit((mean - level) / deviation))
    return found


def _log_unit(z: Numbers) -> Numbers:
    """The logarithm of E[max(0, x + z)] for a standard normal x: log(density(z) + z * distribution(z)).

    Below -1 the two terms almost cancel; the scaled complement of the error function keeps all digits.
    """
    below, above = np.clip(z, -1e6, -1), np.maximum(z, -1)
    far = LOG_DENSITY - 0.5 * below**2 + np.log1p(math.sqrt(math.pi / 2) * below * erfcx(-math.sqrt(0.5) * below))
    near = np.log(np.exp(LOG_DENSITY - 0.5 * above**2) + above * ndtr(above))
    found: Numbers = np.where(z < -1, far, near)
    return found
