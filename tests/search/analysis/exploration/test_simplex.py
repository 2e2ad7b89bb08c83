"""Many minima at once, against scipy's one at a time."""

import numpy as np
import pytest
from scipy.optimize import minimize

from skipstack.search.analysis.exploration.simplex import minimise


def test_each_function_goes_the_way_that_scipy_goes() -> None:
    """Valleys of Rosenbrock's, some with a wall that only a smaller simplex gets along; all end at different steps."""
    steep_S, top_S, walled_S = (
        np.array([1.0, 10.0, 100.0, 3.0]),
        np.array([0.0, 1.0, -1.0, 0.5]),
        np.array([0, 0, 0, 1]),
    )

    def values(place_SV: np.ndarray) -> np.ndarray:
        x_S, y_S = place_SV.T
        wall_S = walled_S * 50 * ((x_S - 1.2) % 0.3 > 0.1)
        return np.asarray((top_S - x_S) ** 2 + steep_S * (y_S - x_S**2) ** 2 + wall_S)

    start_SV = np.array([[2.0, -1.0], [-1.5, 0.0], [1.2, 1.0], [2.0, 3.0]])
    found_SV = minimise(values, start_SV, apart=1e-3, differing=1e-4)
    steps = set()
    for number, start_V in enumerate(start_SV):
        theirs = minimize(
            lambda place_V, number=number: values(np.tile(place_V, (4, 1)))[number],
            start_V,
            method="Nelder-Mead",
            options={"xatol": 1e-3, "fatol": 1e-4},
        )
        steps.add(theirs.nit)
        assert found_SV[number] == pytest.approx(theirs.x, rel=1e-9, abs=1e-12)
    assert len(steps) == 4


def test_what_never_settles_ends() -> None:
    source = np.random.default_rng(0)
    assert minimise(
        lambda place_SV: source.normal(size=len(place_SV)), np.ones((2, 2)), apart=0, differing=0
    ).shape == (2, 2)
