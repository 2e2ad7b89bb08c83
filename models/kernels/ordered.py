"""Reads and sums at positions that may repeat, in the same order on each run.

On a GPU torch adds such numbers in the order in which its threads come to them, another each time: ``scatter_add``,
``index_add``, and with them the gradient of ``gather`` and of ``index_select``. Where more than two numbers can meet,
a step that is repeated would so end in other bits. The functions here sort the positions first, as torch does for the
gradient of ``embedding`` and for ``index_put`` that accumulates. A CPU adds one after another in any case.

R lanes; V positions of a lane, N numbers.
"""

import torch
from torch import Tensor
from torch.nn import functional


def picked(numbers_RV: Tensor, at_RN: Tensor) -> Tensor:
    """``numbers`` at some positions of each lane: picked_RN."""
    if has_order(numbers_RV):
        return numbers_RV.gather(1, at_RN)
    lanes, places = numbers_RV.shape
    first_R1 = torch.arange(0, lanes * places, places, device=at_RN.device).unsqueeze(1)
    return functional.embedding(at_RN + first_R1, numbers_RV.reshape(-1, 1)).squeeze(-1)


def picked_steps(x_RSBF: Tensor, at_RTB: Tensor) -> Tensor:
    """The vectors of some of the S steps of each sentence: picked_RTBF."""
    lanes, steps, sentences, features = x_RSBF.shape
    if has_order(x_RSBF):
        return x_RSBF.gather(1, at_RTB.unsqueeze(-1).expand(-1, -1, -1, features))
    rows = lanes * steps * sentences
    first_R11 = torch.arange(0, rows, steps * sentences, device=at_RTB.device).view(-1, 1, 1)
    own_B = torch.arange(sentences, device=at_RTB.device)
    return functional.embedding(at_RTB * sentences + first_R11 + own_B, x_RSBF.flatten(0, 2))


def added_up(values_N: Tensor, at_N: Tensor, places: int) -> Tensor:
    """The sums of the values at each of as many positions as ``places`` says: sums_V."""
    sums_V = values_N.new_zeros(places)
    if has_order(values_N):
        return sums_V.scatter_add_(0, at_N, values_N)
    return sums_V.index_put_((at_N,), values_N, accumulate=True)


def has_order(like: Tensor) -> bool:
    """Whether every operation on this device adds numbers one after another."""
    return like.is_cpu
