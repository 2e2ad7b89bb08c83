"""Tables of vectors, and lookups that compute each distinct form (word as written) once.

Axes: R lanes (a lane is one seed's copy of the network), P tokens of a lane in any shape, N distinct forms of a lane,
V rows of a lane's table or distinct forms of all lanes, E entries of a vector, F features (in ``lengths_F``: all forms
of the corpus).
"""

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from skipstack.data.basis.arrays import Ids
from skipstack.models.ground.parameters import TABLE, parameter
from skipstack.models.kernels.choice import choose
from skipstack.models.kernels.rows import LookUp


class Lookup(nn.Module):
    """A table of vectors for each lane, read by row ids."""

    by_row = False
    """Whether the table's gradient holds only the rows that were looked up (``models/kernels/rows.py``). Training sets
    this if there is no L2 penalty, and the optimiser's method ``by_row`` returns True for the table.
    """

    first_R: Tensor
    """The index of each lane's first row in the concatenation of all lanes' tables."""

    def __init__(self, lanes: int, rows: int, size: int) -> None:
        super().__init__()
        self.table = parameter(lanes, rows, size, role=TABLE)
        self.register_buffer("first_R", torch.arange(lanes) * rows, persistent=False)

    @property
    def rows(self) -> int:
        """The number of vectors in a lane's table."""
        return self.table.shape[1]

    def forward(self, ids: Tensor) -> Tensor:
        """Looks up the vectors of ``ids``, whose first axis is the lane. The result has one more axis than ``ids``."""
        return self.sought(ids).vectors()

    def sought(self, ids: Tensor) -> "Sought":
        """Returns the rows of ``ids``, to be looked up later."""
        if len(self.first_R) > 1:
            ids = ids + self.first_R.view(-1, *[1] * (ids.dim() - 1))
        return Sought(self.table, ids, self.by_row)


class Sought(NamedTuple):
    """Rows to be read from a table.

    ``table_RVE``: the tables of all lanes. ``rows``: indices into the concatenated tables, in any shape. ``by_row``:
    whether the table's gradient holds only these rows.
    """

    table_RVE: Tensor
    rows: Tensor
    by_row: bool = False

    def vectors(self) -> Tensor:
        """Looks up the vectors of the rows. The result has one more axis than ``rows``."""
        if self.by_row:
            vectors: Tensor = LookUp.apply(self.table_RVE, self.rows)  # type: ignore[no-untyped-call]
            return vectors
        return functional.embedding(self.rows, self.table_RVE.flatten(0, 1))


class DistinctForms(NamedTuple):
    """The distinct forms (words as written) of each lane of a batch, computed on the host.

    ``forms_RN``: the forms of each lane in ascending order, padded with form 0, which stands for positions outside a
    sentence. ``place_RP``: the index of each token's form in the flattened ``forms_RN``. ``longest``: the number of
    characters of the longest form; None if unknown.
    """

    forms_RN: Ids
    place_RP: Ids
    longest: int | None


def distinct_forms(forms_RP: Ids, lengths_F: Ids | None) -> DistinctForms:
    """Finds the distinct forms of each lane of a batch.

    ``forms_RP``: the form of each token. ``lengths_F``: the number of characters of every form; None if unknown.
    """
    if choose("distinct") == "compiled":
        # numba takes a quarter of a second to load
        from skipstack.models.kernels.compiled.inputs.places import distinct

        forms_RN, place_RP = distinct(forms_RP.reshape(len(forms_RP), -1).astype(np.int64, copy=False))
        return _with_longest(forms_RN, place_RP.reshape(forms_RP.shape), lengths_F)
    lanes, forms = len(forms_RP), int(forms_RP.max(initial=0)) + 1
    first_R = np.arange(lanes) * forms
    found_V, row_RP = np.unique(forms_RP + first_R.reshape(-1, *[1] * (forms_RP.ndim - 1)), return_inverse=True)
    lane_V = found_V // forms
    count_R = np.bincount(lane_V, minlength=lanes)
    place_V = np.arange(len(found_V)) - (count_R.cumsum() - count_R)[lane_V]
    forms_RN = np.zeros((lanes, count_R.max(initial=0)), dtype=np.int64)
    forms_RN[lane_V, place_V] = found_V - first_R[lane_V]
    place_RP = (lane_V * forms_RN.shape[1] + place_V)[row_RP].reshape(forms_RP.shape)
    return _with_longest(forms_RN, place_RP, lengths_F)


def _with_longest(forms_RN: Ids, place_RP: Ids, lengths_F: Ids | None) -> DistinctForms:
    longest = None if lengths_F is None else int(lengths_F[forms_RN].max(initial=1))
    return DistinctForms(forms_RN, place_RP, longest)


@dataclass(frozen=True, slots=True)
class Distinct:
    """``DistinctForms`` as tensors on the device. Costly features are computed once per form instead of per token."""

    forms_RN: Tensor
    place_RP: Tensor
    longest: int | None = None

    @classmethod
    def all(cls, forms_RP: Tensor, forms: int) -> Self:
        """Takes all ``forms`` of the corpus as the distinct forms of each lane, whether or not the batch contains them.
        Shapes then do not depend on the batch, as exported programs need.
        """
        lanes = forms_RP.shape[0]
        first_R = torch.arange(lanes, device=forms_RP.device) * forms
        return cls(
            torch.arange(forms, device=forms_RP.device).expand(lanes, forms),
            forms_RP + first_R.view(-1, *[1] * (forms_RP.dim() - 1)),
        )

    def shared(self, lanes: int) -> "Distinct":
        """Repeats the forms of a single lane for ``lanes`` lanes."""
        first_R = torch.arange(lanes, device=self.place_RP.device) * self.forms_RN.shape[1]
        place_RP = self.place_RP + first_R.view(-1, *[1] * (self.place_RP.dim() - 1))
        return Distinct(self.forms_RN.expand(lanes, -1), place_RP, self.longest)

    def spread(self, values_RNF: Tensor) -> Sought:
        """Returns the lookup of each token's row in ``values_RNF``, the values of the distinct forms. The method
        ``vectors`` of the result computes values_RPF.
        """
        return Sought(values_RNF, self.place_RP)
