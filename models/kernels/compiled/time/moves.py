"""Compiled changes of the reading order of rows, with gradients, as defined by ``models/kernels/reading.py``.

Axes: R lanes (a lane is one seed's copy of the network), with one direction or two; G groups, the directions of all
lanes; T time steps; B sentences; F features of a group; M moves of a lane.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from skipstack.models.ground.once import Once, once
from skipstack.models.kernels.compiled.arrays import arrays, numbers
from skipstack.models.kernels.compiled.rowwise import Array, add, put
from skipstack.models.kernels.compiling import compiled, inlined


class Way(NamedTuple):
    """A rearrangement of a lane's rows.

    ``taken``: the number of source directions. ``given``: the number of target directions. ``parts``: the number of
    parts in the features of each target. ``moves_M4``: four numbers for each move. They are the source direction, the
    target direction, the part of the target's features, and whether each sentence is reversed (1 or 0).
    """

    taken: int
    given: int
    parts: int
    moves_M4: NDArray[np.int64]


WAYS: Final = {
    "turned": Way(1, 1, 1, np.array([(0, 0, 0, 1)])),
    "apart": Way(1, 2, 1, np.array([(0, 0, 0, 0), (0, 1, 0, 1)])),
    "together": Way(2, 1, 2, np.array([(0, 0, 0, 0), (1, 0, 1, 1)])),
    "joined": Way(2, 2, 2, np.array([(0, 0, 0, 0), (1, 0, 1, 1), (0, 1, 0, 1), (1, 1, 1, 0)])),
}
"""The rearrangements, by the names of the methods of ``ReadingOrder``."""


class Moved(Once):
    """Multiplies x_GTBF by ``kept``, and rearranges the product by one of the ``WAYS``. Padding stays at the end."""

    @staticmethod
    def forward(ctx: Any, x_GTBF: Tensor, lengths_RB: Tensor, name: str, kept_GTBF: Tensor | None) -> Tensor:
        """Rearranges x as ``ReadingOrder``'s method ``name`` does."""
        ctx.name, ctx.shape = name, x_GTBF.shape
        ctx.known = arrays(x_GTBF, lengths_RB, kept_GTBF)[1:]
        ctx.save_for_backward(lengths_RB, kept_GTBF)
        return moved(name, x_GTBF, *ctx.known)

    @staticmethod
    @once
    def backward(ctx: Any, above_GTBF: Tensor) -> tuple[Tensor, None, None, None]:
        """Returns the gradient of x, rearranged back."""
        return moved_back(ctx.name, above_GTBF, ctx.shape, *ctx.known), None, None, None


def moved(name: str, x_GTBF: Tensor, lengths_RB: Array, kept_GTBF: Array) -> Tensor:
    """Rearranges x as ``ReadingOrder``'s method ``name`` does. ``kept_GTBF``: factors of x; empty if there are none."""
    taken, given, parts, moves_M4 = WAYS[name]
    out_GTBF = x_GTBF.new_empty(len(lengths_RB) * given, *x_GTBF.shape[1:3], x_GTBF.shape[-1] * parts)
    move(taken, given, moves_M4, False, numbers(x_GTBF), lengths_RB, kept_GTBF, out_GTBF.numpy())
    return out_GTBF


def moved_back(name: str, above_GTBF: Tensor, shape: Sequence[int], lengths_RB: Array, kept_GTBF: Array) -> Tensor:
    """Computes the gradient of x, of shape ``shape``, from the gradient of the result of ``moved``."""
    taken, given, _, moves_M4 = WAYS[name]
    to_x_GTBF = above_GTBF.new_zeros(shape)
    move(taken, given, moves_M4, True, to_x_GTBF.numpy(), lengths_RB, kept_GTBF, numbers(above_GTBF))
    return to_x_GTBF


@compiled
def move(
    taken: int,
    given: int,
    moves_M4: NDArray[np.int64],
    back: bool,
    x_GTBF: Array,
    lengths_RB: Array,
    kept_GTBF: Array,
    out_GTBF: Array,
) -> None:
    """Copies x, multiplied by ``kept`` (1 if empty), to ``out_GTBF`` by the moves. With ``back``, makes the moves in
    reverse: adds ``out``, multiplied by ``kept``, to x.
    """
    _, steps, sentences, width = x_GTBF.shape
    for r in range(len(lengths_RB)):
        for m in range(len(moves_M4)):
            direction, to_direction, part, turned = moves_M4[m]
            x_TBF, out_TBF = x_GTBF[r * taken + direction], out_GTBF[r * given + to_direction]
            for t in range(steps):
                for n in range(sentences):
                    step = place(t, lengths_RB[r, n], turned)
                    row, out = x_TBF[step, n], out_TBF[t, n, part * width : (part + 1) * width]
                    if len(kept_GTBF) > 0:
                        kept = kept_GTBF[r * taken + direction, step, n]
                        if back:
                            for j in range(width):
                                row[j] += out[j] * kept[j]
                        else:
                            for j in range(width):
                                out[j] = row[j] * kept[j]
                    elif back:
                        add(row, out)
                    else:
                        put(out, row)


@inlined
def place(t: int, length: int, turned: int) -> int:
    """Returns the position of the token that is read at step t. Padding stays at the end."""
    return length - 1 - t if turned and t < length else t
