"""Words as unit vectors."""

from collections.abc import Sequence

import torch
from torch import Tensor

from skipstack.data.store.vocabulary import FIRST_KNOWN
from skipstack.models.configs.inputs import OneHotConfig
from skipstack.models.layers.lanes import Dropout, Streams
from skipstack.models.layers.lookup import Distinct
from skipstack.models.parts.inputs.base import Embedder, LexiconTensors


class OneHotEmbedder(Embedder):
    """x_t has a 1 at the index of its word and 0 elsewhere; the boundary and unknown words are all 0."""

    words = None

    def __init__(self, config: OneHotConfig, *, words: int, dropout_R: Sequence[float], streams: Streams) -> None:
        super().__init__()
        assert words - FIRST_KNOWN <= config.size, "every known word has a place"
        self.size = config.size
        self.register_buffer("unit_VI", torch.eye(FIRST_KNOWN + config.size)[:, FIRST_KNOWN:], persistent=False)
        self.dropout = Dropout(dropout_R, streams)

    unit_VI: Tensor

    def forward(self, forms_RTB: Tensor, lexicon: LexiconTensors, distinct: Distinct | None = None) -> Tensor:
        """x_RTBI from form ids."""
        dropped: Tensor = self.dropout(self.unit_VI[lexicon.word_F[forms_RTB]])
        return dropped
