"""Tables of vectors, and what is looked up in them only once.

Shapes: R lanes, X tokens in any arrangement, N distinct forms of a lane, U those of all lanes, L numbers a form.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from skipstack.models.parameters import TABLE, parameter


class Lookup(nn.Module):
    """A table of vectors for each lane."""

    def __init__(self, lanes: int, rows: int, size: int) -> None:
        super().__init__()
        self.table = parameter(lanes, rows, size, role=TABLE)

    @property
    def rows(self) -> int:
        """Vectors for each lane."""
        return self.table.shape[1]

    def forward(self, ids: Tensor) -> Tensor:
        """The vectors of ``ids`` (lane axis first), concatenated nowhere: one axis more than ``ids``."""
        lanes = self.table.shape[0]
        offsets = torch.arange(lanes, device=ids.device).mul_(self.rows).view(-1, *[1] * (ids.dim() - 1))
        return functional.embedding(ids + offsets, self.table.flatten(0, 1))


class Distinct:
    """The distinct forms of each lane, so that what is costly is computed once for each.

    ``forms_RN`` are ascending, and padded with the boundary, form 0, where a lane has fewer than another.
    """

    def __init__(self, forms_RX: Tensor, forms: int) -> None:
        """``forms``: how many there are in the corpus."""
        lanes = forms_RX.shape[0]
        first_R = torch.arange(lanes, device=forms_RX.device) * forms
        found_U, row_RX = torch.unique(forms_RX + first_R.view(-1, *[1] * (forms_RX.dim() - 1)), return_inverse=True)
        lane_U = found_U // forms
        count_R = lane_U.bincount(minlength=lanes)
        place_U = torch.arange(len(found_U), device=found_U.device) - (count_R.cumsum(0) - count_R)[lane_U]
        self.forms_RN = found_U.new_zeros(lanes, int(count_R.max()))
        self.forms_RN[lane_U, place_U] = found_U - first_R[lane_U]
        self.place_RX = (lane_U * self.forms_RN.shape[1] + place_U)[row_RX]

    def spread(self, values_RNL: Tensor) -> Tensor:
        """What was computed of each form, at every token that has it: values_RXL."""
        return functional.embedding(self.place_RX, values_RNL.flatten(0, 1))
