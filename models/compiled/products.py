"""Matrix products within compiled loops, by the BLAS that torch has, which uses as many threads as torch is told to."""

import ctypes
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from llvmlite import binding
from numba import types
from numba.extending import overload

_TYPES: Final = {types.float32: "sgemm_", types.float64: "dgemm_"}
_PREFIX: Final = "skipstack_"
_AS_IT_IS, _TRANSPOSED = (np.array([ord(letter)], dtype=np.uint8) for letter in "NT")


def _find() -> bool:
    """Whether torch's library has the products of BLAS; compiled code finds them from now on."""
    names = ("libtorch_cpu.so", "libtorch_cpu.dylib", "torch_cpu.dll")
    for path in (Path(torch.__file__).parent / "lib" / name for name in names):
        library = ctypes.CDLL(str(path)) if path.exists() else None
        if all(hasattr(library, name) for name in _TYPES.values()):
            for name in _TYPES.values():
                binding.add_symbol(_PREFIX + name, ctypes.cast(getattr(library, name), ctypes.c_void_p).value)
            return True
    return False


AVAILABLE: Final = _find()
"""Where there are none, nothing that multiplies can be compiled."""


def multiply(
    x: Any, weight: Any, out: Any, x_turned: bool = False, weight_turned: bool = False, added: bool = False
) -> None:
    """out_MN = x_MK weight_KN, where all rows stand one after another; ``turned``: given as x_KM, or as weight_NK.

    ``added``: to what is there already.
    """
    product = np.matmul(x.T if x_turned else x, weight.T if weight_turned else weight)
    out[:] = out + product if added else product


@overload(multiply)  # type: ignore[untyped-decorator]
def _multiply(
    x: Any, weight: Any, out: Any, x_turned: bool = False, weight_turned: bool = False, added: bool = False
) -> Any:
    gemm = types.ExternalFunction(_PREFIX + _TYPES[x.dtype], types.void(*[types.intp] * 13))

    def call(
        x: Any, weight: Any, out: Any, x_turned: bool = False, weight_turned: bool = False, added: bool = False
    ) -> Any:
        # BLAS reads columns first: to it, all three are transposed, and out^T = weight^T x^T.
        sizes, factors = np.empty(5, np.int32), np.empty(2, x.dtype)
        sizes[0], sizes[1], sizes[2] = out.shape[1], out.shape[0], x.shape[0] if x_turned else x.shape[1]
        sizes[3], sizes[4] = weight.shape[1], x.shape[1]
        factors[0], factors[1] = 1, 1 if added else 0  # out = 1 x weight + 1 or 0 out
        n, one = sizes.ctypes.data, factors.ctypes.data
        m, k, weight_width, x_width, kept = n + 4, n + 8, n + 12, n + 16, one + factors.itemsize
        way = _TRANSPOSED.ctypes.data if weight_turned else _AS_IT_IS.ctypes.data
        x_way = _TRANSPOSED.ctypes.data if x_turned else _AS_IT_IS.ctypes.data
        a, b, c = weight.ctypes.data, x.ctypes.data, out.ctypes.data
        gemm(way, x_way, n, m, k, one, a, weight_width, b, x_width, kept, c, n)
        sizes[0], factors[0] = 0, 0  # numba frees an array after its last use, which is to come after the product

    return call
