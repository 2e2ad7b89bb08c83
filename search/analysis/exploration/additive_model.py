"""An additive model of all trials, whose effects are shrunk the more, the less the trials support them.

Array legend: S searches, N trials, P columns of the design (the mean, then the tried parts of each axis).

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
from itertools import chain
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skipstack.search.analysis.exploration.levels import INACTIVE
from skipstack.search.analysis.exploration.simplex import minimise

Array = NDArray[np.floating[Any]]

Key = tuple[str, int]
"""A part of an axis: its path, and the number of the part."""

WHOLE_TRIALS: Final = 3
"""The minimum number of whole trials for estimating the gains after an epoch."""

LEAST: Final = 1e-3
"""The lower bound of standard deviations, as a share of that of all scores."""

AT_ONCE: Final = 250_000
"""The number of elements of the designs that are fitted at once: as many as the caches of a processor hold."""

VAGUE: Final = 4.0
"""The prior standard deviation of log tau: it keeps tau off 0 and infinity where trials say nothing of it."""


@dataclass(frozen=True, slots=True)
class Fit:
    """The fitted model. Scores are those that rank the trials.

    ``keys``: the tried parts of each axis with several. ``expected``: the final score by trial, its own for a whole
    trial, else the expected one; trials without a score, and those stopped at an epoch without known gains, are
    missing. ``left``: its residual. ``deviation``, ``spread``: sigma and tau. ``place_P``, ``covariance_PP``: the mode
    and the covariance of mu and of the betas of ``keys``, given the scores.
    """

    keys: tuple[Key, ...]
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


def load() -> None:
    """Import what a fit needs of scipy, which takes a while, while something else is waited for."""
    import scipy.special  # noqa: F401 (imported for its side effect)


def fit(scores: "pd.Series[float]", whole: "pd.Series[bool]", reached: pd.DataFrame, parts: pd.DataFrame) -> Fit:
    """Fit the model to all trials with a score; all arguments by trial.

    ``scores``: NaN without one. ``whole``: whether the trial was trained to its end. ``reached``: the best score up to
    each epoch, one column per epoch, NaN after a trial's end. ``parts``: from ``levels.levels``.
    """
    (found,) = fits(scores, whole, reached, [parts])
    return found


def fits(
    scores: "pd.Series[float]", whole: "pd.Series[bool]", reached: pd.DataFrame, parts: Sequence[pd.DataFrame]
) -> list[Fit]:
    """Fit the model to searches that differ in their ``parts`` alone; the arguments are otherwise those of ``fit``."""
    gains = _Gains(scores, whole, reached)
    used = scores.notna() & (whole | gains.mean.notna())
    with np.errstate(over="ignore"):  # scores whose squares overflow have no model
        scale = float(scores[used].std(ddof=0)) or 1.0
        fits_in = np.isfinite(np.square(scale))
    if not whole[used].any() or not fits_in:
        none = pd.Series(dtype=float)
        return [Fit((), none, none, float("nan"), float("nan"), np.zeros(1), np.zeros((1, 1))) for _ in parts]
    centre = float(scores[used].mean())
    score_N = (scores[used].to_numpy(float) - centre) / scale
    gain_N = gains.mean[used].fillna(0.0).to_numpy(float) / scale
    deviation_N = np.where(whole[used], 0.0, np.maximum(gains.deviation[used].fillna(0.0) / scale, LEAST))
    keys = [tuple((str(axis), part) for axis in own.columns for part in _tried(own.loc[used, axis])) for own in parts]
    columns = {key: place for place, key in enumerate(dict.fromkeys(chain.from_iterable(keys)), start=1)}
    found: list[Fit] = []
    size = max(1, AT_ONCE // (len(score_N) * (1 + len(columns))))
    for start in range(0, len(parts), size):
        own = keys[start : start + size]
        places = [[0, *(columns[key] for key in each)] for each in own]
        columns_SNP = np.zeros((len(own), len(score_N), 1 + len(columns)))  # a column of zeros changes nothing
        for number, (each, place) in enumerate(zip(parts[start : start + size], places, strict=True)):
            seen = {axis: [part for of, part in own[number] if of == axis] for axis, _ in own[number]}
            columns_SNP[number][:, place] = design(each[used], seen)
        model = _Posterior(columns_SNP, score_N=score_N, gain_N=gain_N, deviation_N=deviation_N)
        sigma_S, tau_S, place_SP, covariance_SPP, expected_SN = model.maximum()
        for number, place in enumerate(places):
            expected = pd.Series(expected_SN[number] * scale + centre, index=scores.index[used])
            expected = expected.where(~whole[used], scores[used])  # to the last digit
            found.append(
                Fit(
                    own[number],
                    expected,
                    expected - centre - columns_SNP[number] @ place_SP[number] * scale,
                    float(sigma_S[number]) * scale,
                    float(tau_S[number]) * scale,
                    place_SP[number, place] * scale,
                    covariance_SPP[number][np.ix_(place, place)] * scale**2,
                )
            )
    return found


def design(parts: pd.DataFrame, seen: Mapping[str, Sequence[int]]) -> Array:
    """A column of ones, then one for each of the parts ``seen`` of each axis: 1 where a trial has the part, less one
    over the number of parts where the axis is active. So an axis adds nothing on average.
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
    """The distribution of mu and beta given the scores, for each search.

    With m_i the model's mean, V_i = sigma^2 + s_i^2 (s_i = 0 for a whole trial) and d_i = r_i + g_i - m_i, a trial has
    the log-likelihood -log(V_i) / 2 - d_i^2 / (2 V_i), and if it was stopped

        + log Phi(k_i),    k_i = ((m_i - r_i) s_i^2 + g_i sigma^2) / (sigma s_i sqrt(V_i))

    Sums over the whole trials are computed once: only the stopped ones are evaluated again for each sigma.

    Array legend: S searches, N trials, E those that were stopped early, P mu and the betas.
    """

    def __init__(self, columns_SNP: Array, *, score_N: Array, gain_N: Array, deviation_N: Array) -> None:
        self._stopped_N = deviation_N > 0
        self._score_N = score_N
        whole_SNP, whole_N = columns_SNP[:, ~self._stopped_N], score_N[~self._stopped_N]
        self._whole = len(whole_N)
        self._products_SPP = whole_SNP.swapaxes(1, 2) @ whole_SNP
        self._sums_SP = whole_N @ whole_SNP
        self._squares = float(whole_N @ whole_N)
        self._columns_SEP = columns_SNP[:, self._stopped_N]
        self._transposed_SPE = np.ascontiguousarray(self._columns_SEP.swapaxes(1, 2))
        self._score_E = score_N[self._stopped_N]
        self._gain_E = gain_N[self._stopped_N]
        self._deviation_E = deviation_N[self._stopped_N]
        self._place_SP: Array = np.zeros((len(columns_SNP), columns_SNP.shape[2]))

    def maximum(self) -> tuple[Array, Array, Array, Array, Array]:
        """The most likely sigma and tau; given them, the mode and covariance of mu and beta; the final scores."""
        start_SV = np.log(np.tile([0.7, 0.5], (len(self._place_SP), 1)))
        sigma_S, tau_S = _bounded(minimise(self._cost, start_SV, apart=0.01, differing=1e-3))
        curvature_SPP, _ = self._climb(sigma_S, tau_S)
        middle_SE, spread_SE, above_SE = self._above(sigma_S, _times(self._columns_SEP, self._place_SP))
        expected_SN = np.tile(self._score_N, (len(self._place_SP), 1))
        expected_SN[:, self._stopped_N] = middle_SE + spread_SE * _hazard(above_SE, _log_below(above_SE))
        return sigma_S, tau_S, self._place_SP, np.linalg.inv(curvature_SPP), expected_SN

    def _cost(self, logarithms_SV: Array) -> Array:
        """Minus the log-likelihoods of sigma and tau."""
        sigma_S, tau_S = _bounded(logarithms_SV)
        curvature_SPP, likelihood_S = self._climb(sigma_S, tau_S)
        beta_SP, log_S = self._place_SP[:, 1:], np.log(tau_S)
        prior_S = -(beta_SP**2).sum(axis=1) / (2 * tau_S**2) - beta_SP.shape[1] * log_S - (log_S / VAGUE) ** 2 / 2
        return np.asarray(np.linalg.slogdet(curvature_SPP)[1] / 2 - likelihood_S - prior_S)

    def _climb(self, sigma_S: Array, tau_S: Array) -> tuple[Array, Array]:
        """Move to the modes of mu and beta by Newton's method; the curvatures and the log-likelihoods there."""
        exact_S1 = sigma_S[:, None] ** -2.0
        variance_SE = sigma_S[:, None] ** 2 + self._deviation_E**2
        slope_SE = self._deviation_E / (sigma_S[:, None] * np.sqrt(variance_SE))
        precision_SP = np.repeat(tau_S[:, None] ** -2.0, self._place_SP.shape[1], axis=1)
        precision_SP[:, 0] = 0.0  # mu has no prior
        diagonal = np.arange(self._place_SP.shape[1])
        for _ in range(50):
            means_SE = _times(self._columns_SEP, self._place_SP)
            _, _, above_SE = self._above(sigma_S, means_SE)
            apart_SE = self._score_E + self._gain_E - means_SE
            below_SE = _log_below(above_SE)
            hazard_SE = _hazard(above_SE, below_SE)
            weight_SE = 1 / variance_SE + hazard_SE * (hazard_SE + above_SE) * slope_SE**2
            curvature_SPP = self._transposed_SPE @ (weight_SE[:, :, None] * self._columns_SEP)
            curvature_SPP += exact_S1[:, :, None] * self._products_SPP
            curvature_SPP[:, diagonal, diagonal] += precision_SP
            fitted_SP = _times(self._products_SPP, self._place_SP)
            gradient_SP = _times(self._transposed_SPE, apart_SE / variance_SE + hazard_SE * slope_SE)
            gradient_SP += exact_S1 * (self._sums_SP - fitted_SP) - precision_SP * self._place_SP
            step_SP = np.linalg.solve(curvature_SPP, gradient_SP[:, :, None])[:, :, 0]
            missed_S = self._squares - (self._place_SP * (2 * self._sums_SP - fitted_SP)).sum(axis=1)
            self._place_SP = self._place_SP + step_SP
            if np.abs(step_SP).max() < 1e-7:
                break
        whole_S = -self._whole * np.log(sigma_S) - missed_S / (2 * sigma_S**2)
        logs_SE = -np.log(variance_SE) / 2 - apart_SE**2 / (2 * variance_SE) + below_SE
        return curvature_SPP, whole_S + logs_SE.sum(axis=1)

    def _above(self, sigma_S: Array, means_SE: Array) -> tuple[Array, Array, Array]:
        """The mean and deviation of stopped trials' final scores before truncation at the reached score, and k."""
        variance_SE = sigma_S[:, None] ** 2 + self._deviation_E**2
        joint_SE = means_SE * self._deviation_E**2 + (self._score_E + self._gain_E) * sigma_S[:, None] ** 2
        middle_SE, spread_SE = joint_SE / variance_SE, sigma_S[:, None] * self._deviation_E / np.sqrt(variance_SE)
        return middle_SE, spread_SE, (middle_SE - self._score_E) / spread_SE


def _times(matrices_SRP: Array, vectors_SP: Array) -> Array:
    """The product of each search's matrix and vector."""
    return np.asarray((matrices_SRP @ vectors_SP[:, :, None])[:, :, 0])


def _hazard(above_SE: Array, below_SE: Array) -> Array:
    """phi(k) / Phi(k), stable far below 0, given log Phi(k)."""
    return np.asarray(np.exp(-(above_SE**2) / 2 - np.log(2 * np.pi) / 2 - below_SE))


def _log_below(above_SE: Array) -> Array:
    """Log Phi(k)."""
    if not above_SE.size:
        return above_SE
    from scipy.special import log_ndtr  # which takes a while to load

    return np.asarray(log_ndtr(above_SE))


def _bounded(logarithms_SV: Array) -> tuple[Array, Array]:
    sigma_S, tau_S = np.exp(np.clip(logarithms_SV, np.log(LEAST), 3.0)).T
    return sigma_S, tau_S
