"""From a config to a network: the one place that knows which class a config means."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, assert_never

import torch

from data.schemes import Scheme, transitions
from data.transitions import Transitions
from data.vocabulary import FIRST_KNOWN, Vocabulary
from models.cells.base import Cell, LayerSizes
from models.cells.lstm import LstmCell
from models.cells.shortcut import TOPOLOGIES, ShortcutBlock, ShortcutCell, ShortcutLstm
from models.cells.simple import SimpleCell
from models.cells.sutskever import SutskeverCell
from models.config import ModelConfig, ShortcutConfig, StackConfig
from models.embedder import Embedder
from models.gates import (
    BernoulliGate,
    Gate,
    LearnedBernoulliGate,
    LinearGate,
    LogisticGate,
    OpenGate,
    RecurrentGate,
    ScaledGate,
)
from models.heads.base import Head
from models.heads.chain import ChainHead
from models.heads.config import CrfConfig, HeadConfig, MarginConfig, SoftmaxConfig, check_scheme
from models.heads.softmax import SoftmaxHead
from models.initialise import initialise
from models.lanes import Dropout, Lane, Streams
from models.model import Tagger
from models.stack import Stack
from models.wiring import sources


@dataclass(frozen=True, kw_only=True, slots=True)
class Sizes:
    """How many words, characters and tags the vocabulary has, the reserved ids included; and how tags may follow."""

    words: int
    characters: int
    tags: int
    transitions: Transitions | None = None
    """What the tags' label scheme allows; None where they have none."""

    @classmethod
    def of(cls, vocabulary: Vocabulary, tags: Sequence[str], scheme: Scheme | None = None) -> Self:
        """The sizes that a vocabulary and a list of tags, of a label scheme or of none, ask for."""
        return cls(
            words=FIRST_KNOWN + len(vocabulary.words),
            characters=FIRST_KNOWN + len(vocabulary.characters),
            tags=len(tags),
            transitions=None if scheme is None else transitions(tags, scheme),
        )


def build(
    config: ModelConfig, *, sizes: Sizes, lanes: Sequence[Lane], dtype: torch.dtype, device: torch.device
) -> tuple[Tagger, Streams]:
    """The network with one lane for each of ``lanes``, initialised by their seeds, and the streams of all its draws.

    Raises UserError where the config asks for a label scheme that the tags do not have.
    """
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
    head = _head(config.head, sizes, lanes=len(lanes), features=stack.features)
    model = Tagger(embedder, stack, head).to(dtype=dtype, device=device)
    initialise(model, seeds, config.initial_scale)
    return model, streams


def _rates(rate: float, own_R: Sequence[float | None]) -> list[float]:
    return [rate if own is None else own for own in own_R]


def _stack(config: StackConfig, below: int, lanes: int, dropout: Dropout) -> Stack:
    directions = 2 if config.directions == "both" else 1
    spread = directions if config.join == "each_layer" else 1
    wiring = sources(config.composition, config.depth)
    cells: list[Cell] = []
    for source in wiring:
        size = spread * cells[-1].features if cells else below
        sizes = LayerSizes(lanes=lanes, directions=directions, below=size, hidden=config.hidden)
        cells.append(_shortcut(config.shortcut, sizes, dropout.streams) if source else _plain(config, sizes))
    return Stack(cells, wiring, directions, dropout, join_each=spread > 1)


def _plain(config: StackConfig, sizes: LayerSizes) -> Cell:
    match config.cell:
        case "lstm":
            return LstmCell(sizes)
        case "simple":
            return SimpleCell(sizes)
        case "sutskever":
            return SutskeverCell(sizes)
        case _:
            assert_never(config.cell)


def _shortcut(config: ShortcutConfig, sizes: LayerSizes, streams: Streams) -> ShortcutCell:
    links = TOPOLOGIES[config.topology]
    gates = [_gate(config, sizes, streams) for _ in range(links.gates)]
    return ShortcutLstm(sizes, links, gates) if links.memory else ShortcutBlock(sizes, links, gates)


def _gate(config: ShortcutConfig, sizes: LayerSizes, streams: Streams) -> Gate:
    match config.gate:
        case "none":
            return OpenGate()
        case "sigmoid_below":
            return LogisticGate(sizes, "below")
        case "sigmoid_below_earlier":
            return LogisticGate(sizes, "earlier")
        case "sigmoid_skipped":
            return LogisticGate(sizes, "skipped")
        case "sigmoid_below_previous":
            return RecurrentGate()
        case "scaled":
            return ScaledGate(sizes)
        case "linear":
            return LinearGate(sizes)
        case "bernoulli":
            return BernoulliGate(config.probability, streams)
        case "bernoulli_below":
            return LearnedBernoulliGate(sizes, streams)
        case _:
            assert_never(config.gate)


def _head(config: HeadConfig, sizes: Sizes, *, lanes: int, features: int) -> Head:
    match config:
        case SoftmaxConfig():
            return SoftmaxHead(lanes=lanes, features=features, tags=sizes.tags)
        case CrfConfig() | MarginConfig():
            check_scheme(config, has_scheme=sizes.transitions is not None)
            allowed = sizes.transitions if config.constrained else None
            return ChainHead(lanes=lanes, features=features, tags=sizes.tags, config=config, allowed=allowed)
        case _:
            assert_never(config)
