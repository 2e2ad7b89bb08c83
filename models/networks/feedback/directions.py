"""Reading forward, backward or both."""

from typing import Literal

import torch
from torch import Tensor

from skipstack.models.kernels.reading import ReadingOrder

TURNED = {"forward": (False,), "backward": (True,), "both": (False, True)}
"""Whether each direction, in turn, reads from the end of a sentence to its beginning."""


class Directions:
    """The order in which each direction reads; in every order, padding comes at the end."""

    def __init__(self, kind: Literal["forward", "backward", "both"]) -> None:
        self.turned = TURNED[kind]

    def __len__(self) -> int:
        return len(self.turned)

    def turn(self, x_GTBF: Tensor, lengths_RB: Tensor) -> Tensor:
        """Reorders from the text's order to each direction's own, and back: its own inverse."""
        parts_RTBF = x_GTBF.reshape(-1, len(self), *x_GTBF.shape[1:]).unbind(1)
        turned = [
            ReadingOrder(lengths_RB, part.shape[1]).turned(part) if turned else part
            for part, turned in zip(parts_RTBF, self.turned, strict=True)
        ]
        return torch.stack(turned, dim=1).flatten(0, 1)
