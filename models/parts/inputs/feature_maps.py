"""The input layer of LD-DNN (chen2017): feature maps of the q-grams around a token, k-max pooling, and a highway layer.

Axes: R lanes (a lane is one seed's copy of the network), T tokens, B sentences, E numbers of a word's vector (d in the
paper), M feature maps.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from skipstack.data.store.vocabulary import BOUNDARY
from skipstack.models.configs.inputs import FeatureMapConfig
from skipstack.models.ground.parameters import BIAS, WEIGHT, parameter
from skipstack.models.kernels.products import product
from skipstack.models.kernels.sigmoid import sigmoid
from skipstack.models.layers.lanes import Dropout, Streams
from skipstack.models.layers.lookup import Distinct, Lookup
from skipstack.models.parts.inputs.base import Embedder, LexiconTensors


class Convolution(nn.Module):
    """The convolution of LD-DNN (chen2017), over the q-grams around each token i, for q = 1..Q:
    z^q_i = tanh(W^q^T x_{i - floor((q-1)/2) : i + ceil((q-1)/2)} + b^q)                     (chen2017 eq. 5)
    z_i = [z^1_i; ...; z^Q_i]                                                                (eq. 6)

    x_{j:k} is the concatenation of the vectors of the tokens j to k; vectors outside the sentence are zero. The paper
    writes b without q, but with l_q numbers. Ours has one b^q for each q.
    """

    def __init__(self, lanes: int, size: int, sets: int, maps: int) -> None:
        super().__init__()
        self.size = size
        self.weights = nn.ParameterList(parameter(lanes, q * size, maps, role=WEIGHT) for q in range(1, sets + 1))
        self.bias = parameter(lanes, 1, sets * maps, role=BIAS)

    def forward(self, x_RTBE: Tensor) -> Tensor:
        """Computes z without the tanh: z_RTBM. The caller applies the tanh after pooling, to fewer values."""
        widest, steps = len(self.weights), x_RTBE.shape[1]
        before = (widest - 1) // 2
        framed = functional.pad(x_RTBE, (0, 0, 0, 0, before, widest // 2))
        grams = torch.cat([framed[:, first : first + steps] for first in range(widest)], dim=-1).flatten(1, 2)
        biases = self.bias.chunk(widest, dim=-1)
        sets = []
        for q, (weight, bias) in enumerate(zip(self.weights, biases, strict=True), start=1):
            first = (before - (q - 1) // 2) * self.size
            sets.append(product(grams[..., first : first + q * self.size], weight, bias))
        return torch.cat(sets, dim=-1).view(*x_RTBE.shape[:3], -1)


def largest(z_RTBM: Tensor, count: int) -> Tensor:
    """Returns the ``count`` largest values of each token in their original order (k-max pooling, chen2017 eq. 7)."""
    kept = z_RTBM.topk(count, dim=-1, sorted=False).indices.sort(dim=-1).values
    return z_RTBM.gather(-1, kept)


class Highway(nn.Module):
    """The highway layer of LD-DNN:
    y = c * T(x) + x * (1 - T(x)),   T(x) = sigm(W_T^T x + b_T)                           (chen2017 eqs 8-9)

    c are the pooled feature maps, as wide as x; * is the element-wise product. Our b_T is initially zero.
    """

    def __init__(self, lanes: int, size: int) -> None:
        super().__init__()
        self.weight = parameter(lanes, size, size, role=WEIGHT)
        self.bias = parameter(lanes, 1, size, role=BIAS)

    def forward(self, made_RTBE: Tensor, x_RTBE: Tensor) -> Tensor:
        """Computes y from c (``made_RTBE``) and x: y_RTBE."""
        gate = sigmoid(product(x_RTBE.flatten(1, 2), self.weight, self.bias)).view_as(x_RTBE)
        return torch.lerp(x_RTBE, made_RTBE, gate)


class FeatureMapEmbedder(Embedder):
    """The embedder of LD-DNN. ``layers`` of its config selects the output (the rows of chen2017 Table 3): the word
    vectors x (``none``), the feature maps z, the largest of z for each token (with ``pooling``), or the highway's y.

    Dropout, which the paper does not have, is applied to the output.
    """

    words: Lookup

    def __init__(self, config: FeatureMapConfig, *, words: int, dropout_R: Sequence[float], streams: Streams) -> None:
        super().__init__()
        self.word_vectors = config.word_vectors
        self.size, lanes = config.word_size, len(dropout_R)
        self.words = Lookup(lanes, words, self.size)
        convolves, self.pools = config.layers != "none", config.layers not in ("none", "convolution")
        self.convolution = Convolution(lanes, self.size, config.sets, config.maps) if convolves else None
        self.highway = Highway(lanes, self.size) if config.layers == "convolution_pooling_highway" else None
        self.dropout = Dropout(dropout_R, streams)

    def forward(self, forms_RTB: Tensor, lexicon: LexiconTensors, distinct: Distinct | None = None) -> Tensor:
        """Computes the features of each token from the ids of forms (words as written)."""
        words_RTB = lexicon.word_F[forms_RTB]
        x_RTBE = self.words(words_RTB) * (words_RTB != BOUNDARY).unsqueeze(-1)
        dropped: Tensor = self.dropout(self._features(x_RTBE))
        return dropped

    def _features(self, x_RTBE: Tensor) -> Tensor:
        if self.convolution is None:
            return x_RTBE
        z_RTBM: Tensor = self.convolution(x_RTBE)
        made = torch.tanh(largest(z_RTBM, self.size) if self.pools else z_RTBM)
        return made if self.highway is None else self.highway(made, x_RTBE)
