"""In which order a sentence is read: from its beginning, from its end, or both."""

from functools import cached_property

import torch
from torch import Tensor


class ReadingOrder:
    """Where the tokens of a batch stand in each direction's own order of reading; padding is at the end in every order.

    The places, rows of a batch laid out flat, are found once for all layers. What is put into another order is
    then one copy, however many directions it has.
    """

    def __init__(self, lengths_RB: Tensor, steps: int) -> None:
        lanes, sentences = lengths_RB.shape
        device = lengths_RB.device
        time_T1 = torch.arange(steps, device=device).unsqueeze(1)
        ends_R1B = lengths_RB.unsqueeze(1)
        from_RTB = torch.where(time_T1 < ends_R1B, ends_R1B - 1 - time_T1, time_T1)
        self._straight_RTB = torch.arange(lanes * steps * sentences, device=device).view(lanes, steps, sentences)
        self._turned_RTB = self._straight_RTB[:, :1] + from_RTB * sentences

    def turned(self, x_RTBI: Tensor) -> Tensor:
        """Each sentence in the opposite order. Its own inverse."""
        return _rows(x_RTBI, self._turned_RTB.flatten()).view_as(x_RTBI)

    def apart(self, x_RTBI: Tensor) -> Tensor:
        """Read forward and backward: x_GTBI, two directions a lane."""
        lanes, *shape = x_RTBI.shape
        both_N = torch.stack([self._straight_RTB, self._turned_RTB], dim=1).flatten()
        return _rows(x_RTBI, both_N).view(2 * lanes, *shape)

    def together(self, x_GTBF: Tensor) -> Tensor:
        """[forward; backward] in the order in which a sentence is written: x_RTB(2F)."""
        groups, *shape, features = x_GTBF.shape
        return _rows(x_GTBF, self._written.flatten()).view(groups // 2, *shape, 2 * features)

    def joined(self, x_GTBF: Tensor) -> Tensor:
        """[forward; backward] for each direction, in its own order of reading: x_GTB(2F)."""
        *shape, features = x_GTBF.shape
        return _rows(x_GTBF, self._joined).view(*shape, 2 * features)

    @cached_property
    def _both(self) -> tuple[Tensor, Tensor]:
        """Of lanes with two directions each, the rows of the first one: as they stand, and turned."""
        before_R11 = self._straight_RTB[:, :1, :1]
        return self._straight_RTB + before_R11, self._turned_RTB + before_R11

    @cached_property
    def _written(self) -> Tensor:
        forward_RTB, turned_RTB = self._both
        return torch.stack([forward_RTB, turned_RTB + self._rows_of_a_lane], dim=-1)

    @cached_property
    def _joined(self) -> Tensor:
        forward_RTB, turned_RTB = self._both
        opposite_RTB2 = torch.stack([turned_RTB, forward_RTB + self._rows_of_a_lane], dim=-1)
        return torch.stack([self._written, opposite_RTB2], dim=1).flatten()

    @property
    def _rows_of_a_lane(self) -> int:
        return self._straight_RTB.shape[1] * self._straight_RTB.shape[2]


def _rows(x_RTBF: Tensor, rows_N: Tensor) -> Tensor:
    """These of the rows that stand one after another in x: x_NF."""
    return x_RTBF.flatten(0, 2).index_select(0, rows_N)
