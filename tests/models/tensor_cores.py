"""A CPU that multiplies as a GPU does: in TF32 while torch's switch for that is on."""

from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from skipstack.models.ground.precision import TF32

aten = torch.ops.aten
FACTORS = {
    **dict.fromkeys((aten.mm.default, aten.mm.out, aten.bmm.default, aten.bmm.out), (0, 1)),
    **dict.fromkeys((aten.addmm.default, aten.addmm.out, aten.baddbmm.default, aten.baddbmm.out), (1, 2)),
}
"""At which places products have theirs."""


class TensorCores(TorchDispatchMode):
    """While it is entered, in the thread that entered it."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func in FACTORS and getattr(torch.backends.cuda.matmul, TF32[0]) == TF32[1]:
            args = tuple(rounded(each) if place in FACTORS[func] else each for place, each in enumerate(args))
        return func(*args, **(kwargs or {}))


def rounded(x: Tensor) -> Tensor:
    """Numbers of float32 to 11 significant bits, the nearest ones."""
    if x.dtype is not torch.float32:
        return x
    return (x.contiguous().view(torch.int32) + 2**12).bitwise_and_(-(2**13)).view(torch.float32)
