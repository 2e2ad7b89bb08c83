"""The compiled loops over torch's tensors, for ``models/time/whole_loops.py``. X = 4H or 3H, S = T + 1."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from skipstack.models.time.compiled import block, lstm
from skipstack.models.time.whole_loops import Runner

ABSENT: dict[torch.dtype, NDArray[Any]] = {
    torch.float32: np.empty((0, 0, 0, 0), np.float32),
    torch.float64: np.empty((0, 0, 0, 0), np.float64),
}
"""What stands for a part that there is not."""


def lstm_forward(*given: Tensor | None) -> None:
    """Fills what ``lstm.forward`` fills."""
    lstm.forward(*arrays(*_from_first_state(given)))


def lstm_backward(
    above_GTBH: Tensor,
    weight_GHX: Tensor,
    start_GBH: Tensor | None,
    gates_GTBX: Tensor,
    h_GTBH: Tensor,
    c_GSBH: Tensor,
    tanh_GTBH: Tensor,
    kept_GTBH: Tensor | None,
    v_GTBH: Tensor | None,
    to_pre_GTBX: Tensor,
    *to_added_GTBH: Tensor | None,
) -> Tensor:
    """Fills what ``lstm.backward`` fills; returns the gradient of U."""
    known = gates_GTBX, h_GTBH, c_GSBH, tanh_GTBH, kept_GTBH, v_GTBH
    to_weight_GHX = torch.empty_like(weight_GHX, memory_format=torch.contiguous_format)
    lstm.backward(*arrays(above_GTBH, weight_GHX, *known, to_pre_GTBX, to_weight_GHX, *to_added_GTBH))
    return _with_first(to_weight_GHX, start_GBH, to_pre_GTBX)


def block_forward(*given: Tensor | None) -> None:
    """Fills what ``block.forward`` fills."""
    block.forward(*arrays(*_from_first_state(given)))


def block_backward(
    above_GTBH: Tensor,
    weight_GHX: Tensor,
    start_GBH: Tensor | None,
    gates_GTBX: Tensor,
    h_GTBH: Tensor,
    read_GTBH: Tensor,
    tanh_GTBH: Tensor,
    to_pre_GTBX: Tensor,
    *to_added_GTBH: Tensor | None,
) -> Tensor:
    """Fills what ``block.backward`` fills; returns the gradient of U."""
    known = gates_GTBX, h_GTBH, read_GTBH, tanh_GTBH
    to_weight_GHX = torch.empty_like(weight_GHX, memory_format=torch.contiguous_format)
    block.backward(*arrays(above_GTBH, weight_GHX, *known, to_pre_GTBX, to_weight_GHX, *to_added_GTBH))
    return _with_first(to_weight_GHX, start_GBH, to_pre_GTBX)


LSTM, BLOCK = Runner(lstm_forward, lstm_backward), Runner(block_forward, block_backward)


def _from_first_state(given: tuple[Tensor | None, ...]) -> list[Tensor | None]:
    """What is given, its sixth part with an axis of one step: the first state has four axes, as all else."""
    start_GBH = given[5]
    return [*given[:5], None if start_GBH is None else start_GBH.unsqueeze(1), *given[6:]]


def _with_first(to_weight_GHX: Tensor, start_GBH: Tensor | None, to_pre_GTBX: Tensor) -> Tensor:
    """What the first step adds to the gradient of U: h_0 pre_1'^T."""
    if start_GBH is not None:
        to_weight_GHX.baddbmm_(start_GBH.transpose(1, 2), to_pre_GTBX[:, 0])
    return to_weight_GHX


def arrays(first: Tensor | None, *others: Tensor | None) -> list[NDArray[Any]]:
    """The numbers of each, copied where they do not stand row after row; of an absent one, none of the first's type."""
    assert first is not None, "what there always is comes first"
    absent = ABSENT[first.dtype]
    return [absent if tensor is None else numbers(tensor) for tensor in (first, *others)]


def numbers(tensor: Tensor) -> NDArray[Any]:
    """Those of a tensor, whether or not it asks for gradients."""
    constant = tensor.detach() if tensor.requires_grad else tensor
    array: NDArray[Any] = constant.contiguous().numpy()
    return array
