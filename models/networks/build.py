"""Builds networks from configs. The folders of ``models/parts/`` build the parts: cells, heads, inputs and skips."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, assert_never

import torch
from torch import nn

from skipstack.data.basis.errors import UserError
from skipstack.data.labels.schemes import Scheme, transitions
from skipstack.data.labels.transitions import Transitions
from skipstack.data.store.prepared import PreparedCorpus
from skipstack.data.store.vocabulary import FIRST_KNOWN, Vocabulary
from skipstack.data.tasks.tagging import Tagging
from skipstack.data.tasks.task import Task
from skipstack.data.tasks.tasks import TASKS
from skipstack.models.configs.feedback import FeedbackConfig
from skipstack.models.configs.model import ModelConfig, Normalisation, StackConfig, check_task
from skipstack.models.configs.skips import DynamicSkipConfig
from skipstack.models.configs.wiring import shown, sources
from skipstack.models.ground.initialise import initialise
from skipstack.models.ground.parameters import made_on
from skipstack.models.layers.lanes import Dropout, Lane, Streams, rates
from skipstack.models.layers.layer import Layer, LayerSizes
from skipstack.models.layers.normalisation import LayerNormalisation, RmsNormalisation
from skipstack.models.networks.feedback.layer import Directions, FeedbackLayer
from skipstack.models.networks.feedback.links import HiddenLink, LabelLink, LabelVectorLink, LinkSizes
from skipstack.models.networks.feedback.tagger import FeedbackTagger
from skipstack.models.networks.model import Network, Stacked
from skipstack.models.networks.stack import Stack
from skipstack.models.parts.cells.build import build_cell, build_shortcut
from skipstack.models.parts.cells.lstm import LstmCell
from skipstack.models.parts.cells.minimal import MinLstmCell
from skipstack.models.parts.heads.build import build_head
from skipstack.models.parts.heads.feedback import FeedbackHead
from skipstack.models.parts.inputs.build import build_embedder
from skipstack.models.parts.skips.layers import DynamicSkipLstm, build_skip
from skipstack.models.parts.skips.reinforce import Reinforce


@dataclass(frozen=True, kw_only=True, slots=True)
class Sizes:
    """The properties of a corpus that determine the shapes and the head of a network.

    ``words``, ``characters``, ``tags``, ``classes``: the number of each, reserved ids included (tags have no reserved
    ids). ``classes`` are word classes, which may be read in addition to words.
    """

    words: int
    characters: int
    tags: int
    classes: int = FIRST_KNOWN
    transitions: Transitions | None = None
    """The transitions that the label scheme allows; None if the tags have no label scheme."""
    task: Task = TASKS[Tagging.name]

    @classmethod
    def of(
        cls, vocabulary: Vocabulary, tags: Sequence[str], scheme: Scheme | None = None, task: Task = TASKS[Tagging.name]
    ) -> Self:
        """Compute the sizes for a vocabulary and a list of tags. ``scheme``: the label scheme of the tags, if any."""
        return cls(
            words=FIRST_KNOWN + len(vocabulary.words),
            characters=FIRST_KNOWN + len(vocabulary.characters),
            tags=len(tags),
            classes=FIRST_KNOWN + len(vocabulary.class_names),
            transitions=None if scheme is None else transitions(tags, scheme),
            task=task,
        )

    @classmethod
    def of_corpus(cls, corpus: PreparedCorpus) -> Self:
        """Compute the sizes for a prepared corpus."""
        stored = corpus.stored
        return cls.of(corpus.vocabulary, stored.tags, stored.scheme, TASKS[stored.task])


def build(
    config: ModelConfig, *, sizes: Sizes, lanes: Sequence[Lane], dtype: torch.dtype, device: torch.device
) -> tuple[Network, Streams]:
    """Build a network with a copy for each of ``lanes``. The lane's seed determines the copy's initial weights.

    Also return the streams of random numbers for forward passes (for dropout, and for sampled gates and states). Raises
    UserError if the network cannot be built (``unfilled`` lists the reasons).
    """
    model, streams = unfilled(config, sizes=sizes, lanes=lanes, dtype=dtype, device=device)
    initialise(model, [lane.seed for lane in lanes], config.initial_scale, config.initial_range)
    if isinstance(config.stack, StackConfig) and isinstance(model, Stacked):
        for module in model.stack.modules():
            if isinstance(module, LstmCell | MinLstmCell):
                module.open_forget_gates(config.stack.forget_bias)
            if isinstance(module, DynamicSkipLstm):
                module.policy.prefer_previous(module.config.previous_bias)
    return model, streams


def unfilled(
    config: ModelConfig, *, sizes: Sizes, lanes: Sequence[Lane], dtype: torch.dtype, device: torch.device
) -> tuple[Network, Streams]:
    """Build the network and streams of ``build``, with uninitialised weights, for callers that load weights.

    Raises UserError if the config does not fit the task, the label scheme or the number of words, if its parts do not
    fit together (``build_stack``, ``build_head``), or if the code of a user's component is not loaded.
    """
    check_task(config, sizes.task, has_scheme=sizes.transitions is not None, words=sizes.words - FIRST_KNOWN)
    streams = Streams([lane.seed for lane in lanes], "dropout", device)
    return made_on(device, dtype, lambda: _network(config, sizes, lanes, streams)), streams


def _network(config: ModelConfig, sizes: Sizes, lanes: Sequence[Lane], streams: Streams) -> Network:
    embedder = build_embedder(
        config.embedder,
        words=sizes.words,
        characters=sizes.characters,
        classes=sizes.classes,
        lanes=lanes,
        streams=streams,
    )
    dropout = Dropout(rates(config.stack.dropout, [lane.stack_dropout for lane in lanes]), streams)
    below = config.embedder.input_size
    match config.stack:
        case StackConfig():
            stack = build_stack(config.stack, below, lanes, dropout)
            skip, pooling = config.stack.skip, config.stack.pooling if sizes.task.single_label else None
            reinforce = Reinforce(skip, lanes) if isinstance(skip, DynamicSkipConfig) else None
            head = build_head(
                config.head, features=stack.features, tags=sizes.tags, transitions=sizes.transitions, streams=streams
            )
            return Stacked(embedder, stack, head, pooling=pooling, reinforce=reinforce)
        case FeedbackConfig():
            layer, own_head = build_feedback(config.stack, below=below, lanes=len(lanes), tags=sizes.tags)
            return FeedbackTagger(embedder, layer, own_head, dropout)
        case _:
            assert_never(config.stack)


def build_stack(config: StackConfig, below: int, lanes: Sequence[Lane], dropout: Dropout) -> Stack:
    """Build the layers, connected as ``config.composition`` says. ``below``: the features per time step of the input.

    Raises UserError if a stack with shortcuts has a user's cell that does not output ``config.hidden`` features, and if
    residual connections would add outputs of different widths.
    """
    directions = 2 if config.directions == "both" else 1
    spread = directions if config.join == "each_layer" else 1
    wiring = sources(config.composition, config.depth)
    layers: list[Layer] = []
    normalisations: list[nn.Module] = []
    for number, source in enumerate(wiring, start=1):
        size = spread * layers[-1].features if layers else below
        sizes = LayerSizes(lanes=len(lanes), directions=directions, below=size, hidden=config.hidden)
        normalisations += _normalisation(config.normalisation, sizes)
        if source:
            layers.append(build_shortcut(config.shortcut, sizes, dropout.streams))
        elif (skip := config.skip_of(number)) is not None:
            layers.append(build_skip(skip, sizes, lanes, dropout.streams))
        else:
            layers.append(build_cell(config.cell, sizes, dropout.streams))
            if any(wiring) and layers[-1].features != config.hidden:
                raise UserError(
                    f"a layer of cell {config.cell} puts out {layers[-1].features} numbers, a shortcut takes "
                    f"{config.hidden}, the hidden units: got sources {shown(wiring)} (allowed: 0 for every layer)"
                )
    widths = {layer.features for layer in layers}
    if config.residual and len(widths) > 1:
        raise UserError(
            f"model.stack.residual adds up outputs of one width: got layers of cell {config.cell} that put out "
            f"{' and '.join(map(str, sorted(widths)))} numbers (allowed: residual false)"
        )
    return Stack(
        layers,
        wiring,
        directions,
        dropout,
        below=below,
        join_each=spread > 1,
        normalisations=normalisations,
        residual=config.residual,
    )


def _normalisation(kind: Normalisation, sizes: LayerSizes) -> list[nn.Module]:
    match kind:
        case "none":
            return []
        case "layer":
            return [LayerNormalisation(sizes)]
        case "rms":
            return [RmsNormalisation(sizes)]
        case _:
            assert_never(kind)


def build_feedback(config: FeedbackConfig, *, below: int, lanes: int, tags: int) -> tuple[FeedbackLayer, FeedbackHead]:
    """Build the layer and the head of a label-feedback network. ``below``: the embedder's features per time step."""
    directions = Directions(config.directions)
    sizes = LinkSizes(lanes=lanes, directions=len(directions), context=config.context, hidden=config.hidden)
    labels: LabelLink | LabelVectorLink | None = None
    previous: HiddenLink | None = None
    match config.variant:
        case "e":
            previous = HiddenLink(sizes)
        case "j":
            labels = LabelLink(sizes, labels=tags)
        case "i":
            labels = LabelVectorLink(sizes, labels=tags, size=config.label_size)
        case "i_and_e":
            labels = LabelVectorLink(sizes, labels=tags, size=config.label_size)
            previous = HiddenLink(sizes)
        case _:
            assert_never(config.variant)
    layer = FeedbackLayer(config, lanes=lanes, below=below, directions=directions, labels=labels, previous=previous)
    return layer, FeedbackHead(lanes=lanes, directions=len(directions), hidden=config.hidden, tags=tags)
