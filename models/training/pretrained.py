"""Pretrained word vectors in a network's table of words (``data/store/vectors.py``).

Axes: R lanes (a lane is one seed's copy of the network), V rows of the table, E numbers of a vector, P rows with a
pretrained vector, U rows that a batch looked up.
"""

from typing import Self

import torch
from torch import Tensor, nn

from skipstack.data.basis.errors import UserError
from skipstack.data.store.vectors import Pretrained
from skipstack.models.kernels.rows import gradient_rows


class PretrainedRows:
    """The rows of a table of words that are initialised with pretrained vectors, unscaled, the same in every lane.

    With ``frozen``, these rows stay constant under every optimiser: ``hold`` sets their gradient to exactly 0 at each
    step, so momentum never accumulates.
    """

    def __init__(self, table: nn.Parameter, rows_P: Tensor, *, frozen: bool) -> None:
        self.table = table
        self.rows_P = rows_P
        self.frozen = frozen

    @classmethod
    def placed(cls, table: nn.Parameter, vectors: Pretrained, *, frozen: bool) -> Self:
        """Write ``vectors`` into ``table`` (shape RVE), and return the rows written. Raises UserError if the vectors do
        not have the size of the table's vectors.
        """
        size, wanted = vectors.values_PE.shape[1], table.shape[-1]
        if size != wanted:
            raise UserError(f"model.embedder.word_size: got {wanted} (allowed: {size}, the size of the vectors, or 0)")
        rows_P = torch.as_tensor(vectors.rows_P, device=table.device)
        with torch.no_grad():
            table[:, rows_P] = torch.tensor(vectors.values_PE).to(table)
        return cls(table, rows_P, frozen=frozen)

    def moving(self) -> Tensor:
        """Return 1 for each row of the table that training moves, and 0 for rows that are ``frozen``: shape V1."""
        moving_V1 = self.table.new_ones(self.table.shape[1], 1, requires_grad=False)
        if self.frozen:
            moving_V1[self.rows_P] = 0
        return moving_V1

    def hold(self) -> None:
        """Set the gradient of the rows to zero if ``frozen``. Call this at each step, after the backward pass and the
        L2 penalty, before gradients are clipped.
        """
        if not self.frozen or self.table.grad is None:
            return
        if self.table.grad.is_sparse:
            (_, row_U), values_UE = gradient_rows(self.table)
            values_UE[torch.isin(row_U, self.rows_P)] = 0
        else:
            self.table.grad[:, self.rows_P] = 0
