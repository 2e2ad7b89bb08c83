"""Forward selection of the factors that a response depends on, each tested beside those already found.

Array legend: N observations, M of them that have a factor, K columns of a factor, C of all those found before.

Only the order of the responses counts. The k-th of M becomes the normal score z((k - 3/8) / (M + 1/4)), z being the
quantiles of the normal distribution (Blom, "Statistical Estimates and Transformed Beta-Variables", 1958): so no outlier
and no skew decides. A factor's columns and those found before explain these scores by least squares, and its p is that
of the F test of its own columns,

    F = (explained / K) / (left / (M - C - K)).

Without any effect, p is below a level in that share of cases (``tests/search/statistics/test_forward_selection.py``).
Equal responses are put in random order, since otherwise the test fails where all responses within a group are equal.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from skipstack.data.basis.seeding import generator

Values = NDArray[np.float64]

NOTHING: Final = 1e-9
"""A column is a linear combination of others if no larger share of it is left beside them."""


def selected(response_N: Values, factors: Mapping[str, Sequence[Values]], level: float) -> list[str]:
    """The factors that are found, in the order of finding. If no factor has an effect, one is found in at most a share
    ``level`` of all experiments.

    ``factors``: for each factor the columns of one or several descriptions, each (N, K), of which the best counts; a
    row of NaN is an observation without the factor, and the factor is tested among the others. Each p is multiplied by
    the number of descriptions of its factor and of factors left (Bonferroni); the factor with the smallest is found if
    that is below ``level``, then the others are tested beside it.
    """
    found: dict[str, Values] = {}
    while len(found) < len(factors):
        known_NC = _known(len(response_N), list(found.values()))
        tested = {
            name: min(((_p(response_N, each_NK, known_NC), place) for place, each_NK in enumerate(described)))
            for name, described in factors.items()
            if name not in found
        }
        corrected = {name: p * len(factors[name]) * len(tested) for name, (p, _) in tested.items()}
        best = min(corrected, key=corrected.__getitem__)
        if corrected[best] >= level:
            break
        found[best] = factors[best][tested[best][1]]
    return list(found)


def _known(number: int, found: Sequence[Values]) -> Values:
    """A column of ones; then for each factor found so far its columns, and one that marks observations without it."""
    columns = [np.ones((number, 1))]
    for each_NK in found:
        lacking_N1 = np.isnan(each_NK).any(axis=1, keepdims=True)
        columns += [np.where(lacking_N1, 0.0, each_NK), lacking_N1.astype(float)]
    return np.hstack(columns)


def _p(response_N: Values, columns_NK: Values, known_NC: Values) -> float:
    """The p of a factor beside those found before; 1 if it adds no column of its own, or has too few observations."""
    from scipy.special import fdtrc  # which takes a while to load

    has_N = ~np.isnan(columns_NK).any(axis=1)
    if not has_N.any():
        return 1.0
    known_MC = _orthonormal(known_NC[has_N], known_NC[has_N])
    own_MK = _orthonormal(columns_NK[has_N] - known_MC @ (known_MC.T @ columns_NK[has_N]), columns_NK[has_N])
    score_M = _normal_scores(response_N[has_N])
    left_M = score_M - known_MC @ (known_MC.T @ score_M)
    explained = float(((own_MK.T @ left_M) ** 2).sum())
    columns = own_MK.shape[1]
    degrees = len(score_M) - known_MC.shape[1] - columns
    if not columns or degrees < 1:
        return 1.0
    left = max(float(left_M @ left_M) - explained, np.finfo(float).tiny)
    return float(fdtrc(columns, degrees, explained / columns / (left / degrees)))


def _orthonormal(columns_MK: Values, whole_MK: Values) -> Values:
    """Orthonormal columns that span the given ones, without directions that are negligible beside ``whole_MK``."""
    span_MK, size_K, _ = np.linalg.svd(columns_MK, full_matrices=False)
    return np.asarray(span_MK[:, size_K > NOTHING * np.linalg.norm(whole_MK)])


def _normal_scores(response_M: Values) -> Values:
    from scipy.special import ndtri

    number = len(response_M)
    order_M = np.lexsort((generator(0, "equal responses").random(number), response_M))
    score_M = np.empty(number)
    score_M[order_M] = ndtri((np.arange(1, number + 1) - 3 / 8) / (number + 1 / 4))
    return score_M
