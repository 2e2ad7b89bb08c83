"""Gaussian process regression, beside its definition in plain linear algebra."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

from skipstack.search.strategy.proposers.regression import LEAST_NOISE, Kernel, Process, fitted

Numbers = NDArray[np.float64]
STARTS = np.array([0, 1, 3])  # three axes, the second of two columns


def covariance(kernel: Kernel, one: Numbers, other: Numbers) -> Numbers:
    """Pair by pair, as the docstring has it."""
    found = np.zeros((len(one), len(other)))
    for row, a in enumerate(one):
        for column, b in enumerate(other):
            parts = np.add.reduceat((a - b) ** 2, STARTS)
            r = math.sqrt(float(kernel.weights_D @ parts))
            found[row, column] = kernel.scale * (1 + math.sqrt(5) * r + 5 / 3 * r**2) * math.exp(-math.sqrt(5) * r)
    return found


def scaled(kernel: Kernel, rows: Numbers) -> Numbers:
    return rows * np.sqrt(np.repeat(kernel.weights_D, [1, 2, 1]))


def planted(count: int, seed: int = 0) -> tuple[Numbers, Numbers]:
    source = np.random.default_rng(seed)
    rows = source.random((count, 4))
    values = np.sin(5 * rows[:, 0]) + rows[:, 3] ** 2 + 0.05 * source.normal(size=count)
    return rows, (values - values.mean()) / values.std()


def test_what_is_expected_is_the_conditional_distribution() -> None:
    kernel = Kernel(np.array([3.0, 1.0, 0.5]), 1.3, 0.1)
    rows, values = planted(12)
    asked = np.random.default_rng(1).random((5, 4))
    process = Process(kernel, scaled(kernel, rows), values, np.empty((0, 4)), np.empty((1, 0)))
    mean, deviation = process.expected(scaled(kernel, asked))
    among = covariance(kernel, rows, rows) + 0.1 * np.eye(12)
    between = covariance(kernel, asked, rows)
    left = covariance(kernel, asked, asked) - between @ np.linalg.inv(among) @ between.T
    assert mean[:, 0] == pytest.approx(between @ np.linalg.inv(among) @ values)
    assert deviation[:, 0] == pytest.approx(np.sqrt(np.diag(left)))


def test_rows_that_are_almost_equal_do_not_end_a_search() -> None:
    """Their distances are rounding alone, which a kernel of a large scale and short lengths makes count."""
    source = np.random.default_rng(0)
    rows = np.repeat(source.random((6, 4)), 10, axis=0) + 1e-8 * source.normal(size=(60, 4))
    values = np.repeat(source.normal(size=6), 10)
    kernel = Kernel(np.full(3, math.exp(12)), math.exp(12), LEAST_NOISE)
    process = Process(kernel, scaled(kernel, rows), values, np.empty((0, 4)), np.empty((1, 0)))
    mean, deviation = process.expected(scaled(kernel, rows))
    assert mean[:, 0] == pytest.approx(values, abs=0.01)
    assert np.isfinite(deviation).all()
    again = fitted(rows, STARTS, values / values.std(), kernel, 5)
    assert np.isfinite([*again.weights_D, again.scale, again.noise]).all()


def test_running_trials_have_values_drawn_given_the_known_ones_and_count_like_them() -> None:
    kernel = Kernel(np.array([3.0, 1.0, 0.5]), 1.3, 0.1)
    rows, values = planted(12)
    source = np.random.default_rng(2)
    running, asked = source.random((2, 4)), source.random((5, 4))
    process = Process(kernel, scaled(kernel, rows), values, scaled(kernel, running), source.normal(size=(4000, 2)))
    among, between = covariance(kernel, rows, rows) + 0.1 * np.eye(12), covariance(kernel, running, rows)
    left = covariance(kernel, running, running) - between @ np.linalg.inv(among) @ between.T
    assert process.cases_SR.mean(axis=0) == pytest.approx(between @ np.linalg.inv(among) @ values, abs=0.06)
    assert np.cov(process.cases_SR.T) == pytest.approx(left, abs=0.06)
    mean, deviation = process.expected(scaled(kernel, asked))
    every = np.concatenate([rows, running])
    noise = np.diag([0.1] * 12 + [LEAST_NOISE] * 2)
    solved = np.linalg.inv(covariance(kernel, every, every) + noise)
    between = covariance(kernel, asked, every)
    assert mean[:, 7] == pytest.approx(between @ solved @ np.concatenate([values, process.cases_SR[7]]))
    assert deviation[:, 0] == pytest.approx(np.sqrt(kernel.scale - np.diag(between @ solved @ between.T)))


def loss(numbers: Numbers, rows: Numbers, values: Numbers) -> float:
    """Minus the logarithm of likelihood times prior, of the logarithms of a kernel's numbers."""
    weights, scale, noise = np.exp(numbers[:3]), math.exp(numbers[3]), math.exp(numbers[4]) + LEAST_NOISE
    among = covariance(Kernel(weights, scale, noise), rows, rows) + noise * np.eye(len(rows))
    likelihood = multivariate_normal(np.zeros(len(rows)), among).logpdf(values)
    prior = -0.1 * (weights + 1 / weights).sum() + math.log(scale) - scale + 0.1 * math.log(noise) - 30 * noise
    return -float(likelihood + prior)


def numbers_of(kernel: Kernel) -> Numbers:
    return np.log([*kernel.weights_D, kernel.scale, kernel.noise - LEAST_NOISE])


def test_a_fit_ends_where_likelihood_times_prior_is_largest() -> None:
    rows, values = planted(20)
    found = fitted(rows, STARTS, values, Kernel.plain(3), 200)
    other = minimize(loss, numbers_of(found) + 0.3, (rows, values), method="Nelder-Mead", options={"maxfev": 250})
    assert loss(numbers_of(found), rows, values) < other.fun + 0.01
    assert found.weights_D[0] > 3 * found.weights_D[1], "the second axis makes no difference"
    assert found.noise < 0.1


def test_a_fit_goes_on_from_where_one_ended() -> None:
    rows, values = planted(20)
    kernels = [Kernel.plain(3)]
    for _ in range(4):
        kernels.append(fitted(rows, STARTS, values, kernels[-1], 10))
    losses = [loss(numbers_of(kernel), rows, values) for kernel in kernels[1:]]
    assert losses == sorted(losses, reverse=True)
    whole = fitted(rows, STARTS, values, Kernel.plain(3), 200)
    assert losses[-1] < loss(numbers_of(whole), rows, values) + 0.1
