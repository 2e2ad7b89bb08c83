"""Compiled lookups in several tables side by side, with gradients, as defined by ``models/layers/lookup.py``.

Axes: R lanes (a lane is one seed's copy of the network); T tokens, S = T plus the margins of the windows at both ends,
B sentences; V rows of a table, lane after lane, E entries of a row; A rows of a table that a token reads; N rows that
were read; U distinct rows among them; W tokens of a window; X numbers of a window. Each of the W tokens has X/W
numbers: the numbers from the first table, then the numbers from the next table, and so on.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from skipstack.models.ground.once import Once, once
from skipstack.models.kernels.compiled.arrays import arrays, numbers, sparse
from skipstack.models.kernels.compiled.inputs.places import summed
from skipstack.models.kernels.compiled.rowwise import Array, add, put, scale
from skipstack.models.kernels.compiling import compiled


class SideBySide(Once):
    """Reads the rows ``rows_RSBA`` of each of several tables, and concatenates the vectors of each token's window:
    x_RTBX. If ``kept`` returns dropout factors, x is multiplied by them.

    If ``by_row`` is True for a table, its gradient holds only the rows that were read (``models/kernels/rows.py``).
    """

    @staticmethod
    def forward(
        ctx: Any,
        window: int,
        kept: Callable[[Tensor], Tensor | None],
        by_row: tuple[bool, ...],
        *tables_and_rows: Tensor,
    ) -> Tensor:
        """Computes x_RTBX. ``window``: W. ``kept``: a function that returns a tensor's dropout factors, or returns None
        if there is no dropout. ``tables_and_rows``: all tables, then the rows to read from each.
        """
        tables, rows = tables_and_rows[: len(by_row)], tables_and_rows[len(by_row) :]
        lanes, margined, sentences, _ = rows[0].shape
        width = window * sum(table.shape[-1] * each.shape[-1] for table, each in zip(tables, rows, strict=True))
        x_RTBX = tables[0].new_empty(lanes, margined - window + 1, sentences, width)
        factors_RTBX = kept(x_RTBX)
        out, ctx.factors = arrays(x_RTBX, factors_RTBX)
        ctx.rows, ctx.by_row, ctx.shapes = [numbers(each) for each in rows], by_row, [each.shape for each in tables]
        first = 0
        for table, each in zip(tables, ctx.rows, strict=True):
            lay(numbers(table).reshape(-1, table.shape[-1]), each, ctx.factors, out, first)
            first += table.shape[-1] * each.shape[3]
        ctx.save_for_backward(factors_RTBX, *rows)
        return x_RTBX

    @staticmethod
    @once
    def backward(ctx: Any, above_RTBX: Tensor) -> tuple[Tensor | None, ...]:
        """Returns the gradients of the tables; None for tables that are not trained."""
        above, first = numbers(above_RTBX), 0
        found: list[Tensor | None] = []
        learnt = ctx.needs_input_grad[3 : 3 + len(ctx.shapes)]
        for rows_RSBA, by_row, shape, learns in zip(ctx.rows, ctx.by_row, ctx.shapes, learnt, strict=True):
            if not learns:
                found.append(None)
                first += shape[-1] * rows_RSBA.shape[3]
                continue
            values_NE = take_back(above, ctx.factors, rows_RSBA, shape[-1], first)
            if by_row:
                places_2U, sums_UE = summed(apart(rows_RSBA, shape[1]), values_NE, shape[1])
                found.append(sparse(torch.from_numpy(places_2U), torch.from_numpy(sums_UE), shape, summed=True))
            else:
                table = above_RTBX.new_zeros(shape)
                add_rows(values_NE, rows_RSBA, table.numpy().reshape(-1, shape[-1]))
                found.append(table)
            first += shape[-1] * rows_RSBA.shape[3]
        return None, None, None, *found, *[None] * len(found)


@compiled
def lay(table_VE: Array, rows_RSBA: NDArray[np.int64], factors_RTBX: Array, out_RTBX: Array, first: int) -> None:
    """Writes the vectors of one table into its columns of ``out_RTBX``, from column ``first`` of each token on."""
    lanes, margined, sentences, each = rows_RSBA.shape
    steps, size = out_RTBX.shape[1], table_VE.shape[1]
    window = margined - steps + 1
    for r, t, b in np.ndindex(lanes, steps, sentences):
        for w in range(window):
            for a in range(each):
                begin = w * (out_RTBX.shape[3] // window) + first + a * size
                out = out_RTBX[r, t, b, begin : begin + size]
                put(out, table_VE[rows_RSBA[r, t + w, b, a]])
                if len(factors_RTBX) > 0:
                    scale(out, factors_RTBX[r, t, b, begin : begin + size])


@compiled
def take_back(above_RTBX: Array, factors_RTBX: Array, rows_RSBA: NDArray[np.int64], size: int, first: int) -> Array:
    """Computes the gradient of each row that was read, summed over the windows that contain its token: values_NE.
    ``size``: E. ``first``: see ``lay``.
    """
    lanes, margined, sentences, each = rows_RSBA.shape
    steps = above_RTBX.shape[1]
    window = margined - steps + 1
    values_RSBAE = np.zeros((lanes, margined, sentences, each, size), above_RTBX.dtype)
    for r, t, b in np.ndindex(lanes, steps, sentences):
        for w in range(window):
            for a in range(each):
                begin = w * (above_RTBX.shape[3] // window) + first + a * size
                row, above = values_RSBAE[r, t + w, b, a], above_RTBX[r, t, b, begin : begin + size]
                if len(factors_RTBX) > 0:
                    factors = factors_RTBX[r, t, b, begin : begin + size]
                    for j in range(size):
                        row[j] += above[j] * factors[j]
                else:
                    add(row, above)
    return values_RSBAE.reshape(rows_RSBA.size, size)


@compiled
def add_rows(values_NE: Array, rows_RSBA: NDArray[np.int64], table_VE: Array) -> None:
    """Adds each of the N values to its row of a table. Rows may repeat."""
    for n, row in enumerate(rows_RSBA.ravel()):
        add(table_VE[row], values_NE[n])


@compiled
def apart(rows_RSBA: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Converts indices into the rows of all lanes to lanes and rows: lane_and_row_2N. A lane has ``size`` rows."""
    lane_and_row_2N = np.empty((2, rows_RSBA.size), np.int64)
    for n, row in enumerate(rows_RSBA.ravel()):
        lane_and_row_2N[0, n], lane_and_row_2N[1, n] = row // size, row % size
    return lane_and_row_2N
