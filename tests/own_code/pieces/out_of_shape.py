"""An embedder and a head that give other sizes than they say, as somebody would by mistake."""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from skipstack.own import (
    TABLE,
    Distinct,
    Embedder,
    Frozen,
    Lane,
    LexiconTensors,
    SoftmaxHead,
    Streams,
    Transitions,
    parameter,
)


class NarrowHead(SoftmaxHead):
    """Scores two tags, however many there are."""

    class Config(Frozen):
        kind: Literal["narrow"] = "narrow"

    def __init__(
        self, config: Config, *, features: int, tags: int, transitions: Transitions | None, streams: Streams
    ) -> None:
        super().__init__(lanes=streams.lanes, features=features, tags=2)


class NarrowEmbedder(Embedder):
    """Gives four numbers a token, and says six."""

    words = None

    class Config(Frozen):
        kind: Literal["narrow_input"] = "narrow_input"
        input_size: int = 6
        dropout: float = 0.0

    def __init__(self, config: Config, *, words: int, characters: int, lanes: Sequence[Lane], streams: Streams) -> None:
        super().__init__()
        self.table = parameter(len(lanes), words, 4, role=TABLE)

    def forward(self, forms_RTB: Tensor, lexicon: LexiconTensors, distinct: Distinct | None = None) -> Tensor:
        lane_R11 = torch.arange(len(self.table), device=forms_RTB.device).view(-1, 1, 1)
        return self.table[lane_R11, lexicon.word_F[forms_RTB]]
