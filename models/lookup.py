"""A table of vectors. Shapes: R lanes."""

import torch
from torch import Tensor, nn
from torch.nn import functional


class Lookup(nn.Module):
    """A table of vectors for each lane."""

    def __init__(self, lanes: int, rows: int, size: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(lanes, rows, size))

    @property
    def rows(self) -> int:
        """Vectors for each lane."""
        return self.table.shape[1]

    def forward(self, ids: Tensor) -> Tensor:
        """The vectors of ``ids`` (lane axis first), concatenated nowhere: one axis more than ``ids``."""
        lanes = self.table.shape[0]
        offsets = torch.arange(lanes, device=ids.device).mul_(self.rows).view(-1, *[1] * (ids.dim() - 1))
        return functional.embedding(ids + offsets, self.table.flatten(0, 1))
