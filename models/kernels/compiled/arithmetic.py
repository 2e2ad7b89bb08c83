"""Sigmoids and hyperbolic tangents for compiled loops, written so that several float32 are computed at once."""

import math
from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from skipstack.models.kernels.compiling import inlined

LIMIT: Final = np.float32(40)
"""The magnitude to which exponents x are clipped. From there on, 1 + exp(x) rounds to 1 or exp(x), even in float64."""
PER_DOUBLING: Final = np.float32(math.log2(math.e))
DOUBLING: Final = np.float32(0.693359375), np.float32(math.log(2) - 0.693359375)
"""log 2 in two parts. The first has so few bits that its products with k in ``parts_of_exp`` are exact."""
SERIES: Final = tuple(np.float32(1 / math.factorial(power)) for power in range(8))
"""The coefficients of exp(r)'s power series. For |r| <= log(2) / 2, the first omitted term is at most 1.5e-8 of r, a
quarter of float32's rounding error.
"""
WHOLE: Final = np.float32(1.5 * 2**23)
"""A number near which every float32 is an integer. Adding and then subtracting this number rounds to an integer."""
ONE, TWO = np.float32(1), np.float32(2)
"""Constants of float32. Python's integers would turn results into float64."""


@intrinsic  # type: ignore[untyped-decorator]
def float_of_bits(typing: Any, bits: Any) -> Any:
    """Returns the float32 that has these 32 bits."""
    return types.float32(types.int32), lambda _, builder, __, given: builder.bitcast(given[0], ir.FloatType())


def exp_minus_1(x: Any) -> Any:
    """Computes exp(x) - 1 without a loss of precision if the result is small."""
    return np.expm1(x)


@overload(exp_minus_1)  # type: ignore[untyped-decorator]
def _by_type(x: Any) -> Any:
    return _of_float32 if x is types.float32 else _of_float64


def _of_float64(x: Any) -> Any:
    return math.expm1(x)


@inlined
def _of_float32(x: Any) -> Any:
    """Computes exp(x) - 1 as 2^k (exp(r) - 1) + (2^k - 1); ``parts_of_exp`` defines k and r."""
    two_to_k, exp_r_minus_1 = parts_of_exp(x)
    return two_to_k * exp_r_minus_1 + (two_to_k - ONE)


@inlined
def parts_of_exp(x: Any) -> Any:
    """Computes 2^k and exp(r) - 1 in float32, where x = k log 2 + r and k is an integer. So exp(x) = 2^k exp(r)."""
    k = (x * PER_DOUBLING + WHOLE) - WHOLE
    r = (x - k * DOUBLING[0]) - k * DOUBLING[1]
    tail = SERIES[5] + r * (SERIES[6] + r * SERIES[7])
    exp_r_minus_1 = r + r * r * (SERIES[2] + r * (SERIES[3] + r * (SERIES[4] + r * tail)))
    return float_of_bits((np.int32(k) + np.int32(127)) << np.int32(23)), exp_r_minus_1


@inlined
def sigmoid(x: Any) -> Any:
    """Computes 1 / (1 + exp(-x)), where -x is clipped to the range from -``LIMIT`` to ``LIMIT``."""
    return ONE / (TWO + exp_minus_1(min(max(-x, -LIMIT), LIMIT)))


@inlined
def tanh(x: Any) -> Any:
    """Computes (exp(2x) - 1) / (exp(2x) + 1), where 2x is clipped to the range from -``LIMIT`` to ``LIMIT``."""
    e = exp_minus_1(min(max(TWO * x, -LIMIT), LIMIT))
    return e / (e + TWO)
