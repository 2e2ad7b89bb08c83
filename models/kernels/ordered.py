"""Reads and sums at positions that may repeat, in the same order on each run.

On a GPU, torch's ``scatter_add`` and ``index_add`` add numbers in the order in which threads reach them. The gradients
of ``gather`` and ``index_select`` do the same. So with more than two numbers at a position, runs differ in the last
bits. The functions here therefore sort the positions on a GPU, as torch does for the gradient of ``embedding``.

Axes: R lanes (a lane is one seed's copy of the network), V positions of a lane, N numbers, S and T steps, B sentences,
F features.
"""

import torch
from torch import Tensor
from torch.nn import functional


def picked(numbers_RV: Tensor, at_RN: Tensor) -> Tensor:
    """Reads ``numbers`` at the positions ``at_RN`` of each lane: picked_RN."""
    if has_order(numbers_RV):
        return numbers_RV.gather(1, at_RN)
    lanes, places = numbers_RV.shape
    first_R1 = torch.arange(0, lanes * places, places, device=at_RN.device).unsqueeze(1)
    return functional.embedding(at_RN + first_R1, numbers_RV.reshape(-1, 1)).squeeze(-1)


def picked_steps(x_RSBF: Tensor, at_RTB: Tensor) -> Tensor:
    """Reads each sentence's vectors at the steps ``at_RTB``, indices into the S steps: picked_RTBF."""
    lanes, steps, sentences, features = x_RSBF.shape
    if has_order(x_RSBF):
        return x_RSBF.gather(1, at_RTB.unsqueeze(-1).expand(-1, -1, -1, features))
    rows = lanes * steps * sentences
    first_R11 = torch.arange(0, rows, steps * sentences, device=at_RTB.device).view(-1, 1, 1)
    own_B = torch.arange(sentences, device=at_RTB.device)
    return functional.embedding(at_RTB * sentences + first_R11 + own_B, x_RSBF.flatten(0, 2))


def added_up(values_N: Tensor, at_N: Tensor, places: int) -> Tensor:
    """Sums the values at each position: sums_v is the sum of the values whose ``at_N`` is v, for v below ``places``."""
    sums_V = values_N.new_zeros(places)
    if has_order(values_N):
        return sums_V.scatter_add_(0, at_N, values_N)
    return sums_V.index_put_((at_N,), values_N, accumulate=True)


def has_order(like: Tensor) -> bool:
    """Returns whether ``like`` is on a CPU, where every operation adds numbers one after another."""
    return like.is_cpu
