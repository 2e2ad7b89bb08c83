"""The order in which a sentence is read: from its beginning, from its end, or both.

Axes: R lanes (a lane is one seed's copy of the network), G = 2R groups (each lane in two reading directions), T time
steps, B sentences, I inputs, F features, N rows.
"""

from functools import cached_property

import torch
from torch import Tensor

from skipstack.models.kernels.bounds import check_shape, in_range
from skipstack.models.kernels.choice import choose


class ReadingOrder:
    """The positions of a batch's tokens in each direction's own reading order. Padding is at the end in every order.

    A change of order copies the batch once, whatever the number of directions. The positions are row indices into the
    flattened batch, computed once for all layers. The compiled functions do not need the indices.
    """

    def __init__(self, lengths_RB: Tensor, steps: int) -> None:
        self.lengths_RB, self.steps = lengths_RB, steps

    def turned(self, x_RTBI: Tensor) -> Tensor:
        """Reverses each sentence. Applied twice, this changes nothing."""
        if choose("moves", x_RTBI) == "compiled":
            return _moved(x_RTBI, self.lengths_RB, self.steps, "turned")
        return _rows(x_RTBI, self._lanes[1].flatten()).view_as(x_RTBI)

    def apart(self, x_RTBI: Tensor) -> Tensor:
        """Arranges the input to be read forward and backward, as two directions of each lane: x_GTBI."""
        if choose("moves", x_RTBI) == "compiled":
            return _moved(x_RTBI, self.lengths_RB, self.steps, "apart")
        lanes, *shape = x_RTBI.shape
        both_N = torch.stack(self._lanes, dim=1).flatten()
        return _rows(x_RTBI, both_N).view(2 * lanes, *shape)

    def together(self, x_GTBF: Tensor, kept_GTBF: Tensor | None = None) -> Tensor:
        """Multiplies x by ``kept`` (None: 1), and concatenates [forward; backward] in written order: x_RTB(2F)."""
        if choose("moves", x_GTBF) == "compiled":
            return _moved(x_GTBF, self.lengths_RB, self.steps, "together", kept_GTBF)
        x_GTBF = x_GTBF if kept_GTBF is None else x_GTBF * kept_GTBF
        groups, *shape, features = x_GTBF.shape
        return _rows(x_GTBF, self._written.flatten()).view(groups // 2, *shape, 2 * features)

    def joined(self, x_GTBF: Tensor) -> Tensor:
        """Concatenates [forward; backward] for each direction, in that direction's reading order: x_GTB(2F)."""
        if choose("moves", x_GTBF) == "compiled":
            return _moved(x_GTBF, self.lengths_RB, self.steps, "joined")
        *shape, features = x_GTBF.shape
        return _rows(x_GTBF, self._joined).view(*shape, 2 * features)

    @cached_property
    def _lanes(self) -> tuple[Tensor, Tensor]:
        """The row indices of lanes with one direction: as written, and reversed. Axes: R, T, B."""
        (lanes, sentences), device = self.lengths_RB.shape, self.lengths_RB.device
        time_T1 = torch.arange(self.steps, device=device).unsqueeze(1)
        ends_R1B = self.lengths_RB.unsqueeze(1)
        from_RTB = torch.where(time_T1 < ends_R1B, ends_R1B - 1 - time_T1, time_T1)
        straight_RTB = torch.arange(lanes * self.steps * sentences, device=device).view(lanes, self.steps, sentences)
        return straight_RTB, straight_RTB[:, :1] + from_RTB * sentences

    @cached_property
    def _both(self) -> tuple[Tensor, Tensor]:
        """The row indices of the first direction of lanes with two directions: as written, and reversed."""
        straight_RTB, turned_RTB = self._lanes
        before_R11 = straight_RTB[:, :1, :1]
        return straight_RTB + before_R11, turned_RTB + before_R11

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
        return self.steps * self.lengths_RB.shape[1]


def _rows(x_RTBF: Tensor, rows_N: Tensor) -> Tensor:
    return x_RTBF.flatten(0, 2).index_select(0, rows_N)


def _moved(x_GTBF: Tensor, lengths_RB: Tensor, steps: int, name: str, kept_GTBF: Tensor | None = None) -> Tensor:
    """Returns the result of ``ReadingOrder``'s method ``name``, computed by compiled functions."""
    from skipstack.models.kernels.compiled.time.moves import Moved  # numba takes a quarter of a second to load

    check_shape("the output of a layer", x_GTBF, x_GTBF.shape[0], steps, lengths_RB.shape[1], x_GTBF.shape[3])
    assert in_range(lengths_RB, 0, steps + 1), "no sentence is longer than its batch"
    found_GTBF: Tensor = Moved.apply(x_GTBF, lengths_RB, name, kept_GTBF)
    return found_GTBF
