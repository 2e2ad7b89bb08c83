"""An additive model of all trials, its effects shrunk by as much as the trials do not support them.

Array legend: N trials, P columns of the design (the mean, then the tried parts of each axis).

The final score y_i of trial i, with part l_ia of each axis a that is active in it:

    y_i = mu + sum_a beta_a[l_ia] + epsilon_i,    epsilon_i ~ N(0, sigma^2),    beta_a[l] ~ N(0, tau^2)

where the parts of an axis add nothing on average: beta_a[l] is taken relative to the mean of its axis. An inactive axis
adds nothing. A trial that was stopped after epoch e with the score r_i is censored: its final score is
unknown. It is at least r_i, since a score is the best of all epochs, and exceeds it about as much as that of trials
that went on:

    y_i - r_i ~ N(g_e, s_e^2), above 0

where g_e and s_e are the mean and standard deviation of the gains after epoch e. Stopping depends on known scores only,
so the likelihood needs no model of the scheduler (Rubin, "Inference and Missing Data", 1976). sigma and tau maximise
the likelihood of the scores alone, mu and beta integrated over by Laplace's approximation, which is exact without
stopped trials: there the restricted likelihood of a mixed model (Patterson and Thompson, 1971). beta is the mode of
its distribution given the scores (empirical Bayes), and its standard deviations are those of that distribution. Limit:
the model assumes that the gain after epoch e does not depend on the values.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skipstack.search.analysis.exploration.levels import INACTIVE

Array = NDArray[np.floating[Any]]

Key = tuple[str, int]
"""A part of an axis: its path, and the number of the part."""

WHOLE_TRIALS: Final = 3
"""The minimum number of whole trials for estimating the gains after an epoch."""

LEAST: Final = 1e-3
"""The lower bound of standard deviations, as a share of that of all scores."""

VAGUE: Final = 4.0
"""The standard deviation of log tau beforehand: it keeps tau off 0 and infinity where trials say nothing of it."""


@dataclass(frozen=True, slots=True)
class Fit:
    """The fitted model. Scores are those that rank the trials.

    ``keys``: the tried parts of each axis with several. ``expected``: the final score by trial, its own for a whole
    trial, else the expected one; trials without a score, and those stopped at an epoch without known gains, are
    missing. ``left``: its residual. ``deviation``, ``spread``: sigma and tau. ``place_P``, ``covariance_PP``: the mode
    and the covariance of mu and of the betas of ``keys``, given the scores.
    """

    keys: Sequence[Key]
    expected: "pd.Series[float]"
    left: "pd.Series[float]"
    deviation: float
    spread: float
    place_P: Array
    covariance_PP: Array

    def effect(self, axis: str, part: int, among: Collection[int]) -> tuple[float, float]:
        """The effect of a part relative to the mean of the parts ``among`` of its axis, and its standard deviation."""
        contrast_P = np.zeros(len(self.place_P))
        for place, key in enumerate(self.keys, start=1):
            contrast_P[place] = (key == (axis, part)) - (key[0] == axis and key[1] in among) / len(among)
        return float(contrast_P @ self.place_P), float(np.sqrt(contrast_P @ self.covariance_PP @ contrast_P))


def fit(scores: "pd.Series[float]", whole: "pd.Series[bool]", reached: pd.DataFrame, parts: pd.DataFrame) -> Fit:
    """Fit the model to all trials with a score; all arguments by trial.

    ``scores``: NaN without one. ``whole``: whether the trial was trained to its end. ``reached``: the best score up to
    each epoch, one column per epoch, NaN after a trial's end. ``parts``: from ``levels.levels``.
    """
    gains = _Gains(scores, whole, reached)
    used = scores.notna() & (whole | gains.mean.notna())
    if not used.any() or not whole[used].any():
        none = pd.Series(dtype=float)
        return Fit((), none, none, float("nan"), float("nan"), np.zeros(1), np.zeros((1, 1)))
    scale = float(scores[used].std(ddof=0)) or 1.0
    centre = float(scores[used].mean())
    keys = [(str(axis), part) for axis in parts.columns for part in _tried(parts.loc[used, axis])]
    columns_NP = design(parts[used], {axis: [part for of, part in keys if of == axis] for axis in dict(keys)})
    model = _Posterior(
        columns_NP,
        score_N=(scores[used].to_numpy(float) - centre) / scale,
        gain_N=gains.mean[used].fillna(0.0).to_numpy(float) / scale,
        deviation_N=np.where(whole[used], 0.0, np.maximum(gains.deviation[used].fillna(0.0) / scale, LEAST)),
    )
    sigma, tau, place_P, covariance_PP, expected_N = model.maximum()
    expected = pd.Series(expected_N * scale + centre, index=scores.index[used])
    expected = expected.where(~whole[used], scores[used])  # to the last digit
    left = expected - centre - columns_NP @ place_P * scale
    return Fit(keys, expected, left, sigma * scale, tau * scale, place_P * scale, covariance_PP * scale**2)


def design(parts: pd.DataFrame, seen: Mapping[str, Sequence[int]]) -> Array:
    """A column of ones, then of the parts ``seen`` of each axis one each: 1 where a trial has the part, less the share
    of one part in all of the axis where it is active. So an axis adds nothing on average.
    """
    columns = [np.ones(len(parts))]
    for axis, own in seen.items():
        active_N = parts[axis].isin(own).to_numpy()
        columns += [(parts[axis] == part).to_numpy() - active_N / len(own) for part in own]
    return np.column_stack(columns)


def _tried(own: "pd.Series[int]") -> list[int]:
    """The tried parts of an axis; none if it is always the same."""
    tried = sorted({int(part) for part in own} - {INACTIVE})
    return tried if len(tried) > 1 else []


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


class _Posterior:
    """The distribution of mu and beta given the scores. With m_i the model's mean, V_i = sigma^2 + s_i^2 (s_i = 0 for a
    whole trial) and d_i = r_i + g_i - m_i, a trial has the log-likelihood -log(V_i) / 2 - d_i^2 / (2 V_i), and if it
    was stopped

        + log Phi(k_i),    k_i = ((m_i - r_i) s_i^2 + g_i sigma^2) / (sigma s_i sqrt(V_i))
    """

    def __init__(self, columns_NP: Array, *, score_N: Array, gain_N: Array, deviation_N: Array) -> None:
        self._columns_NP = columns_NP
        self._stopped_N = deviation_N > 0
        self._score_N = score_N
        self._gain_N = np.where(self._stopped_N, gain_N, 0.0)
        self._deviation_N = deviation_N
        self._place_P: Array = np.zeros(columns_NP.shape[1])

    @cached_property
    def _varied(self) -> int:
        return len(self._place_P) - 1

    def maximum(self) -> tuple[float, float, Array, Array, Array]:
        """The most likely sigma and tau; given them, the mode and covariance of mu and beta; the final scores."""
        from scipy.optimize import minimize  # which takes a while to load

        start = np.log([0.7, 0.5])
        found: Any = minimize(self._cost, start, method="Nelder-Mead", options={"xatol": 0.01, "fatol": 1e-3})
        sigma, tau = _bounded(found.x)
        curvature_PP, _ = self._climb(sigma, tau)
        middle_N, spread_N, above_N = self._above(sigma)
        expected_N = np.where(self._stopped_N, middle_N + spread_N * _hazard(above_N), self._score_N)
        return sigma, tau, self._place_P, np.linalg.inv(curvature_PP), expected_N

    def _cost(self, logarithms: Array) -> float:
        """Minus the log-likelihood of sigma and tau."""
        sigma, tau = _bounded(logarithms)
        curvature_PP, likelihood = self._climb(sigma, tau)
        beta_P = self._place_P[1:]
        prior = -beta_P @ beta_P / (2 * tau**2) - self._varied * np.log(tau) - (np.log(tau) / VAGUE) ** 2 / 2
        return float(np.linalg.slogdet(curvature_PP)[1] / 2 - likelihood - prior)

    def _climb(self, sigma: float, tau: float) -> tuple[Array, float]:
        """Move to the mode of mu and beta by Newton's method; the curvature and the log-likelihood there."""
        variance_N = sigma**2 + self._deviation_N**2
        slope_N = np.where(self._stopped_N, self._deviation_N / (sigma * np.sqrt(variance_N)), 0.0)
        precision_P = np.full(len(self._place_P), tau**-2.0)
        precision_P[0] = 0.0  # nothing is known of mu beforehand
        for _ in range(50):
            _, _, above_N = self._above(sigma)
            apart_N = self._score_N + self._gain_N - self._columns_NP @ self._place_P
            hazard_N = _hazard(above_N)
            weight_N = 1 / variance_N + np.where(self._stopped_N, hazard_N * (hazard_N + above_N) * slope_N**2, 0.0)
            curvature_PP = self._columns_NP.T @ (weight_N[:, None] * self._columns_NP) + np.diag(precision_P)
            gradient_P = self._columns_NP.T @ (apart_N / variance_N + hazard_N * slope_N) - precision_P * self._place_P
            step_P = np.linalg.solve(curvature_PP, gradient_P)
            self._place_P = self._place_P + step_P
            if np.abs(step_P).max() < 1e-7:
                break
        logs = -np.log(variance_N) / 2 - apart_N**2 / (2 * variance_N)
        return curvature_PP, float(logs.sum() + _log_below(above_N[self._stopped_N]).sum())

    def _above(self, sigma: float) -> tuple[Array, Array, Array]:
        """The mean and deviation of the final scores before truncation at the reached score, and k."""
        mean_N, variance_N = self._columns_NP @ self._place_P, sigma**2 + self._deviation_N**2
        joint_N = mean_N * self._deviation_N**2 + (self._score_N + self._gain_N) * sigma**2
        middle_N, spread_N = joint_N / variance_N, sigma * self._deviation_N / np.sqrt(variance_N)
        safe_N = np.where(self._stopped_N, spread_N, 1.0)
        return middle_N, spread_N, np.where(self._stopped_N, (middle_N - self._score_N) / safe_N, 0.0)


def _bounded(logarithms: Array) -> tuple[float, float]:
    sigma, tau = np.exp(np.clip(logarithms, np.log(LEAST), 3.0))
    return float(sigma), float(tau)


def _hazard(above_N: Array) -> Array:
    """phi(k) / Phi(k), stable far below 0."""
    logarithm_N: Array = -(above_N**2) / 2 - np.log(2 * np.pi) / 2 - _log_below(above_N)
    return np.exp(logarithm_N)


def _log_below(above_N: Array) -> Array:
    """Log Phi(k)."""
    from scipy.special import log_ndtr  # which takes a while to load

    return np.asarray(log_ndtr(above_N))
