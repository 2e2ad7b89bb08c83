"""An additive model of all trials: the effect of each value of an axis on the final score, other axes being equal.

Array legend: N trials, Q estimable directions, P columns of the design.

The final score y_i of trial i, with part l_ia of each axis a that is active in it:

    y_i = mu + sum_a beta_a[l_ia] + epsilon_i,    sum_l beta_a[l] = 0,    epsilon_i ~ N(0, sigma^2)

An effect beta_a[l] is relative to the mean of the tried parts of its axis; an inactive axis adds nothing. A trial that
was stopped after epoch e with the score r_i is censored: its final score is unknown. It is at least r_i, since a score
is the best of all epochs, and exceeds it about as much as that of trials that went on:

    y_i - r_i ~ N(g_e, s_e^2), above 0

where g_e and s_e are the mean and standard deviation of the gains after epoch e. Stopping depends on known scores only,
so the likelihood needs no model of the scheduler (Rubin, "Inference and Missing Data", 1976). It is maximised over mu
and beta, and over sigma by the restricted likelihood (Patterson and Thompson, 1971), since a search has few whole
trials for many values. Limit: the model assumes that the gain after epoch e does not depend on the values.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skipstack.search.analysis.exploration.levels import INACTIVE

Array = NDArray[np.floating[Any]]

WHOLE_TRIALS: Final = 3
"""The minimum number of whole trials for estimating the gains after an epoch."""

LEAST: Final = 1e-3
"""The lower bound of standard deviations, as a share of that of all scores."""


@dataclass(frozen=True, slots=True)
class Effects:
    """The fitted model. Scores are those that rank the trials.

    ``of``: the effect by axis and number of the part; effects that the trials cannot identify are missing.
    ``expected``: the final score by trial, its own for a whole trial, else the expected one; trials without a score,
    and those stopped at an epoch without known gains, are missing. ``left``: its residual. ``whole``, ``stopped``: the
    numbers of trials in the model; ``deviation``: sigma.
    """

    of: Mapping[tuple[str, int], float]
    expected: "pd.Series[float]"
    left: "pd.Series[float]"
    whole: int
    stopped: int
    deviation: float


def effects(
    scores: "pd.Series[float]", whole: "pd.Series[bool]", reached: pd.DataFrame, parts: pd.DataFrame
) -> Effects:
    """Fit the model to all trials with a score; all arguments by trial.

    ``scores``: NaN without one. ``whole``: whether the trial was trained to its end. ``reached``: the best score up to
    each epoch, one column per epoch, NaN after a trial's end. ``parts``: from ``levels.levels``.
    """
    gains = _Gains(scores, whole, reached)
    used = scores.notna() & (whole | gains.mean.notna())
    scale = float(scores[used].std(ddof=0)) if used.any() else 0.0
    if not used.any() or not whole[used].any():
        return Effects({}, pd.Series(dtype=float), pd.Series(dtype=float), 0, 0, float("nan"))
    scale = scale or 1.0
    design = _Design(parts[used])
    score_N = scores[used].to_numpy(float) / scale
    gain_N = gains.mean[used].fillna(0.0).to_numpy(float) / scale
    deviation_N = np.where(whole[used], 0.0, np.maximum(gains.deviation[used].fillna(0.0) / scale, LEAST))
    fit = _Likelihood(design.directions_NQ, score_N, gain_N, deviation_N).maximum()
    expected = pd.Series(fit.expected_N * scale, index=scores.index[used])
    expected = expected.where(~whole[used], scores[used])  # to the last digit
    return Effects(
        of={key: value * scale for key, value in design.effects(fit.place_Q)},
        expected=expected,
        left=expected - design.directions_NQ @ fit.place_Q * scale,
        whole=int(whole[used].sum()),
        stopped=int((~whole[used]).sum()),
        deviation=fit.deviation * scale,
    )


class _Gains:
    """The mean and deviation of other trials' gains after the epoch at which each stopped trial ended; NaN for whole
    ones.
    """

    def __init__(self, scores: "pd.Series[float]", whole: "pd.Series[bool]", reached: pd.DataFrame) -> None:
        last = reached.notna().sum(axis=1).reindex(scores.index, fill_value=0)
        ends = last[~whole & scores.notna() & (last > 0)]
        finals = scores[whole & scores.notna()]
        found = {}
        for place in sorted(set(ends)):
            gains = (finals - reached.iloc[:, place - 1].reindex(finals.index)).dropna()
            if len(gains) >= WHOLE_TRIALS:
                found[place] = float(gains.mean()), float(gains.std(ddof=1))
        self.mean = ends.map({place: mean for place, (mean, _) in found.items()}).astype(float).reindex(scores.index)
        self.deviation = ends.map({place: own for place, (_, own) in found.items()}).astype(float).reindex(scores.index)


class _Design:
    """The design matrix in sum coding: an axis with K tried parts has K - 1 columns; the last part is minus all others.

    ``directions_NQ``: an orthogonal basis of the column space, without directions that the trials cannot identify.
    """

    def __init__(self, parts: pd.DataFrame) -> None:
        self._tried = {axis: sorted(set(parts[axis]) - {INACTIVE}) for axis in parts.columns}
        columns = [np.ones(len(parts))]
        self._first: dict[str, int] = {}
        for axis, tried in self._tried.items():
            self._first[axis] = len(columns)
            own = parts[axis].to_numpy()
            columns += [(own == part).astype(float) - (own == tried[-1]) for part in tried[:-1]]
        columns_NP = np.column_stack(columns)
        left_NQ, sizes_Q, right_QP = np.linalg.svd(columns_NP, full_matrices=False)
        kept = sizes_Q > sizes_Q[0] * len(parts) * np.finfo(float).eps
        root = np.sqrt(len(parts))
        self.directions_NQ: Array = left_NQ[:, kept] * root
        self._back_PQ: Array = (right_QP[kept] / sizes_Q[kept, None]).T * root
        self._known_PP: Array = right_QP[kept].T @ right_QP[kept]

    def effects(self, place_Q: Array) -> Iterator[tuple[tuple[str, int], float]]:
        """Each identifiable effect, by axis and part."""
        coefficients_P = self._back_PQ @ place_Q
        for axis, tried in self._tried.items():
            for number, part in enumerate(tried):
                weights_P = np.zeros(len(coefficients_P))
                first = self._first[axis]
                if number < len(tried) - 1:
                    weights_P[first + number] = 1
                else:
                    weights_P[first : first + number] = -1
                if len(tried) > 1 and np.allclose(self._known_PP @ weights_P, weights_P, atol=1e-8):
                    yield (axis, part), float(coefficients_P @ weights_P)


@dataclass(frozen=True, slots=True)
class _Fit:
    place_Q: Array
    expected_N: Array
    deviation: float


class _Likelihood:
    """The likelihood of the trials. With m_i the model's mean, V_i = sigma^2 + s_i^2 (s_i = 0 for a whole trial) and
    d_i = r_i + g_i - m_i, a trial has the log-likelihood -log(V_i) / 2 - d_i^2 / (2 V_i), and if it was stopped

        + log Phi(k_i),    k_i = ((m_i - r_i) s_i^2 + g_i sigma^2) / (sigma s_i sqrt(V_i))
    """

    def __init__(self, directions_NQ: Array, score_N: Array, gain_N: Array, deviation_N: Array) -> None:
        self._directions_NQ = directions_NQ
        self._stopped_N = deviation_N > 0
        self._score_N = score_N
        self._gain_N = np.where(self._stopped_N, gain_N, 0.0)
        self._deviation_N = deviation_N
        self._place_Q: Array = np.linalg.lstsq(directions_NQ, score_N + self._gain_N, rcond=None)[0]

    def maximum(self) -> _Fit:
        """Maximise the likelihood."""
        if not self._stopped_N.any():  # then the maximum is the least-squares solution
            left_N = self._score_N - self._directions_NQ @ self._place_Q
            free = max(len(left_N) - len(self._place_Q), 1)
            return _Fit(self._place_Q, self._score_N, float(np.sqrt(left_N @ left_N / free)))
        from scipy.optimize import minimize_scalar  # which takes a while to load

        found: Any = minimize_scalar(self._cost, bounds=(np.log(LEAST), 1.5), method="bounded", options={"xatol": 0.01})
        sigma = float(np.exp(found.x))
        self._cost(found.x)
        above_N, shift_N = self._above(self._directions_NQ @ self._place_Q, sigma)
        mean_N, spread_N = shift_N
        expected_N = np.where(self._stopped_N, mean_N + spread_N * _hazard(above_N), self._score_N)
        return _Fit(self._place_Q, expected_N, sigma)

    def _cost(self, logarithm: float) -> float:
        """Minus the restricted log-likelihood for this sigma, maximised over the coefficients by Newton's method."""
        sigma = float(np.exp(logarithm))
        variance_N = sigma**2 + self._deviation_N**2
        slope_N = np.where(self._stopped_N, self._deviation_N / (sigma * np.sqrt(variance_N)), 0.0)
        for _ in range(50):
            mean_N = self._directions_NQ @ self._place_Q
            above_N, _moments = self._above(mean_N, sigma)
            apart_N, hazard_N = self._score_N + self._gain_N - mean_N, _hazard(above_N)
            weight_N = 1 / variance_N + hazard_N * (hazard_N + above_N) * slope_N**2
            curvature_QQ = self._directions_NQ.T @ (weight_N[:, None] * self._directions_NQ)
            gradient_Q = self._directions_NQ.T @ (apart_N / variance_N + hazard_N * slope_N)
            step_Q = np.linalg.solve(curvature_QQ, gradient_Q)
            self._place_Q = self._place_Q + step_Q
            if np.abs(step_Q).max() < 1e-7:
                break
        logs = -np.log(variance_N) / 2 - apart_N**2 / (2 * variance_N)
        likelihood = logs.sum() + _log_below(above_N[self._stopped_N]).sum()
        return float(np.linalg.slogdet(curvature_QQ)[1] / 2 - likelihood)

    def _above(self, mean_N: Array, sigma: float) -> tuple[Array, tuple[Array, Array]]:
        """k, and the mean and deviation of the final scores before truncation at the reached score."""
        variance_N = sigma**2 + self._deviation_N**2
        joint_N = mean_N * self._deviation_N**2 + (self._score_N + self._gain_N) * sigma**2
        middle_N, spread_N = joint_N / variance_N, sigma * self._deviation_N / np.sqrt(variance_N)
        safe_N = np.where(self._stopped_N, spread_N, 1.0)
        return np.where(self._stopped_N, (middle_N - self._score_N) / safe_N, 0.0), (middle_N, spread_N)


def _hazard(above_N: Array) -> Array:
    """phi(k) / Phi(k), stable far below 0."""
    logarithm_N: Array = -(above_N**2) / 2 - np.log(2 * np.pi) / 2 - _log_below(above_N)
    return np.exp(logarithm_N)


def _log_below(above_N: Array) -> Array:
    """Log Phi(k)."""
    from scipy.special import log_ndtr  # which takes a while to load

    return np.asarray(log_ndtr(above_N))
