"""Words as one-hot vectors.

Axes: R lanes (a lane is one seed's copy of the network), T tokens, B sentences, I features of a token, V words of the
vocabulary.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from skipstack.data.store.vocabulary import FIRST_KNOWN
from skipstack.models.configs.inputs import OneHotConfig
from skipstack.models.layers.lanes import Dropout, Streams
from skipstack.models.layers.lookup import Distinct
from skipstack.models.parts.inputs.base import Embedder, LexiconTensors


class OneHotEmbedder(Embedder):
    """An embedder of words as one-hot vectors. The vectors of the boundary and of unknown words are all 0."""

    words = None

    def __init__(self, config: OneHotConfig, *, words: int, dropout_R: Sequence[float], streams: Streams) -> None:
        super().__init__()
        assert words - FIRST_KNOWN <= config.size, "every known word has a place"
        self.size = config.size
        self.register_buffer("unit_VI", torch.eye(FIRST_KNOWN + config.size)[:, FIRST_KNOWN:], persistent=False)
        self.dropout = Dropout(dropout_R, streams)

    unit_VI: Tensor

    def forward(self, forms_RTB: Tensor, lexicon: LexiconTensors, distinct: Distinct | None = None) -> Tensor:
        """Computes the features of each token, x_RTBI, from the ids of forms (words as written)."""
        dropped: Tensor = self.dropout(self.unit_VI[lexicon.word_F[forms_RTB]])
        return dropped
