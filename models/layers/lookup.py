"""Tables of vectors, and what is looked up in them only once.

P tokens in any arrangement, N distinct forms of a lane, V those of all lanes.
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
    """A table of vectors for each lane."""

    by_row = False
    """Whether the table's gradient has only the rows that were looked up (``models/kernels/rows.py``): what trains it
    says whether it can read that.
    """

    first_R: Tensor
    """The first row of each lane, all lanes one after another."""

    def __init__(self, lanes: int, rows: int, size: int) -> None:
        super().__init__()
        self.table = parameter(lanes, rows, size, role=TABLE)
        self.register_buffer("first_R", torch.arange(lanes) * rows, persistent=False)

    @property
    def rows(self) -> int:
        """Vectors for each lane."""
        return self.table.shape[1]

    def forward(self, ids: Tensor) -> Tensor:
        """The vectors of ``ids`` (lane axis first), concatenated nowhere: one axis more than ``ids``."""
        return self.sought(ids).vectors()

    def sought(self, ids: Tensor) -> "Sought":
        """The same, not yet looked up."""
        if len(self.first_R) > 1:
            ids = ids + self.first_R.view(-1, *[1] * (ids.dim() - 1))
        return Sought(self.table, ids, self.by_row)


class Sought(NamedTuple):
    """Rows of a table that are read, of any arrangement; they count through all lanes.

    ``by_row``: whether its gradient has only these.
    """

    table_RVE: Tensor
    rows: Tensor
    by_row: bool = False

    def vectors(self) -> Tensor:
        """The rows: one axis more."""
        if self.by_row:
            vectors: Tensor = LookUp.apply(self.table_RVE, self.rows)  # type: ignore[no-untyped-call]
            return vectors
        return functional.embedding(self.rows, self.table_RVE.flatten(0, 1))


class DistinctForms(NamedTuple):
    """The distinct forms of each lane of a batch, known before any device has the batch.

    ``forms_RN`` are ascending, and padded with the boundary, form 0, where a lane has fewer than another. ``place_RP``:
    of each token the place of its form among those of all lanes, lane after lane. ``longest``: characters of the
    longest form; None where it is not known.
    """

    forms_RN: Ids
    place_RP: Ids
    longest: int | None


def distinct_forms(forms_RP: Ids, lengths_F: Ids | None) -> DistinctForms:
    """Those of a batch. ``lengths_F``: the characters of every form, if they are known."""
    if choose("distinct") == "compiled":
        from skipstack.models.kernels.compiled.inputs.places import (
            distinct,  # numba takes a quarter of a second to load
        )

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
    """The distinct forms of each lane, so that what is costly is computed once for each: ``DistinctForms``."""

    forms_RN: Tensor
    place_RP: Tensor
    longest: int | None = None

    @classmethod
    def all(cls, forms_RP: Tensor, forms: int) -> Self:
        """As if each of the corpus's ``forms`` stood there: the shapes do not depend on which do, as in a program."""
        lanes = forms_RP.shape[0]
        first_R = torch.arange(lanes, device=forms_RP.device) * forms
        return cls(
            torch.arange(forms, device=forms_RP.device).expand(lanes, forms),
            forms_RP + first_R.view(-1, *[1] * (forms_RP.dim() - 1)),
        )

    def shared(self, lanes: int) -> "Distinct":
        """Those of one lane, read by each of so many."""
        first_R = torch.arange(lanes, device=self.place_RP.device) * self.forms_RN.shape[1]
        place_RP = self.place_RP + first_R.view(-1, *[1] * (self.place_RP.dim() - 1))
        return Distinct(self.forms_RN.expand(lanes, -1), place_RP, self.longest)

    def spread(self, values_RNF: Tensor) -> Sought:
        """What was computed of each form, at every token that has it: values_RPF."""
        return Sought(values_RNF, self.place_RP)
