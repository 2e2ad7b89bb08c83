"""Nelder and Mead's method ("A Simplex Method for Function Minimization", 1965), for many functions together.

The steps are those of ``scipy.optimize.minimize``, computed for all functions in the same array operations.

Array legend: S functions; V variables; C = V + 1 corners of a simplex, the best first.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]

WIDER: Final = 1.05
"""The first corner of the initial simplex is the start. At each other corner, one variable is multiplied by this."""

OFF_ZERO: Final = 0.00025
"""The value that a further corner of the initial simplex gives to its variable if the variable is 0 at the start."""

STEPS: Final = 200
"""The maximum number of steps, per variable of a function."""


def minimise(values: Callable[[Array], Array], start_SV: Array, *, apart: float, differing: float) -> Array:
    """Return the variables at the minimum of each function, (S, V): the best corner after at most ``STEPS`` * V steps.

    ``values``: evaluates each function at its own variables: maps (S, V) to (S,). ``start_SV``: the start of each
    function. A function has converged when all corners of its simplex are close to the best corner: within ``apart`` in
    each variable, and within ``differing`` in the function's value.
    """
    variables = start_SV.shape[1]
    place_SCV = np.repeat(start_SV[:, None], variables + 1, axis=1)
    for one in range(variables):
        place_SCV[:, one + 1, one] = np.where(start_SV[:, one] == 0, OFF_ZERO, start_SV[:, one] * WIDER)
    value_SC = np.stack([values(place_SCV[:, corner]) for corner in range(variables + 1)], axis=1)
    place_SCV, value_SC = _ordered(place_SCV, value_SC)
    for _ in range(STEPS * variables):
        done_S = np.abs(place_SCV[:, 1:] - place_SCV[:, :1]).max(axis=(1, 2)) <= apart
        done_S &= np.abs(value_SC[:, 1:] - value_SC[:, :1]).max(axis=1) <= differing
        if done_S.all():
            break
        middle_SV, worst_SV = place_SCV[:, :-1].mean(axis=1), place_SCV[:, -1]
        mirrored_SV = 2 * middle_SV - worst_SV
        mirrored_S = values(mirrored_SV)
        best_S, second_S, worst_S = value_SC[:, 0], value_SC[:, -2], value_SC[:, -1]
        further_S, between_S = mirrored_S < best_S, mirrored_S < worst_S
        kept_S = ~further_S & (mirrored_S < second_S)  # the mirrored corner is kept without trying another
        share_S = np.where(further_S, 2.0, np.where(between_S, 0.5, -0.5))
        other_SV = middle_SV + share_S[:, None] * (middle_SV - worst_SV)
        other_S = values(other_SV)
        taken_S = np.where(
            further_S, other_S < mirrored_S, np.where(between_S, other_S <= mirrored_S, other_S < worst_S)
        )
        taken_S &= ~kept_S
        shrunk_S = ~(further_S | kept_S | taken_S | done_S)
        new_SV = np.where(taken_S[:, None], other_SV, mirrored_SV)
        new_S = np.where(taken_S, other_S, mirrored_S)
        moved_S = ~(shrunk_S | done_S)
        place_SCV[moved_S, -1], value_SC[moved_S, -1] = new_SV[moved_S], new_S[moved_S]
        if shrunk_S.any():
            nearer_SCV = (place_SCV + place_SCV[:, :1]) / 2
            for corner in range(1, variables + 1):
                nearer_S = values(nearer_SCV[:, corner])
                place_SCV[shrunk_S, corner] = nearer_SCV[shrunk_S, corner]
                value_SC[shrunk_S, corner] = nearer_S[shrunk_S]
        place_SCV, value_SC = _ordered(place_SCV, value_SC)
    return place_SCV[:, 0]


def _ordered(place_SCV: Array, value_SC: Array) -> tuple[Array, Array]:
    order_SC = np.argsort(value_SC, axis=1, kind="stable")
    return np.take_along_axis(place_SCV, order_SC[:, :, None], axis=1), np.take_along_axis(value_SC, order_SC, axis=1)
