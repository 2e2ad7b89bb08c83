"""Features of a token's whole spelling. N spellings, W characters in a filter; G = 2 R."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn
from torch.nn import functional

from skipstack.data.store.vocabulary import BOUNDARY
from skipstack.models.configs.inputs import CharacterCnnConfig, CharacterCnnsConfig, CharacterLstmConfig, SpellingConfig
from skipstack.models.ground.parameters import BIAS, WEIGHT, parameter
from skipstack.models.kernels.bounds import in_range
from skipstack.models.kernels.choice import choose
from skipstack.models.kernels.largest_sum import largest_sum
from skipstack.models.kernels.products import product
from skipstack.models.kernels.reading import ReadingOrder
from skipstack.models.kernels.sigmoid import sigmoid
from skipstack.models.layers.layer import LayerSizes
from skipstack.models.layers.lookup import Lookup
from skipstack.models.parts.cells.lstm import LstmCell

CARRY = -2.0
"""The term added to the gate's argument, so that a new layer passes most of its input."""


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

    e are the characters' vectors; beyond either end comes the boundary. The maximum is over the positions of characters
    only, so padding never counts. (Character CNNs differ in the literature: this is that of Ma and Hovy, 2016, with a
    tanh.)
    """

    def __init__(self, lanes: int, characters: int, config: CharacterCnnConfig) -> None:
        super().__init__(lanes, characters, config)
        self.weight = parameter(lanes, config.width * config.size, config.filters, role=WEIGHT)
        self.bias = parameter(lanes, 1, config.filters, role=BIAS)

    def read(self, ids_RNC: Tensor) -> Tensor:
        """y_RNF, by the equation of the class."""
        return convolved(ids_RNC, self.vectors, self.weight, self.bias)


class CharacterCnns(SpellingReader):
    """y = [y_1; ...; y_n], where y_W is that of a ``CharacterCnn`` with filters of W characters (Kim et al., 2016)

    All read the same vectors. Filters of an even width see one character more to the left of position j than to its
    right: j - W / 2 to j + W / 2 - 1. Kim et al. let no filter reach beyond the ends of a token, which they write with
    marks; ours do, and read the boundary there.
    """

    def __init__(self, lanes: int, characters: int, config: CharacterCnnsConfig) -> None:
        super().__init__(lanes, characters, config)
        sizes = [(width * config.size, filters) for width, filters in enumerate(config.filters, start=1)]
        self.weights = nn.ParameterList(parameter(lanes, *size, role=WEIGHT) for size in sizes)
        self.biases = nn.ParameterList(parameter(lanes, 1, filters, role=BIAS) for filters in config.filters)

    def read(self, ids_RNC: Tensor) -> Tensor:
        """y_RNF, by the equation of the class."""
        each = zip(self.weights, self.biases, strict=True)
        return torch.cat([convolved(ids_RNC, self.vectors, weight, bias) for weight, bias in each], dim=-1)


def convolved(ids_RNC: Tensor, vectors: Lookup, weight_RIF: Tensor, bias_R1F: Tensor) -> Tensor:
    """y_RNF of a ``CharacterCnn`` with these weights; I = WE."""
    width = weight_RIF.shape[1] // vectors.table.shape[-1]
    if choose("character_cnn", weight_RIF) == "compiled":
        from skipstack.models.kernels.compiled.inputs.character_cnn import CompiledCharacterCnn

        assert in_range(ids_RNC, 0, vectors.rows), "each is a character with a vector"
        y_RNF: Tensor = CompiledCharacterCnn.apply(ids_RNC, BOUNDARY, vectors.table, weight_RIF, bias_R1F)
        return y_RNF
    lanes, spellings, longest = ids_RNC.shape
    seen_RNCW = functional.pad(ids_RNC, (width // 2, (width - 1) // 2)).unfold(-1, width, 1)
    beyond_RNC = torch.arange(longest, device=ids_RNC.device) >= lengths(ids_RNC).unsqueeze(-1)
    rows = torch.arange(lanes * width, device=ids_RNC.device) * vectors.rows
    rows_RNCW = seen_RNCW + rows.view(lanes, 1, 1, width)
    rows_RNCW = rows_RNCW.masked_fill(beyond_RNC.unsqueeze(-1), lanes * width * vectors.rows)
    largest_NF = largest_sum(_products(vectors, weight_RIF, width), rows_RNCW.flatten(0, 1).transpose(0, 1))
    return torch.tanh(largest_NF.view(lanes, spellings, -1) + bias_R1F)


def _products(vectors: Lookup, weight_RIF: Tensor, width: int) -> Tensor:
    """W_k e of every character, for each lane and each position k of a filter; then a row that is never the maximum.

    A filter's value is a sum of such products, and there are far fewer of them than characters in a batch.
    """
    lanes, _, filters = weight_RIF.shape
    weight_RWEF = weight_RIF.view(lanes, width, -1, filters)
    products = torch.matmul(vectors.table.unsqueeze(1), weight_RWEF).flatten(0, 2)
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
        """y_RNF, by the equation of the class."""
        (lanes, spellings, _), lengths_RN = ids_RNC.shape, lengths(ids_RNC)
        e_RCNE = self.vectors(ids_RNC.transpose(1, 2))
        both_GCNE = ReadingOrder(lengths_RN, ids_RNC.shape[2]).apart(e_RCNE)
        h_GCNH = self.layer.run(both_GCNE).output_GTBF
        last_GN = (lengths_RN - 1).repeat_interleave(2, dim=0)
        last_G1NH = last_GN.view(-1, 1, spellings, 1).expand(-1, -1, -1, h_GCNH.shape[-1])
        return h_GCNH.gather(1, last_G1NH).view(lanes, 2, spellings, -1).transpose(1, 2).flatten(2)


class HighwayLayer(nn.Module):
    """z = t * relu(W y + b) + (1 - t) * y,   t = sigm(V y + d)                    (Srivastava et al., 2015)

    y is the input of the layer, as wide as z; * is the element-wise product. This is the layer that Kim et al. (2016)
    put above a character CNN. They start d near -2; our biases all start at zero, so d - ``CARRY`` is learned.
    """

    def __init__(self, lanes: int, size: int) -> None:
        super().__init__()
        self.weight = parameter(lanes, size, size, role=WEIGHT)
        self.bias = parameter(lanes, 1, size, role=BIAS)
        self.weight_gate = parameter(lanes, size, size, role=WEIGHT)
        self.bias_gate = parameter(lanes, 1, size, role=BIAS)

    def forward(self, y_RNF: Tensor) -> Tensor:
        """z_RNF."""
        made_RNF = torch.relu(product(y_RNF, self.weight, self.bias))
        gate_RNF = sigmoid(product(y_RNF, self.weight_gate, self.bias_gate + CARRY))
        return torch.lerp(y_RNF, made_RNF, gate_RNF)
