"""Gaussian process regression: a kernel fitted to values, and the values that it expects elsewhere.

Shapes: N known rows, C candidates, E columns, D axes, S cases. A case is one possible set of values at the rows whose
trials still run.
"""

import math
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.optimize import minimize

Numbers = NDArray[np.float64]

LEAST_NOISE: Final = 1e-6
"""The smallest variance of the noise, so that the covariance matrix can be factored."""

WITHIN: Final = 12.0
"""The logarithm of each parameter of a kernel stays between minus and plus this."""

GRADIENT: Final = 0.01
"""A fit ends once no component of the gradient is larger."""


@final
@dataclass(frozen=True, slots=True)
class Kernel:
    """Matern 5/2: k(r) = scale (1 + sqrt(5) r + 5/3 r²) exp(-sqrt(5) r), r² = sum over axes of weight * distance².

    ``weights_D``: 1 / length scale² of each axis; ``noise``: the variance of repeated values at the same point.
    """

    weights_D: Numbers
    scale: float
    noise: float

    @classmethod
    def plain(cls, axes: int) -> "Kernel":
        """The kernel from which a fit begins."""
        return cls(np.ones(axes), 1.0, 1.0)

    def of(self, squared: Numbers) -> Numbers:
        """The covariances k at squared distances r²."""
        apart = np.sqrt(5 * squared)
        value = apart + 1
        value += (5 / 3) * squared
        np.negative(apart, out=apart)
        value *= np.exp(apart, out=apart)
        value *= self.scale
        return value


def squared_distances(one_NE: Numbers, other_CE: Numbers) -> Numbers:
    """|a - b|² between all rows of two arrays: (N, C)."""
    found_NC = one_NE @ (-2 * other_CE.T)
    found_NC += np.einsum("ne,ne->n", one_NE, one_NE)[:, None]
    found_NC += np.einsum("ce,ce->c", other_CE, other_CE)
    return np.maximum(found_NC, 0.0, out=found_NC)


def fitted(rows_NE: Numbers, starts_D: NDArray[np.int_], values_N: Numbers, begin: Kernel, iterations: int) -> Kernel:
    """The kernel that maximises likelihood times prior, found by L-BFGS-B from ``begin``.

    ``starts_D``: the first column of each axis. ``values_N``: of mean 0 and variance 1. The priors are those of Optuna:
    exp(-0.1 w - 0.1 / w) for a weight w, Gamma(2, 1) for the scale, Gamma(1.1, 30) for the noise.
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
        # The derivative of the likelihood by each covariance.
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
    """A process with a kernel, given values at rows, and cases of values at the rows of trials that run.

    ``rows_NE``: the known rows; ``latest_RE``: those of running trials; both scaled by the square roots of the weights.
    ``drawn_SR``: standard normal numbers, from which the values of running trials are made, given all others.
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
        self._whitening = _triangular_inverse(factor)
        # Whitened, known values are the same numbers in all cases, and those of running trials are the drawn ones.
        white_SN = np.concatenate(
            [np.broadcast_to(self._whitening[:known, :known] @ values_N, (len(drawn_SR), known)), drawn_SR], axis=1
        )
        self.cases_SR: Numbers = white_SN @ factor[known:].T
        """The values at the rows of running trials, in each case."""
        self._solved_NS = self._whitening.T @ white_SN.T

    def expected(self, rows_CE: Numbers) -> tuple[Numbers, Numbers]:
        """The mean of the value in each case (C, S), and its standard deviation (C, 1), at scaled rows."""
        squared_CN = rows_CE @ self._twice_EN
        squared_CN += self._squares_N
        squared_CN += np.einsum("ce,ce->c", rows_CE, rows_CE)[:, None]
        kernel_CN = self.kernel.of(np.maximum(squared_CN, 0.0, out=squared_CN))
        white_CN = kernel_CN @ self._whitening.T
        variance_C = self.kernel.scale - np.einsum("cn,cn->c", white_CN, white_CN)
        return kernel_CN @ self._solved_NS, np.sqrt(np.maximum(variance_C, 1e-12))[:, None]


def _factored(matrix: Numbers) -> Numbers:
    """The lower factor of a positive definite matrix."""
    factor, problem = lapack.dpotrf(matrix, lower=1, clean=1)
    if problem:
        raise np.linalg.LinAlgError("the covariances of a Gaussian process are not positive definite")
    found: Numbers = factor
    return found


def _inverse(factor: Numbers) -> Numbers:
    """The inverse of a matrix with this lower factor."""
    lower, _ = lapack.dpotri(factor, lower=1)
    found: Numbers = lower + np.tril(lower, -1).T
    return found


def _triangular_inverse(factor: Numbers) -> Numbers:
    found: Numbers = lapack.dtrtri(factor, lower=1)[0]
    return found
