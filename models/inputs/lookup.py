"""Tables of vectors, and what is looked up in them only once.

P tokens in any arrangement, N distinct forms of a lane, V those of all lanes.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from skipstack.models.parameters import TABLE, parameter
from skipstack.models.rows import LookUp
from skipstack.models.scanning import exporting


class Lookup(nn.Module):
    """A table of vectors for each lane."""

    by_row = False
    """Whether the table's gradient has only the rows that were looked up (``models/rows.py``): what trains it says
    whether it can read that."""

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
        if self.by_row:
            vectors: Tensor = LookUp.apply(self.table, ids + offsets)  # type: ignore[no-untyped-call]
            return vectors
        return functional.embedding(ids + offsets, self.table.flatten(0, 1))


class Distinct:
    """The distinct forms of each lane, so that what is costly is computed once for each.

    ``forms_RN`` are ascending, and padded with the boundary, form 0, where a lane has fewer than another.
    """

    def __init__(self, forms_RP: Tensor, forms: int) -> None:
        """``forms``: how many there are in the corpus."""
        lanes = forms_RP.shape[0]
        first_R = torch.arange(lanes, device=forms_RP.device) * forms
        own_RP = forms_RP + first_R.view(-1, *[1] * (forms_RP.dim() - 1))
        if exporting():  # a program's shapes may not depend on which forms there are: it computes all
            self.forms_RN = torch.arange(forms, device=forms_RP.device).expand(lanes, forms)
            self.place_RP = own_RP
            return
        found_V, row_RP = torch.unique(own_RP, return_inverse=True)
        lane_V = found_V // forms
        count_R = lane_V.bincount(minlength=lanes)
        place_V = torch.arange(len(found_V), device=found_V.device) - (count_R.cumsum(0) - count_R)[lane_V]
        self.forms_RN = found_V.new_zeros(lanes, int(count_R.max()))
        self.forms_RN[lane_V, place_V] = found_V - first_R[lane_V]
        self.place_RP = (lane_V * self.forms_RN.shape[1] + place_V)[row_RP]

    def spread(self, values_RNF: Tensor) -> Tensor:
        """What was computed of each form, at every token that has it: values_RPF."""
        return functional.embedding(self.place_RP, values_RNF.flatten(0, 1))
