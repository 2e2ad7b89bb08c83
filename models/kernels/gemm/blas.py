"""Matrix products by scipy's BLAS, for CPUs whose registers we do not know (``registers.py``), such as ARM.

A product is out_MN = x_MK weight_KN. ``tiled.py`` packs the second factor into P panels of W columns. Here the only
panel is a copy of the matrix: P = 1 and W = N. BLAS stores matrices by columns, so it reads our matrices as transposed,
and computes out^T = weight^T x^T.
"""

from typing import Any, Final

import numpy as np
from llvmlite import binding
from numba import types
from numba.extending import get_cython_function_address, overload

from skipstack.models.kernels.compiling import inlined

NAMES: Final = {types.float32: "sgemm", types.float64: "dgemm"}
"""The names of BLAS's products, by the type of the numbers."""
_PREFIX: Final = "skipstack_blas_"
_PLAIN, _TRANSPOSED = ord("N"), ord("T")


def _named() -> None:
    """Gives BLAS's products names for compiled code, since their addresses differ between processes."""
    for name in NAMES.values():
        binding.add_symbol(f"{_PREFIX}{name}", get_cython_function_address("scipy.linalg.cython_blas", name))


_named()


@inlined
def panels_for(depth: int, columns: int, like: Any) -> Any:
    """Allocates memory for the panel, in the type of ``like``: panels_PKW."""
    return np.empty((1, depth, columns), like.dtype)


@inlined
def pack(weight_KN: Any) -> Any:
    """Copies a matrix into a panel for ``multiply``."""
    depth, columns = weight_KN.shape
    panels_1KN = panels_for(depth, columns, weight_KN)
    panels_1KN[0] = weight_KN
    return panels_1KN


@inlined
def pack_transposed(weight_NK: Any) -> Any:
    """Copies a matrix that is given transposed into a panel for ``multiply``."""
    return pack(weight_NK.T)


def multiply(x: Any, panels_PKW: Any, out_MN: Any, x_turned: bool = False, added: bool = False) -> None:
    """Computes out_MN = x_MK weight_KN, with the arguments and requirements of ``multiply`` in ``tiled.py``."""
    raise NotImplementedError("it is compiled only")


@overload(multiply)  # type: ignore[untyped-decorator]
def _multiply(x: Any, panels_PKW: Any, out_MN: Any, x_turned: bool = False, added: bool = False) -> Any:
    product = types.ExternalFunction(f"{_PREFIX}{NAMES[x.dtype]}", types.void(*[types.intp] * 13))

    def call(x: Any, panels_PKW: Any, out_MN: Any, x_turned: bool = False, added: bool = False) -> None:
        (rows, columns), depth = out_MN.shape, panels_PKW.shape[1]
        if rows == 0 or columns == 0:
            return
        if depth == 0:
            if not added:
                out_MN[:] = 0
            return
        flags = np.array([_PLAIN, _TRANSPOSED if x_turned else _PLAIN], np.uint8)
        sizes = np.empty(6, np.int32)
        sizes[0], sizes[1], sizes[2] = columns, rows, depth
        sizes[3] = max(panels_PKW.strides[1] // panels_PKW.itemsize, columns)
        sizes[4] = max(x.strides[0] // x.itemsize, rows if x_turned else depth)
        sizes[5] = max(out_MN.strides[0] // out_MN.itemsize, columns)
        scales = np.empty(2, x.dtype)
        scales[0], scales[1] = 1, 1 if added else 0
        flag, size, scale = flags.ctypes.data, sizes.ctypes.data, scales.ctypes.data
        product(
            *(flag, flag + 1, size, size + 4, size + 8, scale, panels_PKW.ctypes.data, size + 12),
            *(x.ctypes.data, size + 16, scale + scales.itemsize, out_MN.ctypes.data, size + 20),
        )

    return call
