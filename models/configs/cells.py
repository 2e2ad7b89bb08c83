"""Configs of cells, and of shortcuts with their gates. Imports no torch."""

from collections.abc import Mapping
from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator

from skipstack.data.basis.frozen import UNSAID, Brief
from skipstack.data.basis.user_code.configs import OpenTo, OwnConfig

CellKind = Literal["lstm", "gru", "min_gru", "min_lstm", "simple", "sutskever", "feedforward"]
"""The built-in cells."""

AnyCell = Annotated[CellKind | OwnConfig, OpenTo("cell", CellKind)]
"""The cell of the layers without a shortcut: built-in, or a user's own. ``lstm``: the LSTM of wu2017 (eqs 5-6).
``gru``: the GRU of Cho et al. (2014), in torch's variant. ``min_gru``, ``min_lstm``: the minGRU and minLSTM of Feng et
al. (2024), whose gates read no earlier state. ``simple``: Elman's network, from Collins's lecture. ``sutskever``:
Sutskever's LSTM, from the same lecture. ``feedforward``: the hidden layer of chen2017's perceptron, which reads no
other time step."""

CELLS: Final[Mapping[CellKind, tuple[str, tuple[str, ...]]]] = {
    "lstm": ("LSTM", ("h", "c")),
    "gru": ("GRU", ("h",)),
    "min_gru": ("minGRU", ("h",)),
    "min_lstm": ("minLSTM", ("h",)),
    "simple": ("simple RNN", ("h",)),
    "sutskever": ("Sutskever", ("h", "s")),
    "feedforward": ("hidden", ()),
}
"""The name of each cell in a diagram of the network, and the states that the cell passes to the next time step."""

Topology = Literal[
    "hidden_gated",
    "both_ungated",
    "both_gated",
    "both_highway",
    "both_two_gates",
    "block",
    "block_output_ungated",
    "block_internal_ungated",
    "block_output_shared",
    "block_no_internal",
    "block_no_output",
]
"""The topology of a layer with a shortcut: how the skip, the output of an earlier layer, enters the layer (wu2017 Table
2; equations in ``models/parts/cells/shortcut.py``)."""

CellOutput = Literal["original", "updated"]
"""The cell state from which a layer computes its output, if a skip updates the cell state: the state before or after
the update. The caption of wu2017's Table 2 can be read both ways (equations in ``models/parts/cells/shortcut.py``)."""

GateKind = Literal[
    "none",
    "sigmoid_below",
    "sigmoid_below_earlier",
    "sigmoid_skipped",
    "sigmoid_below_previous",
    "scaled",
    "linear",
    "linear_vector",
    "bernoulli",
    "bernoulli_below",
]
"""The built-in gates."""

AnyGate = Annotated[GateKind | OwnConfig, OpenTo("gate", GateKind)]
"""The gate that weights the skip, the output of an earlier layer: built-in, or a user's own (wu2017 Table 3 and eq. 7;
equations in ``models/parts/cells/gates.py``)."""

GATES: Final[Mapping[GateKind, str]] = {
    "none": "g = 1: the skip passes whole",
    "sigmoid_below": "g = σ(W · below + b)",
    "sigmoid_below_earlier": "g = σ(W · below, one step earlier + b)",
    "sigmoid_skipped": "g = σ(W · skip + b)",
    "sigmoid_below_previous": "g = σ(W · [below; h of the step before] + b)",
    "scaled": "g = σ(W · below + b), and tanh(skip) for skip",
    "linear": "W · skip for g · skip",
    "linear_vector": "g = w",
    "bernoulli": "g: 1 with probability {probability:g}, or else 0",
    "bernoulli_below": "g: 1 with probability σ(W · below + b), or else 0",
}
"""The equation of each gate in a diagram of the network."""


class ShortcutConfig(Brief):
    """A layer with a shortcut from an earlier layer. The default is the block of wu2017 (eq. 8) with its gate (eq. 13).

    Every built-in gate works with every topology, except ``none`` and ``linear`` with ``both_highway``. The topology
    ``both_ungated`` has no gate, and does not read ``gate`` or ``probability``. A study that varies these fields can
    use two constraints. In stacks of two or more layers, ``gate_in_use`` keeps points with an unread gate only if
    ``gate`` is ``none``, and ``cell_output_in_use`` keeps points with an unread ``cell_output`` only if it is
    ``original``.
    """

    topology: Topology = "block"
    gate: AnyGate = "sigmoid_below"
    probability: Annotated[float, Field(gt=0, lt=1)] = 0.5
    """The probability that the gate ``bernoulli`` is open. Other gates do not read this field."""
    cell_output: Annotated[CellOutput, UNSAID] = "original"
    """The cell state u in o * tanh(u), if the skip enters both the cell state and the output. ``original``: the
    state before the skip enters it, the "original cell output" of wu2017's Table 2. ``updated``: the state that the
    next time step reads, as the formula in the table's caption prints it. Only the topologies ``both_ungated``,
    ``both_gated``, ``both_highway`` and ``both_two_gates`` read this field."""

    @model_validator(mode="after")
    def _has_a_meaning(self) -> Self:
        if self.topology == "both_highway" and self.gate in ("none", "linear"):
            why = "is the skip alone under g = 1" if self.gate == "none" else "needs 1 - g, which a matrix g has not"
            raise ValueError(f"both_highway {why}: got gate {self.gate} (allowed: any but none and linear)")
        return self
