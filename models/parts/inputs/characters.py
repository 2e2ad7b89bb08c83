"""Features of a token's whole spelling. N spellings, W characters in a filter; G = 2 R."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn
from torch.nn import functional

from skipstack.data.store.vocabulary import BOUNDARY
from skipstack.models.configs.inputs import CharacterCnnConfig, CharacterLstmConfig, SpellingConfig
from skipstack.models.ground.parameters import BIAS, WEIGHT, parameter
from skipstack.models.kernels.choice import choose, in_range
from skipstack.models.kernels.reading import ReadingOrder
from skipstack.models.kernels.reference.largest_sum import largest_sum
from skipstack.models.layers.layer import LayerSizes
from skipstack.models.layers.lookup import Lookup
from skipstack.models.parts.cells.lstm import LstmCell
from skipstack.models.parts.inputs.highway import HighwayLayer


class SpellingReader(nn.Module, ABC):
    """Features of a spelling, and the highway layers above them.

    Values after a spelling's end change nothing. The boundary, a token without characters, is read as one character,
    its padding, which has a vector of its own.
    """

    def __init__(self, lanes: int, characters: int, config: SpellingConfig) -> None:
        super().__init__()
        self.vectors = Lookup(lanes, characters, config.size)
        self.highways = nn.ModuleList(HighwayLayer(lanes, config.features) for _ in range(config.highways))

    def forward(self, ids_RNC: Tensor) -> Tensor:
        """y_RNF from ids, padded with the boundary's id at the end."""
        y_RNF = self.read(ids_RNC)
        for highway in self.highways:
            y_RNF = highway(y_RNF)
        return y_RNF

    @abstractmethod
    def read(self, ids_RNC: Tensor) -> Tensor:
        """y_RNF of spellings, before the highway layers."""


def lengths(ids_RNC: Tensor) -> Tensor:
    """The number of characters of each spelling, at least 1: lengths_RN."""
    return (ids_RNC != BOUNDARY).sum(dim=-1).clamp_(min=1)


class CharacterCnn(SpellingReader):
    """y = max_j tanh(W [e_{j-k}; ...; e_{j+k}] + b), over the characters j of a token; W = 2k + 1

    e are the characters' vectors; beyond either end comes the boundary. The maximum is over the places of characters
    only, so padding never counts. (Character CNNs differ in the literature: this is that of Ma and Hovy, 2016, with a
    tanh.)
    """

    def __init__(self, lanes: int, characters: int, config: CharacterCnnConfig) -> None:
        super().__init__(lanes, characters, config)
        self.width = config.width
        self.weight = parameter(lanes, config.width * config.size, config.filters, role=WEIGHT)
        self.bias = parameter(lanes, 1, config.filters, role=BIAS)

    def read(self, ids_RNC: Tensor) -> Tensor:
        """As above."""
        if choose("character_cnn", self.weight) == "compiled":
            from skipstack.models.kernels.compiled.inputs.character_cnn import CompiledCharacterCnn

            assert in_range(ids_RNC, 0, self.vectors.rows), "each is a character with a vector"
            given = ids_RNC, BOUNDARY, self.vectors.table, self.weight, self.bias
            y_RNF: Tensor = CompiledCharacterCnn.apply(*given)
            return y_RNF
        (lanes, spellings, longest), margin = ids_RNC.shape, self.width // 2
        seen_RNCW = functional.pad(ids_RNC, (margin, margin)).unfold(-1, self.width, 1)
        beyond_RNC = torch.arange(longest, device=ids_RNC.device) >= lengths(ids_RNC).unsqueeze(-1)
        rows = torch.arange(lanes * self.width, device=ids_RNC.device) * self.vectors.rows
        rows_RNCW = seen_RNCW + rows.view(lanes, 1, 1, self.width)
        rows_RNCW = rows_RNCW.masked_fill(beyond_RNC.unsqueeze(-1), lanes * self.width * self.vectors.rows)
        largest_NF = largest_sum(self._products(), rows_RNCW.flatten(0, 1).transpose(0, 1))
        return torch.tanh(largest_NF.view(lanes, spellings, -1) + self.bias)

    def _products(self) -> Tensor:
        """W_k e of every character, for each lane and each place k of a filter; then a row that is never the
        maximum.

        A filter's value is a sum of such products, and there are far fewer of them than characters in a batch.
        """
        lanes, _, filters = self.weight.shape
        weight_RWEF = self.weight.view(lanes, self.width, -1, filters)
        products = torch.matmul(self.vectors.table.unsqueeze(1), weight_RWEF).flatten(0, 2)
        return torch.cat([products, products.new_full((1, products.shape[1]), -torch.inf)])


class CharacterLstm(SpellingReader):
    """y = [h_n; h'_1], where h_1 .. h_n are an LSTM's states on a spelling, h'_n .. h'_1 another's, read backwards

    Each has read the whole spelling at its end (Lample et al., 2016). The LSTM is that of the stack
    (``models/parts/cells/lstm.py``); each direction starts at the end that has characters, so padding comes after them.
    """

    def __init__(self, lanes: int, characters: int, config: CharacterLstmConfig) -> None:
        super().__init__(lanes, characters, config)
        self.layer = LstmCell(LayerSizes(lanes=lanes, directions=2, below=config.size, hidden=config.hidden))

    def read(self, ids_RNC: Tensor) -> Tensor:
        """As above."""
        (lanes, spellings, _), lengths_RN = ids_RNC.shape, lengths(ids_RNC)
        e_RCNE = self.vectors(ids_RNC.transpose(1, 2))
        both_GCNE = ReadingOrder(lengths_RN, ids_RNC.shape[2]).apart(e_RCNE)
        h_GCNH = self.layer.run(both_GCNE).output_GTBF
        last_GN = (lengths_RN - 1).repeat_interleave(2, dim=0)
        last_G1NH = last_GN.view(-1, 1, spellings, 1).expand(-1, -1, -1, h_GCNH.shape[-1])
        return h_GCNH.gather(1, last_G1NH).view(lanes, 2, spellings, -1).transpose(1, 2).flatten(2)
