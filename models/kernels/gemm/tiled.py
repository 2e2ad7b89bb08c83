"""Matrix products by tiles of sums in registers (``tile.py``), for CPUs whose registers we know (``registers.py``).

A product is out_MN = x_MK weight_KN. The second factor is packed once for any number of products: into P panels of W
columns, in the order in which a tile reads their numbers. The last panel is padded with zeros.
"""

from typing import Any, Final

import numpy as np
from numba import types
from numba.extending import overload

from skipstack.models.kernels.compiling import inlined, named
from skipstack.models.kernels.gemm.registers import HAS_BFLOAT16
from skipstack.models.kernels.gemm.tile import KINDS, ROWS, VECTORS, fill_tile
from skipstack.models.kernels.gemm.turning import turn_block

NEAR: Final = 2**15
"""About how many numbers of x stay in a near cache while all panels are read."""
DEEP: Final = 480
"""The largest part of K in one pass, so that the panel's rows stay in a near cache while rows of x are read."""
LINE: Final = 64
"""Bytes of a cache line. A vector within one line is read at once."""
_PREFIX: Final = "skipstack_product_of_"


def fill(
    x: Any,
    x_row: int,
    x_next: int,
    rows: int,
    panels: Any,
    panel_size: int,
    depth: int,
    out: Any,
    out_row: int,
    columns: int,
    added: bool,
) -> None:
    """Fills all tiles of a product. ``fill_tile`` explains the arguments. Panels begin ``panel_size`` numbers apart."""
    width, parts = panel_width(x), (depth + DEEP - 1) // DEEP
    near = max(NEAR // (depth * ROWS), 1) * ROWS
    for first in range(0, rows, near):
        here = min(near, rows - first)
        tiles = (here + ROWS - 1) // ROWS
        for panel in range((columns + width - 1) // width):
            column = panel * width
            for part in range(parts):
                k, deep = share(depth, part, parts)
                panel_at, adds = panel * panel_size + k * width, added | (part > 0)
                for tile in range(tiles):
                    row, high = share(here, tile, tiles)
                    x_at, out_at = (first + row) * x_row + k * x_next, (first + row) * out_row + column
                    known = x, x_at, x_row, x_next, panels, panel_at, deep, out, out_at, out_row
                    fill_tile(*known, high, columns - column, adds)


@inlined
def share(whole: int, part: int, parts: int) -> tuple[int, int]:
    """Divides ``whole`` into ``parts`` about equal parts. Returns the start and the size of part number ``part``."""
    start = whole * part // parts
    return start, whole * (part + 1) // parts - start


def panel_width(x: Any) -> int:
    """Returns W, the columns of a panel, for factors of the type of x."""
    raise NotImplementedError("it is compiled only")


@overload(panel_width)  # type: ignore[untyped-decorator]
def _panel_width(x: Any) -> Any:
    width = VECTORS * KINDS[x.dtype].length

    def known(x: Any) -> int:
        return width

    return known


def _named() -> None:
    """Compiles the products under names by which other compiled code calls them."""
    for factor, kind in KINDS.items():
        if kind.pairs and not HAS_BFLOAT16:
            continue
        x, out = types.CPointer(factor), types.CPointer(types.float32 if kind.pairs else factor)
        whole = types.intp
        signature = types.void(x, *[whole] * 3, x, *[whole] * 2, out, *[whole] * 2, types.boolean)
        named(f"{_PREFIX}{factor}", signature, fill)


_named()


@inlined
def panels_for(depth: int, columns: int, like: Any) -> Any:
    """Allocates memory for panels, in the type of ``like``, aligned to cache lines: panels_PKW."""
    width = panel_width(like)
    count = (columns + width - 1) // width
    line = LINE // like.itemsize
    numbers = np.empty(count * depth * width + line, like.dtype)
    skipped = (-numbers.ctypes.data % LINE) // like.itemsize
    return numbers[skipped : skipped + count * depth * width].reshape(count, depth, width)


@inlined
def pack(weight_KN: Any) -> Any:
    """Packs a matrix into panels: panels_PKW."""
    depth, columns = weight_KN.shape
    panels_PKW = panels_for(depth, columns, weight_KN)
    width = panels_PKW.shape[2]
    for p in range(len(panels_PKW)):
        panel_KW, first = panels_PKW[p], p * width
        if first + width <= columns:
            for k in range(depth):
                for j in range(width):
                    panel_KW[k, j] = weight_KN[k, first + j]
        else:
            for k in range(depth):
                for j in range(width):
                    panel_KW[k, j] = weight_KN[k, first + j] if first + j < columns else 0
    return panels_PKW


@inlined
def pack_transposed(weight_NK: Any) -> Any:
    """Packs a matrix that is given transposed, with contiguous rows, into panels: panels_PKW."""
    columns, depth = weight_NK.shape
    panels_PKW = panels_for(depth, columns, weight_NK)
    width, size = panels_PKW.shape[2], weight_NK.itemsize
    block = width // VECTORS
    for first in range(0, columns, block):
        panel_KW, at = panels_PKW[first // width], first % width
        whole = depth // block * block if first + block <= columns else 0
        for k in range(0, whole, block):
            start, out = (
                weight_NK.ctypes.data + (first * depth + k) * size,
                panel_KW.ctypes.data + (k * width + at) * size,
            )
            turn_block(weight_NK, start, depth, out, width)
        for k in range(whole, depth):
            for j in range(block):
                panel_KW[k, at + j] = weight_NK[first + j, k] if first + j < columns else 0
    return panels_PKW


def multiply(x: Any, panels_PKW: Any, out_MN: Any, x_turned: bool = False, added: bool = False) -> None:
    """Computes out_MN = x_MK weight_KN, from the panels of weight. ``x_turned``: x is given transposed, as x_KM.
    ``added``: the product is added to the contents of ``out``.

    Each row of x, and of ``out``, must be contiguous. ``panels`` may be a view of the panels of a deeper matrix.
    """
    raise NotImplementedError("it is compiled only")


@overload(multiply)  # type: ignore[untyped-decorator]
def _multiply(x: Any, panels_PKW: Any, out_MN: Any, x_turned: bool = False, added: bool = False) -> Any:
    product = types.ExternalFunction(f"{_PREFIX}{x.dtype}", types.void(*[types.intp] * 10, types.boolean))

    def call(x: Any, panels_PKW: Any, out_MN: Any, x_turned: bool = False, added: bool = False) -> None:
        across, down = x.strides[0] // x.itemsize, 1
        if x_turned:
            across, down = down, across
        panel_size = panels_PKW.strides[0] // panels_PKW.itemsize
        rows, columns = out_MN.shape
        if panels_PKW.shape[1] == 0:
            if not added:
                out_MN[:] = 0
            return
        product(
            *(x.ctypes.data, across, down, rows, panels_PKW.ctypes.data, panel_size, panels_PKW.shape[1]),
            *(out_MN.ctypes.data, out_MN.strides[0] // out_MN.itemsize, columns, added),
        )

    return call
