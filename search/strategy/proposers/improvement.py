"""The expected improvement over the known values, in one objective or in several.

A case is one possible set of values of the running trials (``regression.py``). Shapes: C candidates, S cases, K
objectives, B boxes, P points of ended and of running trials.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, final

import numpy as np
from scipy.special import erfcx, ndtr

from skipstack.search.strategy.objectives.pareto import front
from skipstack.search.strategy.proposers.encoding import Numbers

LOG_DENSITY: Final = -0.5 * math.log(2 * math.pi)
"""The logarithm of the standard normal density at 0."""

LEAST: Final = 1e-300
"""The minimum expected improvement of the hypervolume; it keeps the logarithm finite."""


@final
class Improvement:
    """The expected improvement with one objective: E[max(0, y - best)], averaged over cases (Ament et al., 2023). y is
    the unknown value of a candidate.

    ``best_S``: the best value of the trials in each case.
    """

    def __init__(self, best_S: Numbers) -> None:
        self._best_S = best_S

    def of(self, expected: Sequence[tuple[Numbers, Numbers]]) -> Numbers:
        """The logarithm of the expected improvement of each candidate, of shape (C,). ``expected``: a single pair, the
        predicted means (C, S) and standard deviations (C, 1) of the objective.
        """
        ((mean_CS, deviation_C1),) = expected
        found_CS = _log_unit((mean_CS - self._best_S) / deviation_C1)
        most_C = found_CS.max(axis=1)
        mean_C: Numbers = np.log(np.exp(found_CS - most_C[:, None]).mean(axis=1)) + most_C + np.log(deviation_C1[:, 0])
        return mean_C


@final
class HypervolumeImprovement:
    """The expected improvement with several objectives: the expected growth of the hypervolume that the Pareto front
    dominates, averaged over cases.

    The region that is not dominated is a union of disjoint boxes, and the objectives are modelled as independent. So
    the expectation is a sum over boxes (after Yang et al., 2019). A box from l to u contributes, for a candidate with
    the unknown values y, the product over objectives of

        E[max(0, y - l)] - E[max(0, y - u)].

    ``values_SPK``: the values of the trials in each case; larger is better. ``reference_K``: the point from which the
    hypervolume is measured; only trials above it in every objective count.
    """

    def __init__(self, values_SPK: Numbers, reference_K: Numbers) -> None:
        found = [boxes(_front(values_PK, reference_K), reference_K) for values_PK in values_SPK]
        most = max(len(each) for each in found)
        # Cases with fewer boxes than others are padded with boxes of zero volume.
        padded = [np.concatenate([each, np.full((most - len(each), *each.shape[1:]), np.inf)]) for each in found]
        self._low_SBK, self._high_SBK = np.moveaxis(np.array(padded), -1, 0)

    def of(self, expected: Sequence[tuple[Numbers, Numbers]]) -> Numbers:
        """The logarithm of the expected improvement of each candidate, of shape (C,). ``expected``: for each objective,
        the predicted means (C, S) and standard deviations (C, 1).
        """
        volumes_CSB: Numbers | float = 1.0
        for objective, (mean_CS, deviation_C1) in enumerate(expected):
            mean_CS1, deviation_C11 = mean_CS[..., None], deviation_C1[..., None]
            above = _above(mean_CS1, deviation_C11, self._low_SBK[..., objective])
            volumes_CSB = volumes_CSB * (above - _above(mean_CS1, deviation_C11, self._high_SBK[..., objective]))
        assert not isinstance(volumes_CSB, float)
        found_C: Numbers = np.log(np.maximum(volumes_CSB.sum(axis=2).mean(axis=1), LEAST))
        return found_C


def boxes(front_PK: Numbers, reference_K: Numbers) -> Numbers:
    """Cut the region above the reference that the front does not dominate into disjoint boxes. Returns the low and the
    high end of each box in each objective, of shape (B, K, 2).

    The region is swept along the last objective, from level to level of the front. Between two levels its cut in the
    other objectives stays the same. A box of a cut extends over all levels in which it recurs, so that three objectives
    have at most 2 P + 1 boxes.
    """
    below = np.array([[[*pair] for pair in zip(reference_K, np.full(len(reference_K), np.inf), strict=True)]])
    if not len(front_PK):
        return below
    if len(reference_K) == 1:
        return np.array([[[front_PK.max(), np.inf]]])
    front_PK = front_PK[front([tuple(values) for values in front_PK.tolist()])]
    levels = [reference_K[-1], *np.unique(front_PK[:, -1]), np.inf]
    found, began = list[Numbers](), dict[bytes, tuple[Numbers, float]]()
    for low, high in pairwise(levels):
        rest = {box.tobytes(): box for box in boxes(front_PK[front_PK[:, -1] >= high, :-1], reference_K[:-1])}
        found += [np.vstack([box, [since, low]]) for text, (box, since) in began.items() if text not in rest]
        began = {text: began.get(text, (box, low)) for text, box in rest.items()}
    found += [np.vstack([box, [since, np.inf]]) for box, since in began.values()]
    return np.array(found)


def _front(values_PK: Numbers, reference_K: Numbers) -> Numbers:
    above_PK = values_PK[(values_PK > reference_K).all(axis=1)]
    return above_PK[front([tuple(values) for values in above_PK.tolist()])]


def _above(mean: Numbers, deviation: Numbers, level: Numbers) -> Numbers:
    """The expected excess E[max(0, y - level)] of a normal y over ``level``; 0 for an infinite level."""
    found: Numbers = deviation * np.exp(_log_unit((mean - level) / deviation))
    return found


def _log_unit(z: Numbers) -> Numbers:
    """The logarithm of E[max(0, x + z)] for a standard normal x, that is, log(phi(z) + z Phi(z)).

    phi and Phi are the standard normal density and distribution function. Below z = -1 the two terms almost cancel.
    There, a formula with the scaled complementary error function (``erfcx``) keeps all digits.
    """
    below, above = np.clip(z, -1e6, -1), np.maximum(z, -1)
    far = LOG_DENSITY - 0.5 * below**2 + np.log1p(math.sqrt(math.pi / 2) * below * erfcx(-math.sqrt(0.5) * below))
    near = np.log(np.exp(LOG_DENSITY - 0.5 * above**2) + above * ndtr(above))
    found: Numbers = np.where(z < -1, far, near)
    return found
