"""Compiled counter-based random numbers: the generator that ``models/kernels/philox.py`` defines.

Axes: R lanes (a lane is one seed's copy of the network), N numbers of a lane.
"""

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from skipstack.models.kernels.compiled.rowwise import Array
from skipstack.models.kernels.compiling import compiled, inlined
from skipstack.models.kernels.philox import FACTORS, ROUNDS, STEPS, WORD

MASK, HALF, SHORTER = np.uint64(WORD), np.uint64(32), np.uint64(8)
FACTOR_0, FACTOR_1 = (np.uint64(factor) for factor in FACTORS)
STEP_0, STEP_1 = (np.uint64(step) for step in STEPS)


@compiled
def fill(key_R: Array, draw: int, uniform_RN: Array) -> None:
    """Fills ``uniform_RN``, a row for each lane, with the draw of index ``draw``. N must be a multiple of 4."""
    for r in range(len(key_R)):
        fill_row(key_R[r], draw, uniform_RN[r])


@compiled
def keep(key_R: Array, draw: int, share_R: Array, kept_RN: Array) -> None:
    """Fills ``kept_RN`` with dropout factors: 0 if the drawn number is below the lane's share, else 1 / (1 - share)."""
    numbers = kept_RN.shape[1]
    drawn = np.empty(-(-numbers // 4) * 4, kept_RN.dtype)
    for r in range(len(key_R)):
        fill_row(key_R[r], draw, drawn)
        kept, share = kept_RN[r], kept_RN.dtype.type(share_R[r])
        scale, none = kept_RN.dtype.type(1 / (1 - share_R[r])), kept_RN.dtype.type(0)
        for j in range(numbers):
            kept[j] = scale if drawn[j] >= share else none


@inlined
def fill_row(key: int, draw: int, row: Array) -> None:
    """Fills a lane's row, whose length must be a multiple of 4, with random numbers. The four words of a block are
    stored a quarter of the row apart, so that several blocks are computed at once.
    """
    blocks = len(row) // 4
    like, word = row.dtype.type(0), np.uint64(key)
    row_0, row_1 = row[:blocks], row[blocks : 2 * blocks]
    row_2, row_3 = row[2 * blocks : 3 * blocks], row[3 * blocks :]
    for i in range(blocks):
        a, b, c, d = np.uint64(i) & MASK, np.uint64(0), np.uint64(draw) & MASK, np.uint64(draw) >> HALF
        low, high = word & MASK, word >> HALF
        for _ in range(ROUNDS):
            first, second = FACTOR_0 * a, FACTOR_1 * c
            a, b = (second >> HALF) ^ b ^ low, second & MASK
            c, d = (first >> HALF) ^ d ^ high, first & MASK
            low, high = (low + STEP_0) & MASK, (high + STEP_1) & MASK
        row_0[i] = fraction(a, like)
        row_1[i] = fraction(b, like)
        row_2[i] = fraction(c, like)
        row_3[i] = fraction(d, like)


def fraction(word: Any, like: Any) -> Any:
    """Divides a 32-bit word by 2^32, in the type of ``like``. For float32, the lowest 8 bits are dropped."""
    return type(like)((word >> SHORTER) * 2**-24 if isinstance(like, np.float32) else word * 2**-32)


@overload(fraction)  # type: ignore[untyped-decorator]
def _by_type(word: Any, like: Any) -> Any:
    return _of_float32 if like is types.float32 else _of_float64


def _of_float32(word: Any, like: Any) -> Any:
    return np.float32(np.int32(word >> SHORTER)) * np.float32(2**-24)


def _of_float64(word: Any, like: Any) -> Any:
    return np.float64(word) * 2**-32
