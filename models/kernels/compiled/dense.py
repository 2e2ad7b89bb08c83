"""A compiled matrix product with a bias, and its gradients: the operation that ``models/kernels/products.py`` defines.

X and W are the factors, b the bias, Y the result, and x' the gradient of x. Axes: G batches, N rows, I inputs, O
outputs.
"""

from typing import Any

from torch import Tensor

from skipstack.models.ground.once import Once, once
from skipstack.models.kernels.compiled.arrays import ABSENT, arrays
from skipstack.models.kernels.compiled.rowwise import Array, add, sum_rows
from skipstack.models.kernels.compiling import compiled
from skipstack.models.kernels.gemm.pairs import PAIRS, across, down
from skipstack.models.kernels.gemm.product import multiply, pack, pack_transposed


class CompiledProduct(Once):
    """Computes X W + b, or X W. ``rounds``: whether the factors, also in the backward pass, are rounded to bfloat16."""

    @staticmethod
    def forward(ctx: Any, x_GNI: Tensor, weight_GIO: Tensor, bias_G1O: Tensor | None, rounds: bool) -> Tensor:
        """Computes X W + b, without b if ``bias_G1O`` is None: y_GNO."""
        assert x_GNI.shape[2] == weight_GIO.shape[1], "what is compiled reads on, whatever stands there"
        ctx.save_for_backward(x_GNI, weight_GIO)
        ctx.factors = (PAIRS if rounds else ABSENT[x_GNI.dtype],)
        y_GNO = x_GNI.new_empty(*x_GNI.shape[:2], weight_GIO.shape[2])
        absent = x_GNI.new_empty(0, 0, 0)
        forward(*arrays(x_GNI, weight_GIO, absent if bias_G1O is None else bias_G1O, y_GNO), *ctx.factors)
        return y_GNO

    @staticmethod
    @once
    def backward(ctx: Any, above_GNO: Tensor) -> tuple[Tensor | None, ...]:
        """Returns the gradients of X, W and b; None for those that are not needed."""
        x_GNI, weight_GIO = ctx.saved_tensors
        shapes = x_GNI.shape, weight_GIO.shape, (len(weight_GIO), 1, weight_GIO.shape[2])
        asked = zip(shapes, ctx.needs_input_grad, strict=False)
        made = [x_GNI.new_empty(shape if needed else (0, 0, 0)) for shape, needed in asked]
        backward(*arrays(above_GNO, x_GNI, weight_GIO, *made), *ctx.factors)
        return *(each if len(each) else None for each in made), None


@compiled
def forward(x_GNI: Array, weight_GIO: Array, bias_G1O: Array, y_GNO: Array, like: Array) -> None:
    """Fills ``y_GNO`` with X W + b; an empty ``bias`` stands for no b. ``like``: as in ``gemm/pairs.py``."""
    for g in range(len(y_GNO)):
        multiply(across(x_GNI[g], like), pack(down(weight_GIO[g], like)), y_GNO[g])
        if len(bias_G1O) > 0:
            for n in range(len(y_GNO[g])):
                add(y_GNO[g, n], bias_G1O[g, 0])


@compiled
def backward(
    above_GNO: Array,
    x_GNI: Array,
    weight_GIO: Array,
    to_x_GNI: Array,
    to_weight_GIO: Array,
    to_bias_G1O: Array,
    like: Array,
) -> None:
    """Fills ``to_x`` with X' = Y' W^T, ``to_weight`` with W' = X^T Y', and ``to_bias`` with the sum of the rows of Y'.
    Y' is ``above``. An empty array means that its gradient is not needed.
    """
    for g in range(len(above_GNO)):
        if len(to_x_GNI) > 0:
            multiply(across(above_GNO[g], like), pack_transposed(across(weight_GIO[g], like)), to_x_GNI[g])
        if len(to_weight_GIO) > 0:
            multiply(down(x_GNI[g], like), pack(down(above_GNO[g], like)), to_weight_GIO[g], x_turned=True)
        if len(to_bias_G1O) > 0:
            sum_rows(to_bias_G1O[g, 0], above_GNO[g])
