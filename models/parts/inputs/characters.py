"""Networks that read the spelling of a token: all its characters.

Axes: R lanes (a lane is one seed's copy of the network), N spellings, C characters, W characters in a filter, E numbers
of a character's vector, I = W * E inputs of a filter, F features, G = 2R groups (lanes * directions), H hidden units.
"""

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
"""Constant added to the pre-activation of a highway layer's gate, so that a new layer mostly copies its input."""


class SpellingReader(nn.Module, ABC):
    """Computes features of spellings, and applies highway layers to these features.

    The result does not depend on the amount of padding. The boundary, a token without characters, is read as one
    padding character, which has a vector of its own.
    """

    def __init__(self, lanes: int, characters: int, config: SpellingConfig) -> None:
        super().__init__()
        self.vectors = Lookup(lanes, characters, config.size)
        self.highways = nn.ModuleList(HighwayLayer(lanes, config.features) for _ in range(config.highways))

    def forward(self, ids_RNC: Tensor) -> Tensor:
        """Computes the features of spellings, y_RNF, from ids of characters, padded with the boundary's id."""
        y_RNF = self.read(ids_RNC)
        for highway in self.highways:
            y_RNF = highway(y_RNF)
        return y_RNF

    @abstractmethod
    def read(self, ids_RNC: Tensor) -> Tensor:
        """Computes the features of spellings before the highway layers: y_RNF."""


def lengths(ids_RNC: Tensor) -> Tensor:
    """Counts the characters of each spelling, at least 1: lengths_RN."""
    return (ids_RNC != BOUNDARY).sum(dim=-1).clamp_(min=1)


class CharacterCnn(SpellingReader):
    """A character CNN (Ma and Hovy, 2016, with a tanh), whose filters see 2k + 1 characters:
    y = max_j tanh(W [e_{j-k}; ...; e_{j+k}] + b), over the characters j of a token

    e are the characters' vectors. Beyond either end of the token, filters read the boundary's vector.
    """

    def __init__(self, lanes: int, characters: int, config: CharacterCnnConfig) -> None:
        super().__init__(lanes, characters, config)
        self.weight = parameter(lanes, config.width * config.size, config.filters, role=WEIGHT)
        self.bias = parameter(lanes, 1, config.filters, role=BIAS)

    def read(self, ids_RNC: Tensor) -> Tensor:
        """Computes y, the features of spellings before the highway layers, by the equation of the class: y_RNF."""
        return convolved(ids_RNC, self.vectors, self.weight, self.bias)


class CharacterCnns(SpellingReader):
    """Several character CNNs side by side (Kim et al., 2016): y = [y_1; ...; y_n], where y_w is the output of a
    ``CharacterCnn`` with filters of w characters.

    All CNNs read the same character vectors. Filters of an even width w read the characters j - w / 2 to j + w / 2 - 1.
    Kim et al. add a mark at either end of a token, and their filters do not reach beyond the marks. Our filters read
    the boundary's vector beyond the ends of a token.
    """

    def __init__(self, lanes: int, characters: int, config: CharacterCnnsConfig) -> None:
        super().__init__(lanes, characters, config)
        sizes = [(width * config.size, filters) for width, filters in enumerate(config.filters, start=1)]
        self.weights = nn.ParameterList(parameter(lanes, *size, role=WEIGHT) for size in sizes)
        self.biases = nn.ParameterList(parameter(lanes, 1, filters, role=BIAS) for filters in config.filters)

    def read(self, ids_RNC: Tensor) -> Tensor:
        """Computes y, the features of spellings before the highway layers, by the equation of the class: y_RNF."""
        each = zip(self.weights, self.biases, strict=True)
        return torch.cat([convolved(ids_RNC, self.vectors, weight, bias) for weight, bias in each], dim=-1)


def convolved(ids_RNC: Tensor, vectors: Lookup, weight_RIF: Tensor, bias_R1F: Tensor) -> Tensor:
    """Computes y of a ``CharacterCnn`` with the given vectors, weight and bias: y_RNF."""
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
    """Computes the products W_k e, rows of F numbers, for each lane, each position k in the filter and each character
    vector e. A last row of -inf stands for positions beyond a spelling, which must never be the maximum.

    A filter's value is a sum of such rows. Each row is computed only once, however often the character occurs.
    """
    lanes, _, filters = weight_RIF.shape
    weight_RWEF = weight_RIF.view(lanes, width, -1, filters)
    products = torch.matmul(vectors.table.unsqueeze(1), weight_RWEF).flatten(0, 2)
    return torch.cat([products, products.new_full((1, products.shape[1]), -torch.inf)])


class CharacterLstm(SpellingReader):
    """A bidirectional LSTM over characters (Lample et al., 2016): y = [h_n; h'_1], the last states of the forward LSTM
    (h) and of the backward LSTM (h') on a spelling of n characters.

    The LSTM is ``LstmCell``. In both directions, padding comes after the characters.
    """

    def __init__(self, lanes: int, characters: int, config: CharacterLstmConfig) -> None:
        super().__init__(lanes, characters, config)
        self.layer = LstmCell(LayerSizes(lanes=lanes, directions=2, below=config.size, hidden=config.hidden))

    def read(self, ids_RNC: Tensor) -> Tensor:
        """Computes y, the features of spellings before the highway layers, by the equation of the class: y_RNF."""
        (lanes, spellings, _), lengths_RN = ids_RNC.shape, lengths(ids_RNC)
        e_RCNE = self.vectors(ids_RNC.transpose(1, 2))
        both_GCNE = ReadingOrder(lengths_RN, ids_RNC.shape[2]).apart(e_RCNE)
        h_GCNH = self.layer.run(both_GCNE).output_GTBF
        last_GN = (lengths_RN - 1).repeat_interleave(2, dim=0)
        last_G1NH = last_GN.view(-1, 1, spellings, 1).expand(-1, -1, -1, h_GCNH.shape[-1])
        return h_GCNH.gather(1, last_G1NH).view(lanes, 2, spellings, -1).transpose(1, 2).flatten(2)


class HighwayLayer(nn.Module):
    """A highway layer (Srivastava et al., 2015), as in Kim et al. (2016) above a character CNN:
    z = t * relu(W y + b) + (1 - t) * y,   t = sigm(V y + d)

    y is the input of the layer, as wide as z; * is the element-wise product. In Kim et al., d is initially near -2. All
    our biases are initially zero, so d is the learned bias plus ``CARRY``.
    """

    def __init__(self, lanes: int, size: int) -> None:
        super().__init__()
        self.weight = parameter(lanes, size, size, role=WEIGHT)
        self.bias = parameter(lanes, 1, size, role=BIAS)
        self.weight_gate = parameter(lanes, size, size, role=WEIGHT)
        self.bias_gate = parameter(lanes, 1, size, role=BIAS)

    def forward(self, y_RNF: Tensor) -> Tensor:
        """Computes the output z of the layer: z_RNF."""
        made_RNF = torch.relu(product(y_RNF, self.weight, self.bias))
        gate_RNF = sigmoid(product(y_RNF, self.weight_gate, self.bias_gate + CARRY))
        return torch.lerp(y_RNF, made_RNF, gate_RNF)
