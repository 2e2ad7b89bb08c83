"""Maximises an acquisition function: first over many random rows, then axis by axis from the best rows.

A row encodes a point of the space as numbers (``encoding.py``). Shapes: N known rows, C candidates, D axes, E columns
of a row in which each choice has one column per value, V values to try on an axis, M = C * V rows to try.
"""

from collections.abc import Callable, Sequence
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from skipstack.search.strategy.proposers.encoding import Encoding, Numbers
from skipstack.search.strategy.proposers.regression import Process

DRAWN, MUTATED = 384, 256
"""The number of candidates drawn by ``Encoding.random``, and the number obtained by mutating the best known rows."""

CHANGED: Final = 3.0
"""The mean number of axes on which a mutation draws a new value."""

CLIMBERS, SWEEPS = 3, 3
"""The number of candidates improved axis by axis, and the maximum number of passes over all axes."""

GAIN: Final = 1e-6
"""The minimum improvement of the acquisition function that counts."""


@final
class Promises:
    """An acquisition function of rows, computed from the predictions of Gaussian processes. It can subtract a penalty
    for the predicted time of an epoch.

    ``processes``: one for each objective. ``of``: computes the acquisition values from the means and standard
    deviations that each process predicts. ``charge``: takes the number of an axis and values on it, and returns the
    penalty for each value; None means no penalty.
    """

    def __init__(
        self,
        encoding: Encoding,
        processes: Sequence[Process],
        of: Callable[[Sequence[tuple[Numbers, Numbers]]], Numbers],
        charge: Callable[[int, Numbers], Numbers] | None,
    ) -> None:
        self._encoding = encoding
        self._processes = processes
        self._scales = [np.sqrt(process.kernel.weights_D[encoding.axes]) for process in processes]
        self._of = of
        self._charge = charge

    def climbed(self, source: np.random.Generator, best_ND: Numbers) -> Numbers:
        """Search for rows with high acquisition values, and return the ``CLIMBERS`` best rows found, the best first.
        The rows have values on inactive axes as well. ``best_ND``: the best known rows, from which some candidates are
        mutated.
        """
        parents_ND = best_ND[source.integers(len(best_ND), size=MUTATED)]
        candidates_CD = np.concatenate(
            [self._encoding.random(source, DRAWN), self._encoding.mutated(source, parents_ND, CHANGED)]
        )
        active_CD = self._encoding.active(candidates_CD)
        values_C = self.value(candidates_CD, active_CD)
        chosen = np.argsort(-values_C, kind="stable")[:CLIMBERS]
        rows_CD, active_CD, values_C = candidates_CD[chosen], active_CD[chosen], values_C[chosen]
        for _ in range(SWEEPS):
            before_C = values_C.copy()
            for axis in source.permutation(rows_CD.shape[1]):
                self._improve(int(axis), rows_CD, active_CD, values_C)
            if not (values_C > before_C + GAIN).any():
                break
        return rows_CD[np.argsort(-values_C, kind="stable")]

    def value(self, rows_CD: Numbers, active_CD: NDArray[np.bool_]) -> Numbers:
        """The acquisition value of each row. Values on inactive axes (``active_CD``) make no difference."""
        known_CD = np.where(active_CD, rows_CD, np.nan)
        spread_CE = self._encoding.spread(known_CD)
        expected = [
            process.expected(spread_CE * scale_E)
            for process, scale_E in zip(self._processes, self._scales, strict=True)
        ]
        value_C = self._of(expected)
        if self._charge is not None:
            for axis in range(rows_CD.shape[1]):
                value_C = value_C - np.where(active_CD[:, axis], self._charge(axis, rows_CD[:, axis]), 0.0)
        return value_C

    def _improve(self, axis: int, rows_CD: Numbers, active_CD: NDArray[np.bool_], values_C: Numbers) -> None:
        """Maximise the acquisition value over one axis, in each row where it is active. Changes the arrays in place."""
        among = np.flatnonzero(active_CD[:, axis])
        if not len(among):
            return
        moves_CV = self._encoding.moves(axis, rows_CD[among])
        count, width = moves_CV.shape
        moved_MD = np.repeat(rows_CD[among], width, axis=0)
        moved_MD[:, axis] = moves_CV.ravel()
        decides = axis in self._encoding.asked
        active_MD = self._encoding.active(moved_MD) if decides else np.repeat(active_CD[among], width, axis=0)
        found_CV = self.value(moved_MD, active_MD).reshape(count, width)
        best_C = found_CV.argmax(axis=1)
        most_C = found_CV[np.arange(count), best_C]
        better = most_C > values_C[among] + GAIN
        values_C[among[better]] = most_C[better]
        rows_CD[among[better], axis] = moves_CV[np.arange(count), best_C][better]
        active_CD[among[better]] = active_MD.reshape(count, width, -1)[np.arange(count), best_C][better]
