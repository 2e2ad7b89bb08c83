"""Forward selection of the factors on which a response depends, each tested given the factors already selected.

Array legend: N observations; M observations that have the factor; K columns of the factor; C columns of all factors
selected before, and of the constant.

Only the order of the responses counts. The k-th smallest of M responses is replaced by the normal score
z((k - 3/8) / (M + 1/4)) (Blom, "Statistical Estimates and Transformed Beta-Variables", 1958). z is the quantile
function of the normal distribution. Outliers and skew therefore have no influence. These scores are regressed by least
squares on the C columns and on the factor's own K columns. The factor's p comes from the F test of its own columns,

    F = (explained / K) / (left / (M - C - K)),

explained: the sum of squares that the K columns explain in addition to the C columns; left: the residual sum of
squares. Without any effect, the share of cases with p below a level equals that level
(``tests/search/statistics/test_forward_selection.py``). Equal responses are put in random order. If they had equal
scores, the residual sum of squares would be 0 whenever all observations with the same value of the factor have the same
response, and the F test would be invalid.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from skipstack.data.basis.seeding import generator
from skipstack.search.statistics.pseudo_values import Values

NOTHING: Final = 1e-9
"""A column counts as a linear combination of others if at most this share of its norm is orthogonal to them."""


def selected(response_N: Values, factors: Mapping[str, Sequence[Values]], level: float) -> list[str]:
    """Select the factors on which the response depends, and return their names in the order of selection.

    ``response_N``: the response of each observation.
    ``factors``: one or more alternative encodings of each factor, of shape (N, K); the encoding with the smallest p
    counts. A row of NaN is an observation without the factor: the factor is tested among the other observations.
    ``level``: if no factor has an effect, at most this share of experiments selects any.

    In each round every remaining factor is tested. Its p is multiplied by the number of its encodings and by the number
    of remaining factors (Bonferroni). The factor with the smallest product is selected if the product is below
    ``level``; otherwise the selection ends.
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
    """Return the C columns that are held fixed in the test of a further factor.

    These are a column of ones and the columns of the factors in ``found``, which are 0 for observations without the
    factor. Each of these factors also has a column that is 1 for observations without the factor.
    """
    columns = [np.ones((number, 1))]
    for each_NK in found:
        lacking_N1 = np.isnan(each_NK).any(axis=1, keepdims=True)
        columns += [np.where(lacking_N1, 0.0, each_NK), lacking_N1.astype(float)]
    return np.hstack(columns)


def _p(response_N: Values, columns_NK: Values, known_NC: Values) -> float:
    """Return the p of the factor with ``columns_NK``, tested given the columns ``known_NC``.

    p is 1 if the factor's columns are linear combinations of the known ones, or if the factor has too few observations.
    """
    from scipy.special import fdtrc  # imported here, since it takes a while to load

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
    """Return orthonormal columns that span ``columns_MK``.

    Directions whose size is at most a share ``NOTHING`` of the norm of ``whole_MK`` are left out.
    """
    span_MK, size_K, _ = np.linalg.svd(columns_MK, full_matrices=False)
    return np.asarray(span_MK[:, size_K > NOTHING * np.linalg.norm(whole_MK)])


def _normal_scores(response_M: Values) -> Values:
    from scipy.special import ndtri

    number = len(response_M)
    order_M = np.lexsort((generator(0, "equal responses").random(number), response_M))
    score_M = np.empty(number)
    score_M[order_M] = ndtri((np.arange(1, number + 1) - 3 / 8) / (number + 1 / 4))
    return score_M
