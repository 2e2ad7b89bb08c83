"""Gates, a cell, a head and an embedder, as somebody would write them beside a study."""

from collections.abc import Sequence
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor

from skipstack.own import (
    TABLE,
    Cell,
    Distinct,
    Dropout,
    Embedder,
    Frozen,
    HiddenState,
    Lane,
    LayerSizes,
    LexiconTensors,
    LogisticGate,
    SoftmaxHead,
    Streams,
    Transitions,
    VectorGate,
    parameter,
    project,
    sample,
)


class SoftStepGate(LogisticGate):
    """g = sigm(slope (W below + b)): the logistic gate, made steeper."""

    class Config(Frozen):
        kind: Literal["soft_step"] = "soft_step"
        slope: Annotated[float, Field(gt=0)] = 4.0

    def __init__(self, config: Config, sizes: LayerSizes, streams: Streams) -> None:
        super().__init__(sizes)
        self.slope = config.slope

    def values(self, below_GTBI: Tensor, skip_GTBH: Tensor) -> Tensor:
        return torch.sigmoid(self.slope * project(below_GTBI, self.weight, self.bias))


class HardGate(LogisticGate):
    """g = min(1, max(0, (W below + b) / 6 + 1/2))"""

    class Config(Frozen):
        kind: Literal["hard"] = "hard"

    def __init__(self, config: Config, sizes: LayerSizes, streams: Streams) -> None:
        super().__init__(sizes)

    def values(self, below_GTBI: Tensor, skip_GTBH: Tensor) -> Tensor:
        return torch.nn.functional.hardsigmoid(project(below_GTBI, self.weight, self.bias))


class NoisyGate(VectorGate):
    """g ~ Bernoulli(share), drawn from the lanes' own streams."""

    class Config(Frozen):
        kind: Literal["noisy"] = "noisy"
        share: Annotated[float, Field(gt=0, lt=1)] = 0.5

    def __init__(self, config: Config, sizes: LayerSizes, streams: Streams) -> None:
        super().__init__()
        self.share, self.streams = config.share, streams

    def values(self, below_GTBI: Tensor, skip_GTBH: Tensor) -> Tensor:
        p_GTBH = torch.full_like(skip_GTBH, self.share)
        return sample(p_GTBH, self.streams) if self.training else p_GTBH


class MinimalCell(Cell):
    """f = sigm(...), s = tanh(...), h = f * h before + (1 - f) * s"""

    gate_names = ("forget",)

    class Config(Frozen):
        kind: Literal["minimal"] = "minimal"

    def __init__(self, config: Config, sizes: LayerSizes, streams: Streams) -> None:
        super().__init__(sizes, gates=2)

    def start(self, like_GBX: Tensor) -> HiddenState:
        return HiddenState(self.zeros(like_GBX))

    def step(self, pre_GBX: Tensor, known_GBX: Sequence[Tensor], state: HiddenState) -> HiddenState:
        f, s = pre_GBX.chunk(2, dim=-1)
        f = torch.sigmoid(f)
        return HiddenState(f * state.h_GBF + (1 - f) * torch.tanh(s))


class Tempered(SoftmaxHead):
    class Config(Frozen):
        kind: Literal["tempered"] = "tempered"
        temperature: Annotated[float, Field(gt=0)] = 2.0

    def __init__(
        self, config: Config, *, features: int, tags: int, transitions: Transitions | None, streams: Streams
    ) -> None:
        super().__init__(lanes=streams.lanes, features=features, tags=tags)
        self.temperature = config.temperature

    def scores(self, features_RUBF: Tensor) -> Tensor:
        return super().scores(features_RUBF) / self.temperature


class CapitalsEmbedder(Embedder):
    """x_t: a vector for each word, and whether it has capitals as the last number."""

    words = None

    class Config(Frozen):
        kind: Literal["word_and_capital"] = "word_and_capital"
        input_size: Annotated[int, Field(gt=1)] = 6
        dropout: Annotated[float, Field(ge=0, lt=1)] = 0.1

    def __init__(self, config: Config, *, words: int, characters: int, lanes: Sequence[Lane], streams: Streams) -> None:
        super().__init__()
        self.table = parameter(len(lanes), words, config.input_size - 1, role=TABLE)
        self.dropout = Dropout([config.dropout] * len(lanes), streams)

    def forward(self, forms_RTB: Tensor, lexicon: LexiconTensors, distinct: Distinct | None = None) -> Tensor:
        word_RTB = lexicon.word_F[forms_RTB]
        lane_R11 = torch.arange(len(self.table), device=word_RTB.device).view(-1, 1, 1)
        vectors_RTBI = self.table[lane_R11, word_RTB]
        capital_RTB1 = lexicon.capital_F[forms_RTB].unsqueeze(-1).to(vectors_RTBI)
        dropped: Tensor = self.dropout(torch.cat([vectors_RTBI, capital_RTB1], dim=-1))
        return dropped
