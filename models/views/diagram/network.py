"""Builds the graph of a network from its config."""

from collections.abc import Iterator, Mapping
from typing import Final, assert_never

from skipstack.data.basis.user_code.configs import OwnConfig
from skipstack.models.configs.cells import CELLS
from skipstack.models.configs.feedback import Feedback, FeedbackConfig
from skipstack.models.configs.heads import BiaffineConfig, CrfConfig, HeadConfig, MarginConfig
from skipstack.models.configs.model import ModelConfig, Normalisation, Pooling, StackConfig
from skipstack.models.configs.skips import FixedSkipConfig
from skipstack.models.configs.topologies import TOPOLOGIES
from skipstack.models.configs.wiring import Source, sources
from skipstack.models.views.diagram.graph import Diagram, Direction, Part, Reading
from skipstack.models.views.diagram.inputs import Piece, input_pieces

DIRECTIONS: Final[tuple[Direction, Direction]] = ("forward", "backward")

SKIPS: Final = "LSTM, skips"
"""The label of layers that skip back in time."""

FED: Final[Mapping[Feedback, str]] = {
    "predicted": "labels decided on",
    "gold": "right labels in training",
    "distribution": "distributions over labels",
}
"""The label of each kind of feedback."""

HEADS: Final = {"crf": "CRF", "margin": "max-margin chain"}
"""The label of a head, by its kind. A head of any other kind has its kind as its label."""

NORMALISED: Final[Mapping[Normalisation, str]] = {"none": "", "layer": "layer norm", "rms": "RMS norm"}
"""The words for each normalisation in the note of a layer."""

POOLED: Final[Mapping[Pooling, str]] = {"last": "last state", "mean": "mean of the states", "max": "largest numbers"}


def diagram(config: ModelConfig, *, single_label: bool = False, token: str = "word") -> Diagram:
    """Build the graph of the network for a config. ``single_label``: whether a whole text has one tag. ``token``: the
    word for a token in labels.
    """
    pieces = list(input_pieces(config.embedder, token))
    below = next(piece for piece in reversed(pieces) if isinstance(piece, Part))
    match config.stack:
        case StackConfig():
            pieces += _stack(config.stack, below, single_label=single_label)
            top = next(piece for piece in reversed(pieces) if isinstance(piece, Part))
            pieces += _head(config.head, top.name)
        case FeedbackConfig():
            pieces += _feedback(config.stack, below.name)
        case _:
            assert_never(config.stack)
    layers = config.stack if isinstance(config.stack, StackConfig) else None
    parts = tuple(piece for piece in pieces if isinstance(piece, Part))
    return Diagram(
        parts=parts,
        readings=tuple(piece for piece in pieces if isinstance(piece, Reading)),
        shortcut=layers.shortcut if layers and any(sources(layers.composition, layers.depth)) else None,
        skip=layers.skip if layers and any(part.label == SKIPS for part in parts) else None,
    )


def _stack(config: StackConfig, below: Part, *, single_label: bool) -> Iterator[Piece]:
    """Yield the nodes and edges of the layers, bottom up, with the joins of directions (``models/networks/stack.py``).

    ``below``: the node that the lowest layer reads. ``single_label``: whether a whole text has one tag.
    """
    directions = DIRECTIONS if config.directions == "both" else DIRECTIONS[:1]
    wiring = sources(config.composition, config.depth)
    lower = dict.fromkeys(directions, below.name)
    size = below.size
    for number, source in enumerate(wiring, start=1):
        for direction in directions:
            layer, state = _layer(config, number, source, direction)
            yield layer
            yield Reading(start=lower[direction], end=layer.name)
            if source:
                start = below.name if source == "input" else f"layer {source} {direction}"
                yield Reading(start=start, end=layer.name, role="shortcut")
            if state is not None:
                yield state
            size = layer.size
        lower = {direction: f"layer {number} {direction}" for direction in directions}
        if len(directions) > 1 and (config.join == "each_layer" or number == config.depth):
            size = None if size is None else len(directions) * size
            label = "both directions, side by side" if number == config.depth else ""
            join = Part(name=f"join {number}", kind="join", label=label, size=size)
            yield join
            for start in lower.values():
                yield Reading(start=start, end=join.name)
            lower = dict.fromkeys(directions, join.name)
    if single_label:
        yield Part(name="text", kind="text", label=f"the text: {POOLED[config.pooling]}", size=size)
        yield Reading(start=lower[directions[0]], end="text")


def _layer(config: StackConfig, number: int, source: Source, direction: Direction) -> tuple[Part, Reading | None]:
    """Return the node of one direction of layer ``number`` (counted from 1), and the edge from the layer's own earlier
    states. If the layer has no states, None replaces the edge. ``source``: the source of the layer's shortcut, or 0.
    """
    name, first, last, between = f"layer {number} {direction}", -1, -1, True
    label, carries = (config.cell.kind, ("state",)) if isinstance(config.cell, OwnConfig) else CELLS[config.cell]
    if source:
        memory = TOPOLOGIES[config.shortcut.topology].memory
        label, carries = ("LSTM + skip", ("h", "c")) if memory else ("block", ("h",))
    elif (skip := config.skip_of(number)) is not None:
        label, first = SKIPS, -skip.reach
        if isinstance(skip, FixedSkipConfig):
            last, between = -1 if skip.previous_share else first, False
    normalised = NORMALISED[config.normalisation]
    added = f"adds layer {number - 1}" if config.residual and number > 1 else ""
    layer = Part(
        name=name,
        kind="layer",
        label=label,
        note=", ".join(filter(None, (normalised, added))),
        size=_features(config),
        units=config.hidden,
        direction=direction,
        layer=number,
        carries=carries,
    )
    if not carries:
        return layer, None
    return layer, Reading(start=name, end=name, role="state", first=first, last=last, between=between)


def _features(config: StackConfig) -> int | None:
    """Return the number of features that a layer outputs; None if only the code of a user's own cell tells the number.
    In stacks with shortcuts every cell outputs ``hidden`` features (``models.networks.build.build_stack``).
    """
    if isinstance(config.cell, OwnConfig) and not any(sources(config.composition, config.depth)):
        return None
    return 2 * config.hidden if config.cell == "sutskever" else config.hidden


def _head(config: HeadConfig, below: str) -> Iterator[Piece]:
    label, note = HEADS.get(config.kind, config.kind), ""
    if isinstance(config, BiaffineConfig):
        note = f"arcs {config.arc_size}, relations {config.relation_size}"
    yield Part(name="head", kind="head", label=label, note=note)
    yield Reading(start=below, end="head")
    if isinstance(config, CrfConfig | MarginConfig):
        yield Reading(start="head", end="head", role="moves", first=-1, last=-1)


def _feedback(config: FeedbackConfig, below: str) -> Iterator[Piece]:
    """Yield the nodes and edges of a label-feedback network (dinarelli2016): the hidden layer, the output and the
    feedback of each direction (``models/networks/feedback/links.py``).

    ``below``: the name of the node that the hidden layer reads.
    """
    directions = DIRECTIONS if config.directions == "both" else (config.directions,)
    c = -config.context
    for direction in directions:
        layer, decision, labels = (f"{what} {direction}" for what in ("layer 1", "head", "labels"))
        if config.variant in ("i", "i_and_e"):
            yield Part(name=labels, kind="labels", label="label vectors", size=config.label_size, direction=direction)
        yield Part(
            name=layer,
            kind="layer",
            label=config.activation,
            size=config.hidden,
            units=config.hidden,
            direction=direction,
            layer=1,
            carries=("h",) if config.variant in ("e", "i_and_e") else (),
        )
        yield Reading(start=below, end=layer)
        if config.variant in ("e", "i_and_e"):
            yield Reading(start=layer, end=layer, role="state", first=c, last=-1)
        yield Part(name=decision, kind="head", label="softmax", direction=direction)
        yield Reading(start=layer, end=decision)
        if config.variant == "j":
            yield Reading(start=decision, end=layer, role="fed_back", first=c, last=-1, gate=FED[config.feedback])
        if config.variant in ("i", "i_and_e"):
            yield Reading(start=decision, end=labels, role="fed_back", first=c, last=-1, gate=FED[config.feedback])
            yield Reading(start=labels, end=layer)
    if len(directions) > 1:
        yield Part(name="head", kind="head", label="mean of both")
        for direction in directions:
            yield Reading(start=f"head {direction}", end="head")
