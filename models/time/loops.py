"""Which loop runs a layer through time: a compiled one on a CPU, one of fused steps on a GPU, else one of torch's."""

import shutil
from importlib.util import find_spec
from typing import Final

import torch
from torch import Tensor

from skipstack.models.device import SIMULATED
from skipstack.models.products import step_rounds
from skipstack.models.scanning import exporting
from skipstack.models.time.block_loop import BlockLoop
from skipstack.models.time.lstm_loop import LstmLoop
from skipstack.models.time.shortcut_loop import ShortcutLoop
from skipstack.models.time.whole_loops import WholeBlock, WholeLstm

HAS_NUMBA: Final = find_spec("numba") is not None
"""A machine that has little more than torch, to look at its GPU, trains without."""

HAS_TRITON: Final = find_spec("triton") is not None and any(map(shutil.which, ("cc", "gcc", "clang")))
"""It comes with torch where that is made for GPUs, and needs a C compiler, which small containers lack."""


def lstm_loop(
    pre_GTBX: Tensor,
    weight_GHX: Tensor,
    internal_GTBH: Tensor | None = None,
    output_GTBH: Tensor | None = None,
    kept_GTBH: Tensor | None = None,
    start_2GBH: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """An LSTM with what a skip adds to it: h_GTBH, and last_2GBH, h and c (``ShortcutLoop`` has the equations)."""
    skip = internal_GTBH, output_GTBH, kept_GTBH
    if compiles(pre_GTBX):
        from skipstack.models.time.compiled import loops as compiled  # numba takes a quarter of a second to load

        return WholeLstm.apply(compiled.LSTM, pre_GTBX, weight_GHX, *skip, start_2GBH)  # type: ignore[no-untyped-call, no-any-return]
    if fuses(pre_GTBX):
        from skipstack.models.time.fused import loops as fused

        return WholeLstm.apply(fused.LSTM, pre_GTBX, weight_GHX, *skip, start_2GBH)  # type: ignore[no-untyped-call, no-any-return]
    if any(part is not None for part in skip):
        return ShortcutLoop.apply(pre_GTBX, weight_GHX, *skip, start_2GBH)  # type: ignore[no-untyped-call, no-any-return]
    return LstmLoop.apply(pre_GTBX, weight_GHX, start_2GBH)  # type: ignore[no-untyped-call, no-any-return]


def block_loop(
    pre_GTBX: Tensor,
    weight_GHX: Tensor,
    internal_GTBH: Tensor | None = None,
    output_GTBH: Tensor | None = None,
    shared_GTBH: Tensor | None = None,
    start_GBH: Tensor | None = None,
) -> Tensor:
    """A shortcut block: h_GTBH (``BlockLoop`` has the equations)."""
    given = pre_GTBX, weight_GHX, internal_GTBH, output_GTBH, shared_GTBH, start_GBH
    if compiles(pre_GTBX):
        from skipstack.models.time.compiled import loops as compiled

        return WholeBlock.apply(compiled.BLOCK, *given)  # type: ignore[no-untyped-call, no-any-return]
    if fuses(pre_GTBX):
        from skipstack.models.time.fused import loops as fused

        return WholeBlock.apply(fused.BLOCK, *given)  # type: ignore[no-untyped-call, no-any-return]
    return BlockLoop.apply(*given)  # type: ignore[no-untyped-call, no-any-return]


def compiles(pre_GTBX: Tensor) -> bool:
    """Whether a compiled loop takes these numbers: on a CPU, where products are not in bfloat16, which are torch's.

    A program that torch exports has operations of torch alone.
    """
    if pre_GTBX.device.type != "cpu" or pre_GTBX.dtype not in (torch.float32, torch.float64):
        return False
    if exporting() or step_rounds(pre_GTBX.shape[2]) or not HAS_NUMBA:
        return False
    from skipstack.models.time.compiled import products

    return products.AVAILABLE


def fuses(pre_GTBX: Tensor) -> bool:
    """Whether a loop of fused steps takes these numbers: on a GPU, and on the simulated one, which launches as one."""
    kind = pre_GTBX.device.type
    return not exporting() and (kind == SIMULATED or (kind == "cuda" and HAS_TRITON))
