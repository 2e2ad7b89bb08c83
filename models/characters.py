"""What a token's whole spelling says.

Shapes: R lanes, N tokens in any arrangement, C characters, E numbers a character, K characters that a filter sees,
L filters.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from data.vocabulary import BOUNDARY
from models.config import CharacterCnnConfig
from models.lookup import Lookup


class CharacterCnn(nn.Module):
    """y = max_j tanh(W [e_{j-k}; ...; e_{j+k}] + b), over the characters j of a token; K = 2k + 1

    e are the characters' vectors; beyond either end stands the boundary, which has a vector of its own. The maximum is
    over the places of characters alone, so padding never counts; the boundary itself, a token without characters, has
    one place. (Character CNNs differ in the literature: this is that of Ma and Hovy, 2016, with a tanh.)
    """

    def __init__(self, lanes: int, characters: int, config: CharacterCnnConfig) -> None:
        super().__init__()
        self.width = config.width
        self.vectors = Lookup(lanes, characters, config.size)
        self.weight = nn.Parameter(torch.empty(lanes, config.width * config.size, config.filters))
        self.bias = nn.Parameter(torch.empty(lanes, 1, config.filters))

    def forward(self, ids_RNC: Tensor) -> Tensor:
        """y_RNL from ids padded with the boundary's at the end."""
        lanes, margin = ids_RNC.shape[0], self.width // 2
        lengths_RN1 = (ids_RNC != BOUNDARY).sum(dim=-1, keepdim=True).clamp_(min=1)
        longest = int(lengths_RN1.max())
        seen_RNCK = functional.pad(ids_RNC[..., :longest], (margin, margin)).unfold(-1, self.width, 1)
        beyond_RNC = torch.arange(longest, device=ids_RNC.device) >= lengths_RN1
        rows_RNCK = seen_RNCK + self._first_rows(lanes, ids_RNC.dim())
        rows_RNCK = rows_RNCK.masked_fill(beyond_RNC.unsqueeze(-1), lanes * self.width * self.vectors.rows)
        filtered = functional.embedding_bag(rows_RNCK.flatten(0, -2), self._products(), mode="sum")
        highest = filtered.view(-1, longest, filtered.shape[-1]).max(dim=1).values
        highest_RNL = highest.view(*ids_RNC.shape[:-1], -1)
        return torch.tanh(highest_RNL + self.bias.view(lanes, *[1] * (ids_RNC.dim() - 2), -1))

    def _products(self) -> Tensor:
        """W_k e of every character, for each lane and each place k of a filter; then a row that is no maximum.

        A filter's value is a sum of such products, and there are far fewer of them than characters in a batch.
        """
        lanes, _, filters = self.weight.shape
        weight_RKEL = self.weight.view(lanes, self.width, -1, filters)
        products = torch.matmul(self.vectors.table.unsqueeze(1), weight_RKEL).flatten(0, 2)
        return torch.cat([products, products.new_full((1, filters), -torch.inf)])

    def _first_rows(self, lanes: int, axes: int) -> Tensor:
        """Where the products of each lane and place begin, to be added to ids_RNCK."""
        rows = torch.arange(lanes * self.width, device=self.weight.device) * self.vectors.rows
        return rows.view(lanes, *[1] * (axes - 1), self.width)
