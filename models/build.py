"""From a config to a network: the one place that knows which class a config means."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch

from data.vocabulary import FIRST_KNOWN, Vocabulary
from models.cells.base import Cell
from models.cells.lstm import LstmCell
from models.cells.shortcut import ShortcutBlock
from models.config import ModelConfig, ShortcutConfig, StackConfig
from models.embedder import Embedder
from models.heads.softmax import SoftmaxHead
from models.initialise import initialise
from models.lanes import Dropout, Lane, Streams
from models.model import Tagger
from models.stack import Stack
from models.wiring import sources


@dataclass(frozen=True, kw_only=True, slots=True)
class Sizes:
    """How many words, characters and tags the vocabulary has, the reserved ids included."""

    words: int
    characters: int
    tags: int

    @classmethod
    def of(cls, vocabulary: Vocabulary, tags: Sequence[str]) -> Self:
        """The sizes that a vocabulary and a list of tags ask for."""
        return cls(
            words=FIRST_KNOWN + len(vocabulary.words),
            characters=FIRST_KNOWN + len(vocabulary.characters),
            tags=len(tags),
        )


def build(
    config: ModelConfig, *, sizes: Sizes, lanes: Sequence[Lane], dtype: torch.dtype, device: torch.device
) -> tuple[Tagger, Streams]:
    """The network with one lane for each of ``lanes``, initialised by their seeds, and its dropout streams."""
    seeds = [lane.seed for lane in lanes]
    streams = Streams(seeds, "dropout", device)
    embedder = Embedder(
        config.embedder,
        words=sizes.words,
        characters=sizes.characters,
        dropout_R=_rates(config.embedder.dropout, [lane.embedder_dropout for lane in lanes]),
        streams=streams,
    )
    rates_R = _rates(config.stack.dropout, [lane.stack_dropout for lane in lanes])
    stack = _stack(config.stack, config.embedder.input_size, len(lanes), Dropout(rates_R, streams))
    head = SoftmaxHead(lanes=len(lanes), features=stack.directions * config.stack.hidden, tags=sizes.tags)
    model = Tagger(embedder, stack, head).to(dtype=dtype, device=device)
    initialise(model, seeds, config.initial_scale)
    return model, streams


def _rates(rate: float, own_R: Sequence[float | None]) -> list[float]:
    return [rate if own is None else own for own in own_R]


def _stack(config: StackConfig, below: int, lanes: int, dropout: Dropout) -> Stack:
    directions = 2 if config.directions == "both" else 1
    wiring = sources(config.composition, config.depth)
    cells = [
        _cell(config.shortcut if source else None, lanes, directions, config.hidden if layer else below, config.hidden)
        for layer, source in enumerate(wiring)
    ]
    return Stack(cells, wiring, directions, dropout)


def _cell(shortcut: ShortcutConfig | None, lanes: int, directions: int, below: int, hidden: int) -> Cell:
    if shortcut is None:
        return LstmCell(lanes=lanes, directions=directions, below=below, hidden=hidden)
    match shortcut.gate:
        case "none" | "sigmoid_below" | "sigmoid_below_previous" if shortcut.topology == "block":
            return ShortcutBlock(lanes=lanes, directions=directions, below=below, hidden=hidden, gate=shortcut.gate)
        case _:
            raise NotImplementedError(f"{shortcut.topology}, {shortcut.gate}")
