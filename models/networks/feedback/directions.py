"""Reorders sequences for networks that read forward, backward or both."""

from typing import Literal

import torch
from torch import Tensor

from skipstack.models.kernels.reading import ReadingOrder

TURNED = {"forward": (False,), "backward": (True,), "both": (False, True)}
"""The directions of each kind: True for a direction that reads from the end of a sentence to its beginning."""


class Directions:
    """The directions of a network, and the order in which each reads. In every order, padding comes at the end.

    ``len`` is the number of directions.
    """

    def __init__(self, kind: Literal["forward", "backward", "both"]) -> None:
        self.turned = TURNED[kind]

    def __len__(self) -> int:
        return len(self.turned)

    def turn(self, x_GTBF: Tensor, lengths_RB: Tensor) -> Tensor:
        """Reorder time steps from the text's order to each direction's own order, or back; it is its own inverse."""
        parts_RTBF = x_GTBF.reshape(-1, len(self), *x_GTBF.shape[1:]).unbind(1)
        turned = [
            ReadingOrder(lengths_RB, part.shape[1]).turned(part) if turned else part
            for part, turned in zip(parts_RTBF, self.turned, strict=True)
        ]
        return torch.stack(turned, dim=1).flatten(0, 1)
