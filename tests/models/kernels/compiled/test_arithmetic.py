"""The functions within compiled loops, beside numpy's in twice the precision."""

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray

from skipstack.models.kernels.compiled.arithmetic import exp_minus_1, sigmoid, tanh

FUNCTIONS = {
    "exp_minus_1": (exp_minus_1, np.expm1),
    "sigmoid": (sigmoid, lambda x: 1 / (1 + np.exp(-x))),
    "tanh": (tanh, np.tanh),
}
EPSILON = {np.float32: 2.0**-23, np.float64: 2.0**-52}


def computed(name: str, x: NDArray[np.floating]) -> NDArray[np.floating]:
    """As compiled code computes it, number after number."""
    function = FUNCTIONS[name][0]

    @njit(error_model="numpy", fastmath={"contract"})  # type: ignore[untyped-decorator]
    def fill(x: NDArray[np.floating], out: NDArray[np.floating]) -> None:
        for place in range(len(x)):
            out[place] = function(x[place])

    out = np.empty_like(x)
    fill(x, out)
    return out


@pytest.mark.first(2)
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("name", list(FUNCTIONS))
def test_all_digits_are_right_from_the_smallest_numbers_to_the_largest(name: str, kind: type[np.floating]) -> None:
    sizes = np.logspace(-30, np.log10(30), 20_001)
    x = np.concatenate([-sizes[::-1], [0], sizes]).astype(kind)
    right = FUNCTIONS[name][1](x.astype(np.longdouble))
    wrong = np.abs(computed(name, x) - right) / np.maximum(np.abs(right), 1e-300)
    assert wrong[right != 0].max() < 4 * EPSILON[kind]
    assert computed(name, np.zeros(1, kind)) == right[x == 0]


@pytest.mark.first(1)
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_what_is_too_large_to_matter_is_at_the_bounds_and_what_is_no_number_stays_so(kind: type[np.floating]) -> None:
    x = np.array([-np.inf, -1e30, -1e3, 1e3, 1e30, np.inf], kind)
    np.testing.assert_allclose(computed("sigmoid", x), [0, 0, 0, 1, 1, 1], atol=1e-17)
    np.testing.assert_array_equal(computed("tanh", x), [-1, -1, -1, 1, 1, 1])
    for name in ("sigmoid", "tanh"):
        assert np.isnan(computed(name, np.array([np.nan], kind))).all()
        assert np.isnan(computed(name, np.array([np.nan] * 40, kind))).all(), "several at once"
