"""An additive model of the final scores of all trials. The weaker the evidence for an effect, the more it is shrunk.

Array legend: S searches; N trials; P columns of the design: the mean, and then the tried parts of each axis.

A part of an axis is one value of a choice, or a range of numbers. The final score y_i of trial i, which has part l_ia
of each axis a that is active in it, is

    y_i = mu + sum_a beta_a[l_ia] + epsilon_i,    epsilon_i ~ N(0, sigma^2),    beta_a[l] ~ N(0, tau^2)

The effects of the parts of an axis are taken relative to their mean, so that an axis adds nothing on average. An
inactive axis adds nothing at all. A trial that was stopped after epoch e with the score r_i is censored: its final
score is unknown. It is at least r_i, since a score is the best of all epochs. It exceeds r_i by about the gain after
epoch e of the trials that were trained further:

    y_i - r_i ~ N(g_e, s_e^2), truncated to values above 0

where g_e and s_e are the mean and the standard deviation of these gains. Stopping depends on known scores only, so the
likelihood needs no model of the scheduler (Rubin, "Inference and Missing Data", 1976).

sigma and tau maximise the likelihood of the scores with mu and beta integrated out by Laplace's approximation. Without
stopped trials the approximation is exact, and equals the restricted likelihood of a mixed model (Patterson and
Thompson, 1971). The estimate of beta is the mode of its distribution given the scores (empirical Bayes), and its
standard deviations are those of this distribution. Limit: the model assumes that the gain after epoch e does not depend
on the trial's values.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np
import pandas as pd

from skipstack.search.analysis.exploration.levels import INACTIVE
from skipstack.search.analysis.exploration.simplex import Array, minimise

Key = tuple[str, int]
"""A part of an axis: the path of the axis, and the number of the part."""

WHOLE_TRIALS: Final = 3
"""The minimum number of whole trials (trained to their ends) from which the gains after an epoch are estimated."""

LEAST: Final = 1e-3
"""The lower bound of sigma, tau and s_e, as a share of the standard deviation of all scores."""

AT_ONCE: Final = 250_000
"""The number of elements of the design matrices that are fitted together: as many as fit into a processor's caches."""

VAGUE: Final = 4.0
"""The prior standard deviation of log tau. The prior keeps tau from 0 and infinity if the trials say nothing of tau."""


@dataclass(frozen=True, slots=True)
class Fit:
    """The fitted model. Scores are those that rank the trials.

    ``keys``: the tried parts of each axis of which several parts were tried.
    ``expected``: the final score of each trial: its own score for a whole trial, the expected score for a stopped
    trial. Trials without a score are left out, and so are trials stopped at an epoch without known gains.
    ``left``: the residuals of ``expected``.
    ``deviation``, ``spread``: sigma and tau.
    ``place_P``, ``covariance_PP``: the mode and the covariance of mu and of the betas of ``keys``, given the scores.
    """

    keys: tuple[Key, ...]
    expected: "pd.Series[float]"
    left: "pd.Series[float]"
    deviation: float
    spread: float
    place_P: Array
    covariance_PP: Array

    def effect(self, axis: str, part: int, among: Collection[int]) -> tuple[float, float]:
        """Return a part's effect relative to the mean of the axis's parts ``among``, and the effect's deviation."""
        contrast_P = np.zeros(len(self.place_P))
        for place, key in enumerate(self.keys, start=1):
            contrast_P[place] = (key == (axis, part)) - (key[0] == axis and key[1] in among) / len(among)
        return float(contrast_P @ self.place_P), float(np.sqrt(contrast_P @ self.covariance_PP @ contrast_P))


def load() -> None:
    """Import the part of scipy that a fit needs. The import is slow, so call this while waiting for something else."""
    import scipy.special  # noqa: F401 (imported for its side effect)


def fit(scores: "pd.Series[float]", whole: "pd.Series[bool]", reached: pd.DataFrame, parts: pd.DataFrame) -> Fit:
    """Fit the model to the trials with a score. All arguments are indexed by trial.

    ``scores``: the score; NaN without one. ``whole``: whether the trial was trained to its end. ``reached``: the best
    score up to each epoch, one column per epoch; NaN after the trial's end. ``parts``: the trial's part on each axis,
    from ``levels.levels``.
    """
    (found,) = fits(scores, whole, reached, [parts])
    return found


def fits(
    scores: "pd.Series[float]",
    whole: "pd.Series[bool]",
    reached: pd.DataFrame,
    parts: Sequence[pd.DataFrame],
    like: Fit | None = None,
) -> list[Fit]:
    """Fit the model to several searches that differ only in the parts of their trials.

    ``parts``: the parts of each search. ``like``: another fit to the same scores, whose sigma and tau are taken over,
    which saves most of the time. The other arguments are those of ``fit``, shared by all searches. Models are empty if
    no trial with a score was trained to its end, or if the squares of scores overflow.
    """
    gains = _Gains(scores, whole, reached)
    used = scores.notna() & (whole | gains.mean.notna())
    with np.errstate(over="ignore"):  # if the squares of scores overflow, an empty model is returned below
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
        # The columns of parts that only other searches tried stay 0 and have no influence.
        columns_SNP = np.zeros((len(own), len(score_N), 1 + len(columns)))
        for number, (each, place) in enumerate(zip(parts[start : start + size], places, strict=True)):
            seen = {axis: [part for of, part in own[number] if of == axis] for axis, _ in own[number]}
            columns_SNP[number][:, place] = design(each[used], seen)
        model = _Posterior(columns_SNP, score_N=score_N, gain_N=gain_N, deviation_N=deviation_N)
        if like is None:
            sigma_S, tau_S = model.likeliest()
        else:
            sigma_S, tau_S = (np.full(len(own), each / scale) for each in (like.deviation, like.spread))
        place_SP, covariance_SPP, expected_SN = model.given(sigma_S, tau_S)
        for number, place in enumerate(places):
            expected = pd.Series(expected_SN[number] * scale + centre, index=scores.index[used])
            expected = expected.where(~whole[used], scores[used])  # whole trials keep their scores without rounding
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
    """Return the design matrix: a column of ones, then a column for each of the parts ``seen`` of each axis.

    Let n be the number of parts seen of an axis. A part's column is 1 - 1 / n for trials with the part, and -1 / n for
    trials with another of the n parts. So an axis adds nothing on average. The column is 0 for all other trials.
    """
    columns = [np.ones(len(parts))]
    for axis, own in seen.items():
        active_N = parts[axis].isin(own).to_numpy()
        columns += [(parts[axis] == part).to_numpy() - active_N / len(own) for part in own]
    return np.column_stack(columns)


def _tried(own: "pd.Series[int]") -> list[int]:
    """Return the tried parts of an axis; none if only one was tried."""
    tried = sorted({int(part) for part in own} - {INACTIVE})
    return tried if len(tried) > 1 else []


class _Gains:
    """The gains that the whole trials made after the last epoch of each stopped trial.

    ``mean``, ``deviation``: for each trial, the mean and the standard deviation of these gains. They are NaN for a
    whole trial, which needs no estimate, and for a stopped trial if fewer than ``WHOLE_TRIALS`` gains are known.
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
    """The likelihood of sigma and tau, and the distribution of mu and beta given these, for each search.

    Let m_i be the model's mean for trial i, V_i = sigma^2 + s_i^2 (s_i = 0 for a whole trial) and d_i = r_i + g_i -
    m_i. The log-likelihood of a trial is -log(V_i) / 2 - d_i^2 / (2 V_i), and for a stopped trial there is the further
    term

        + log Phi(k_i),    k_i = ((m_i - r_i) s_i^2 + g_i sigma^2) / (sigma s_i sqrt(V_i))

    Sums over the whole trials are computed once; only the stopped trials are evaluated again for each sigma.

    Array legend: E trials that were stopped early; P mu and the betas; V the logarithms of sigma and tau.
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

    def likeliest(self) -> tuple[Array, Array]:
        """Return the most likely sigma and tau."""
        start_SV = np.log(np.tile([0.7, 0.5], (len(self._place_SP), 1)))
        return _bounded(minimise(self._cost, start_SV, apart=0.01, differing=1e-3))

    def given(self, sigma_S: Array, tau_S: Array) -> tuple[Array, Array, Array]:
        """Return the mode and the covariance of mu and beta, and the trials' expected final scores."""
        curvature_SPP, _ = self._climb(sigma_S, tau_S)
        middle_SE, spread_SE, above_SE = self._above(sigma_S, _times(self._columns_SEP, self._place_SP))
        expected_SN = np.tile(self._score_N, (len(self._place_SP), 1))
        expected_SN[:, self._stopped_N] = middle_SE + spread_SE * _hazard(above_SE, _log_below(above_SE))
        return self._place_SP, np.linalg.inv(curvature_SPP), expected_SN

    def _cost(self, logarithms_SV: Array) -> Array:
        """Return minus the log-likelihood (with the prior of tau) at the logarithms of sigma and tau, per search."""
        sigma_S, tau_S = _bounded(logarithms_SV)
        curvature_SPP, likelihood_S = self._climb(sigma_S, tau_S)
        beta_SP, log_S = self._place_SP[:, 1:], np.log(tau_S)
        prior_S = -(beta_SP**2).sum(axis=1) / (2 * tau_S**2) - beta_SP.shape[1] * log_S - (log_S / VAGUE) ** 2 / 2
        return np.asarray(np.linalg.slogdet(curvature_SPP)[1] / 2 - likelihood_S - prior_S)

    def _climb(self, sigma_S: Array, tau_S: Array) -> tuple[Array, Array]:
        """Move ``_place_SP`` to the modes of mu and beta (Newton's method). Returns curvatures and log-likelihoods."""
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
        """Return the mean and deviation of stopped trials' final scores before truncation, and k_i (see the class)."""
        variance_SE = sigma_S[:, None] ** 2 + self._deviation_E**2
        joint_SE = means_SE * self._deviation_E**2 + (self._score_E + self._gain_E) * sigma_S[:, None] ** 2
        middle_SE, spread_SE = joint_SE / variance_SE, sigma_S[:, None] * self._deviation_E / np.sqrt(variance_SE)
        return middle_SE, spread_SE, (middle_SE - self._score_E) / spread_SE


def _times(matrices_SRP: Array, vectors_SP: Array) -> Array:
    """Return the product of the matrix and the vector of each search."""
    return np.asarray((matrices_SRP @ vectors_SP[:, :, None])[:, :, 0])


def _hazard(above_SE: Array, below_SE: Array) -> Array:
    """Return phi(k) / Phi(k) from k and log Phi(k); numerically stable for k far below 0."""
    return np.asarray(np.exp(-(above_SE**2) / 2 - np.log(2 * np.pi) / 2 - below_SE))


def _log_below(above_SE: Array) -> Array:
    """Return log Phi(k), where Phi is the distribution function of the standard normal distribution."""
    if not above_SE.size:
        return above_SE
    from scipy.special import log_ndtr  # imported here, since it takes a while to load

    return np.asarray(log_ndtr(above_SE))


def _bounded(logarithms_SV: Array) -> tuple[Array, Array]:
    sigma_S, tau_S = np.exp(np.clip(logarithms_SV, np.log(LEAST), 3.0)).T
    return sigma_S, tau_S
