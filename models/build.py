"""From a config to a network: the one place that knows which class a config means."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, assert_never

import torch

from skipstack.data.labels.schemes import Scheme, transitions
from skipstack.data.labels.tasks import Task
from skipstack.data.labels.transitions import Transitions
from skipstack.data.store.prepared import PreparedCorpus
from skipstack.data.store.vocabulary import FIRST_KNOWN, Vocabulary
from skipstack.models.cells.feedforward import FeedForwardLayer
from skipstack.models.cells.gates import (
    BernoulliGate,
    Gate,
    LearnedBernoulliGate,
    LinearGate,
    LogisticGate,
    OpenGate,
    RecurrentGate,
    ScaledGate,
)
from skipstack.models.cells.lstm import LstmCell
from skipstack.models.cells.shortcut import TOPOLOGIES, ShortcutBlock, ShortcutCell, ShortcutLstm
from skipstack.models.cells.simple import SimpleCell
from skipstack.models.cells.sutskever import SutskeverCell
from skipstack.models.cells.wiring import sources
from skipstack.models.config import ModelConfig, ShortcutConfig, StackConfig, check_task
from skipstack.models.feedback.config import FeedbackConfig
from skipstack.models.feedback.directions import Directions
from skipstack.models.feedback.layer import FeedbackLayer
from skipstack.models.feedback.links import HiddenLink, LabelLink, LabelVectorLink
from skipstack.models.feedback.tagger import FeedbackTagger
from skipstack.models.heads.base import Head
from skipstack.models.heads.biaffine import BiaffineHead
from skipstack.models.heads.chain import ChainHead
from skipstack.models.heads.config import BiaffineConfig, CrfConfig, MarginConfig, SoftmaxConfig, TagHeadConfig
from skipstack.models.heads.feedback import FeedbackHead
from skipstack.models.heads.softmax import SoftmaxHead
from skipstack.models.initialise import initialise
from skipstack.models.inputs.characters import CharacterCnn, CharacterLstm, SpellingReader
from skipstack.models.inputs.config import (
    AnyEmbedder,
    CharacterCnnConfig,
    CharacterLstmConfig,
    EmbedderConfig,
    FeatureMapConfig,
    OneHotConfig,
    SpellingConfig,
)
from skipstack.models.inputs.feature_maps import FeatureMapEmbedder
from skipstack.models.inputs.one_hot import OneHotEmbedder
from skipstack.models.inputs.tokens import Embedder
from skipstack.models.lanes import Dropout, Lane, Streams
from skipstack.models.model import AnyInput, Network, Stacked, Tagger
from skipstack.models.parser import Parser
from skipstack.models.skips.config import AttentionSkipConfig, DynamicSkipConfig, FixedSkipConfig, SkipConfig
from skipstack.models.skips.layers import AttentionSkipLstm, DynamicSkipLstm, FixedSkipLstm, SkipLayer
from skipstack.models.skips.reinforce import Reinforce
from skipstack.models.stack import Stack
from skipstack.models.time.cell import LayerSizes
from skipstack.models.time.unroll import Layer


@dataclass(frozen=True, kw_only=True, slots=True)
class Sizes:
    """How many words, characters and tags a corpus has, the reserved ids included; what they are tags of, and how
    they may follow.
    """

    words: int
    characters: int
    tags: int
    transitions: Transitions | None = None
    """What the tags' label scheme allows; None where they have none."""
    task: Task = "tagging"

    @classmethod
    def of(
        cls, vocabulary: Vocabulary, tags: Sequence[str], scheme: Scheme | None = None, task: Task = "tagging"
    ) -> Self:
        """The sizes that a vocabulary and a list of tags, of a label scheme or of none, ask for."""
        return cls(
            words=FIRST_KNOWN + len(vocabulary.words),
            characters=FIRST_KNOWN + len(vocabulary.characters),
            tags=len(tags),
            transitions=None if scheme is None else transitions(tags, scheme),
            task=task,
        )

    @classmethod
    def of_corpus(cls, corpus: PreparedCorpus) -> Self:
        """The sizes that a corpus asks for as it is prepared."""
        stored = corpus.stored
        return cls.of(corpus.vocabulary, stored.tags, stored.scheme, stored.task)


def build(
    config: ModelConfig, *, sizes: Sizes, lanes: Sequence[Lane], dtype: torch.dtype, device: torch.device
) -> tuple[Network, Streams]:
    """The network with one lane for each of ``lanes``, initialised by their seeds, and the streams of all its draws.

    Raises UserError where the config does not fit the corpus: its task, its label scheme, its words.
    """
    check_task(config, sizes.task, has_scheme=sizes.transitions is not None, words=sizes.words - FIRST_KNOWN)
    seeds = [lane.seed for lane in lanes]
    streams = Streams(seeds, "dropout", device)
    embedder = _embedder(config.embedder, sizes, lanes, streams)
    dropout = Dropout(_rates(config.stack.dropout, [lane.stack_dropout for lane in lanes]), streams)
    below = config.embedder.input_size
    model: Network
    match config.stack:
        case StackConfig():
            stack = _stack(config.stack, below, lanes, dropout)
            skip, pooling = config.stack.skip, config.stack.pooling if sizes.task == "classification" else None
            reinforce = Reinforce(skip, len(lanes)) if isinstance(skip, DynamicSkipConfig) else None
            if isinstance(config.head, BiaffineConfig):
                arcs = _biaffine(config.head, sizes.tags, stack.features, streams)
                model = Parser(embedder, stack, arcs, reinforce=reinforce)
            else:
                head = _head(config.head, sizes, lanes=len(lanes), features=stack.features)
                model = Tagger(embedder, stack, head, pooling=pooling, reinforce=reinforce)
        case FeedbackConfig():
            layer, own_head = _feedback(config.stack, below, len(lanes), sizes.tags)
            model = FeedbackTagger(embedder, layer, own_head, dropout)
        case _:
            assert_never(config.stack)
    model.to(dtype=dtype, device=device)
    initialise(model, seeds, config.initial_scale, config.initial_range)
    if isinstance(config.stack, StackConfig) and isinstance(model, Stacked):
        for module in model.stack.modules():
            if isinstance(module, LstmCell):
                module.open_forget_gates(config.stack.forget_bias)
            if isinstance(module, DynamicSkipLstm):
                module.policy.prefer_previous(module.config.previous_bias)
    return model, streams


def _rates(rate: float, own_R: Sequence[float | None]) -> list[float]:
    return [rate if own is None else own for own in own_R]


def _embedder(config: AnyEmbedder, sizes: Sizes, lanes: Sequence[Lane], streams: Streams) -> AnyInput:
    rates_R = _rates(config.dropout, [lane.embedder_dropout for lane in lanes])
    match config:
        case EmbedderConfig():
            return Embedder(
                config,
                words=sizes.words,
                characters=sizes.characters,
                spelling=_spelling(config.spelling, sizes, len(lanes)),
                dropout_R=rates_R,
                streams=streams,
            )
        case FeatureMapConfig():
            return FeatureMapEmbedder(config, words=sizes.words, dropout_R=rates_R, streams=streams)
        case OneHotConfig():
            return OneHotEmbedder(config, words=sizes.words, dropout_R=rates_R, streams=streams)
        case _:
            assert_never(config)


def _spelling(config: SpellingConfig | None, sizes: Sizes, lanes: int) -> SpellingReader | None:
    match config:
        case None:
            return None
        case CharacterCnnConfig():
            return CharacterCnn(lanes, sizes.characters, config)
        case CharacterLstmConfig():
            return CharacterLstm(lanes, sizes.characters, config)
        case _:
            assert_never(config)


def _stack(config: StackConfig, below: int, lanes: Sequence[Lane], dropout: Dropout) -> Stack:
    directions = 2 if config.directions == "both" else 1
    spread = directions if config.join == "each_layer" else 1
    wiring = sources(config.composition, config.depth)
    cells: list[Layer] = []
    for number, source in enumerate(wiring, start=1):
        size = spread * cells[-1].features if cells else below
        sizes = LayerSizes(lanes=len(lanes), directions=directions, below=size, hidden=config.hidden)
        if source:
            cells.append(_shortcut(config.shortcut, sizes, dropout.streams))
        elif config.skip is not None and (config.skipping == "all" or number == config.depth):
            cells.append(_skipping(config.skip, sizes, lanes, dropout.streams))
        else:
            cells.append(_plain(config, sizes))
    return Stack(cells, wiring, directions, dropout, below=below, join_each=spread > 1)


def _plain(config: StackConfig, sizes: LayerSizes) -> Layer:
    match config.cell:
        case "lstm":
            return LstmCell(sizes)
        case "simple":
            return SimpleCell(sizes)
        case "sutskever":
            return SutskeverCell(sizes)
        case "feedforward":
            return FeedForwardLayer(sizes)
        case _:
            assert_never(config.cell)


def _skipping(config: SkipConfig, sizes: LayerSizes, lanes: Sequence[Lane], streams: Streams) -> SkipLayer:
    match config:
        case FixedSkipConfig():
            return FixedSkipLstm(sizes, config)
        case AttentionSkipConfig():
            return AttentionSkipLstm(sizes, config)
        case DynamicSkipConfig():
            return DynamicSkipLstm(sizes, config, _rates(config.share, [lane.skip_share for lane in lanes]), streams)
        case _:
            assert_never(config)


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


def _feedback(config: FeedbackConfig, below: int, lanes: int, tags: int) -> tuple[FeedbackLayer, FeedbackHead]:
    ways = Directions(config.directions)
    hidden, context, directions = config.hidden, config.context, len(ways)
    labels: LabelLink | LabelVectorLink | None = None
    if config.variant == "j":
        labels = LabelLink(lanes=lanes, directions=directions, context=context, labels=tags, hidden=hidden)
    elif config.variant in ("i", "i_and_e"):
        labels = LabelVectorLink(
            lanes=lanes, directions=directions, context=context, labels=tags, size=config.label_size, hidden=hidden
        )
    previous = None
    if config.variant in ("e", "i_and_e"):
        previous = HiddenLink(lanes=lanes, directions=directions, context=context, hidden=hidden)
    layer = FeedbackLayer(
        lanes=lanes,
        below=below,
        hidden=hidden,
        context=context,
        directions=ways,
        labels=labels,
        previous=previous,
        activation=config.activation,
        feedback=config.feedback,
    )
    return layer, FeedbackHead(lanes=lanes, directions=directions, hidden=hidden, tags=tags)


def _head(config: TagHeadConfig, sizes: Sizes, *, lanes: int, features: int) -> Head:
    match config:
        case SoftmaxConfig():
            return SoftmaxHead(lanes=lanes, features=features, tags=sizes.tags)
        case CrfConfig() | MarginConfig():
            allowed = sizes.transitions if config.constrained else None
            return ChainHead(lanes=lanes, features=features, tags=sizes.tags, config=config, allowed=allowed)
        case _:
            assert_never(config)


def _biaffine(config: BiaffineConfig, relations: int, features: int, streams: Streams) -> BiaffineHead:
    lanes = len(streams.generators)
    return BiaffineHead(
        lanes=lanes,
        features=features,
        relations=relations,
        arc_size=config.arc_size,
        relation_size=config.relation_size,
        dropout_R=[config.dropout] * lanes,
        streams=streams,
        tree=config.decoder == "tree",
    )
