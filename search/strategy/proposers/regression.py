"""Gaussian process regression: fits a kernel to the values at known rows, and predicts the values at other rows.

Rows are points of a space, encoded as numbers (``encoding.py``). A case is one possible set of values of the running
trials. Shapes: N known rows, R rows of running trials, C candidates, E columns of a row, D axes (an axis that is a
choice has several columns), S cases.
"""

import math
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.optimize import minimize

from skipstack.search.strategy.proposers.encoding import Numbers

LEAST_NOISE: Final = 1e-6
"""The minimum variance of the noise, without which the Cholesky factorisation of a covariance matrix could fail."""

WITHIN: Final = 12.0
"""A fit keeps the logarithm of each kernel parameter between -``WITHIN`` and ``WITHIN``."""

GRADIENT: Final = 0.01
"""A fit ends, at the latest, once no component of the projected gradient is larger than this."""


@final
@dataclass(frozen=True, slots=True)
class Kernel:
    """The Matern 5/2 kernel k(r) = scale (1 + sqrt(5) r + 5/3 r²) exp(-sqrt(5) r), where r² is the sum over axes of
    weight * distance².

    ``weights_D``: 1 / length scale² of each axis. ``scale``: the variance k(0). ``noise``: the variance of repeated
    values at the same point.
    """

    weights_D: Numbers
    scale: float
    noise: float

    @classmethod
    def plain(cls, axes: int) -> "Kernel":
        """The start of the first fit: a kernel for ``axes`` axes whose parameters are all 1."""
        return cls(np.ones(axes), 1.0, 1.0)

    def of(self, squared: Numbers) -> Numbers:
        """The covariance k(r) at each squared distance r²."""
        apart = np.sqrt(5 * squared)
        value = apart + 1
        value += (5 / 3) * squared
        np.negative(apart, out=apart)
        value *= np.exp(apart, out=apart)
        value *= self.scale
        return value


def squared_distances(one_NE: Numbers, other_CE: Numbers) -> Numbers:
    """The squared distance |a - b|² between each row a of one array and each row b of another, of shape (N, C)."""
    found_NC = one_NE @ (-2 * other_CE.T)
    found_NC += np.einsum("ne,ne->n", one_NE, one_NE)[:, None]
    found_NC += np.einsum("ce,ce->c", other_CE, other_CE)
    return np.maximum(found_NC, 0.0, out=found_NC)


def fitted(rows_NE: Numbers, starts_D: NDArray[np.int_], values_N: Numbers, begin: Kernel, iterations: int) -> Kernel:
    """Fit a kernel: maximise the likelihood times the prior of its parameters by L-BFGS-B.

    ``rows_NE``: the known rows. ``starts_D``: the first column of each axis. ``values_N``: the values at the rows,
    scaled to mean 0 and variance 1. ``begin``: the initial kernel. ``iterations``: the maximum number of iterations.

    The priors are Optuna's: exp(-0.1 w - 0.1 / w) for a weight w, Gamma(2, 1) for the scale, and Gamma(1.1, 30) for the
    noise.
    """
    widths_D = np.diff(np.append(starts_D, rows_NE.shape[1]))
    squares_NE = rows_NE**2
    identity = np.diag_indices(len(rows_NE))

    def loss(numbers: Numbers) -> tuple[float, Numbers]:
        weights_D, scale, above = np.exp(numbers[:-2]), math.exp(numbers[-2]), math.exp(numbers[-1])
        noise = above + LEAST_NOISE
        weights_E = np.repeat(weights_D, widths_D)
        squared_NN = squared_distances(rows_NE * np.sqrt(weights_E), rows_NE * np.sqrt(weights_E))
        squared_NN[identity] = 0.0
        apart_NN = np.sqrt(5 * squared_NN)
        falling_NN = np.exp(-apart_NN)
        apart_NN += 1
        kernel_NN = scale * (apart_NN + (5 / 3) * squared_NN) * falling_NN
        slope_NN = (-5 / 6 * scale) * apart_NN * falling_NN
        covariance_NN = kernel_NN.copy()
        covariance_NN[identity] += noise
        factor_NN = _factored(covariance_NN)
        inverse_NN = _inverse(factor_NN)
        solved_N = inverse_NN @ values_N
        likelihood = -0.5 * values_N @ solved_N - np.log(np.diagonal(factor_NN)).sum()
        prior = -0.1 * (1 / weights_D + weights_D).sum() + math.log(scale) - scale + 0.1 * math.log(noise) - 30 * noise
        # The derivative of the log likelihood with respect to each entry of the covariance matrix.
        by_covariance_NN = 0.5 * (np.outer(solved_N, solved_N) - inverse_NN)
        by_square_NN = by_covariance_NN * slope_NN
        by_column_E = 2 * (
            by_square_NN.sum(axis=1) @ squares_NE - np.einsum("ne,ne->e", rows_NE, by_square_NN @ rows_NE)
        )
        by_weight_D = weights_D * np.add.reduceat(by_column_E, starts_D) + 0.1 / weights_D - 0.1 * weights_D
        by_scale = float(np.vdot(by_covariance_NN, kernel_NN)) + 1 - scale
        by_noise = above * (float(np.trace(by_covariance_NN)) + 0.1 / noise - 30)
        return -float(likelihood + prior), -np.concatenate([by_weight_D, [by_scale, by_noise]])

    start = np.log([*begin.weights_D, begin.scale, max(begin.noise - LEAST_NOISE, math.exp(-WITHIN))])
    options = {"gtol": GRADIENT, "maxiter": iterations}
    numbers = minimize(
        loss, start, jac=True, method="L-BFGS-B", bounds=[(-WITHIN, WITHIN)] * len(start), options=options
    ).x
    return Kernel(np.exp(numbers[:-2]), math.exp(numbers[-2]), math.exp(numbers[-1]) + LEAST_NOISE)


@final
class Process:
    """A Gaussian process conditioned on known values, and on drawn values of the running trials.

    ``rows_NE``: the known rows. ``values_N``: their values. ``latest_RE``: the rows of running trials. Pass all rows
    multiplied by the square roots of the kernel's weights. ``drawn_SR``: standard normal numbers. From them, the values
    of the running trials in each case are computed, given the known values.
    """

    def __init__(self, kernel: Kernel, rows_NE: Numbers, values_N: Numbers, latest_RE: Numbers, drawn_SR: Numbers):
        self.kernel = kernel
        every_NE = np.concatenate([rows_NE, latest_RE])
        self._twice_EN = np.ascontiguousarray(-2 * every_NE.T)
        self._squares_N = np.einsum("ne,ne->n", every_NE, every_NE)
        known, running = len(rows_NE), len(latest_RE)
        covariance = kernel.of(squared_distances(every_NE, every_NE))
        diagonal = np.diag_indices(known + running)
        covariance[diagonal] = kernel.scale + np.where(np.arange(known + running) < known, kernel.noise, LEAST_NOISE)
        factor = _factored(covariance)
        self._whitening: Numbers = lapack.dtrtri(factor, lower=1)[0]
        # After whitening, the values of running trials are the drawn numbers; the known values do not depend on the
        # case.
        white_SN = np.concatenate(
            [np.broadcast_to(self._whitening[:known, :known] @ values_N, (len(drawn_SR), known)), drawn_SR], axis=1
        )
        self.cases_SR: Numbers = white_SN @ factor[known:].T
        """The random values of the R running trials in each of the S cases."""
        self._solved_NS = self._whitening.T @ white_SN.T

    def expected(self, rows_CE: Numbers) -> tuple[Numbers, Numbers]:
        """Predict the values of candidates: the mean in each case (C, S), and the standard deviation (C, 1), which is
        the same in all cases. ``rows_CE``: the candidates, multiplied by the square roots of the kernel's weights.
        """
        squared_CN = rows_CE @ self._twice_EN
        squared_CN += self._squares_N
        squared_CN += np.einsum("ce,ce->c", rows_CE, rows_CE)[:, None]
        kernel_CN = self.kernel.of(np.maximum(squared_CN, 0.0, out=squared_CN))
        white_CN = kernel_CN @ self._whitening.T
        variance_C = self.kernel.scale - np.einsum("cn,cn->c", white_CN, white_CN)
        return kernel_CN @ self._solved_NS, np.sqrt(np.maximum(variance_C, 1e-12))[:, None]


def _factored(matrix: Numbers) -> Numbers:
    """The lower Cholesky factor of a matrix of covariances. If several rows are almost equal, rounding can leave the
    matrix indefinite. Its diagonal is then raised by the smallest of the fractions 1e-12, 1e-11, ..., 1 that suffices.
    """
    factor, problem = lapack.dpotrf(matrix, lower=1, clean=1)
    for exponent in range(-12, 1) if problem else ():
        raised = matrix + np.diag(10.0**exponent * np.diagonal(matrix))
        factor, problem = lapack.dpotrf(raised, lower=1, clean=1)
        if not problem:
            break
    assert not problem, "no covariance is larger than the variances"
    found: Numbers = factor
    return found


def _inverse(factor: Numbers) -> Numbers:
    """The inverse of the matrix with the lower Cholesky factor ``factor``."""
    lower, _ = lapack.dpotri(factor, lower=1)
    found: Numbers = lower + np.tril(lower, -1).T
    return found
