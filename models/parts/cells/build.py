"""Builds layers from configs of cells and gates."""

from typing import assert_never

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.user_code.configs import OwnConfig
from skipstack.models.configs.cells import AnyCell, ShortcutConfig
from skipstack.models.configs.topologies import TOPOLOGIES, reads_updated
from skipstack.models.layers.lanes import Streams
from skipstack.models.layers.layer import Layer, LayerSizes
from skipstack.models.parts.cells.feedforward import FeedForwardLayer
from skipstack.models.parts.cells.gates import (
    BernoulliGate,
    EarlierGate,
    Gate,
    LearnedBernoulliGate,
    LinearGate,
    LinearVectorGate,
    LogisticGate,
    OpenGate,
    RecurrentGate,
    ScaledGate,
    VectorGate,
)
from skipstack.models.parts.cells.gru import GruCell
from skipstack.models.parts.cells.lstm import LstmCell
from skipstack.models.parts.cells.minimal import MinGruCell, MinLstmCell
from skipstack.models.parts.cells.shortcut import ShortcutBlock, ShortcutCell, ShortcutLstm
from skipstack.models.parts.cells.simple import SimpleCell
from skipstack.models.parts.cells.sutskever import SutskeverCell


def build_cell(kind: AnyCell, sizes: LayerSizes, streams: Streams) -> Layer:
    """Builds a layer without a shortcut. Raises UserError for a user's cell whose code is not loaded."""
    match kind:
        case OwnConfig():
            layer: Layer = kind.build(sizes, streams)
            return layer
        case "lstm":
            return LstmCell(sizes)
        case "simple":
            return SimpleCell(sizes)
        case "sutskever":
            return SutskeverCell(sizes)
        case "gru":
            return GruCell(sizes)
        case "min_gru":
            return MinGruCell(sizes)
        case "min_lstm":
            return MinLstmCell(sizes)
        case "feedforward":
            return FeedForwardLayer(sizes)
        case _:
            assert_never(kind)


def build_shortcut(config: ShortcutConfig, sizes: LayerSizes, streams: Streams) -> ShortcutCell:
    """Builds a layer with a shortcut from an earlier layer.

    Raises UserError for a user's gate whose code is not loaded. Also raises UserError if the topology needs 1 - g, but
    the gate is neither a ``VectorGate`` nor computed within the step.
    """
    links = TOPOLOGIES[config.topology]
    gates = [_gate(config, sizes, streams) for _ in range(links.gates)]
    for gate in gates:
        if "highway" in (links.internal, links.output) and not (gate.in_step or isinstance(gate, VectorGate)):
            raise UserError(f"{config.topology} needs 1 - g: got gate {config.gate} (allowed: a VectorGate)")
    if links.memory:
        return ShortcutLstm(sizes, links, gates, updated=reads_updated(config))
    return ShortcutBlock(sizes, links, gates)


def _gate(config: ShortcutConfig, sizes: LayerSizes, streams: Streams) -> Gate:
    match config.gate:
        case OwnConfig():
            gate: Gate = config.gate.build(sizes, streams)
            return gate
        case "none":
            return OpenGate()
        case "sigmoid_below":
            return LogisticGate(sizes, "below")
        case "sigmoid_below_earlier":
            return EarlierGate(sizes)
        case "sigmoid_skipped":
            return LogisticGate(sizes, "skipped")
        case "sigmoid_below_previous":
            return RecurrentGate()
        case "scaled":
            return ScaledGate(sizes)
        case "linear":
            return LinearGate(sizes)
        case "linear_vector":
            return LinearVectorGate(sizes)
        case "bernoulli":
            return BernoulliGate(config.probability, streams)
        case "bernoulli_below":
            return LearnedBernoulliGate(sizes, streams)
        case _:
            assert_never(config.gate)
