"""Configs of layers: cells, and shortcuts with their gates. Torch-free."""

from collections.abc import Mapping
from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator

from skipstack.data.basis.frozen import Frozen
from skipstack.data.basis.user_code.configs import OpenTo, OwnConfig

CellKind = Literal["lstm", "gru", "min_gru", "min_lstm", "simple", "sutskever", "feedforward"]
"""The built-in cells."""

AnyCell = Annotated[CellKind | OwnConfig, OpenTo("cell", CellKind)]
"""The cell of a layer without a source: the LSTM of wu2017 (eqs 5-6); the GRU of Cho et al. (2014), as torch has it;
the minGRU or minLSTM of Feng et al. (2024), whose gates read no earlier state; the simple network or the LSTM after
Sutskever of the lecture; or the hidden layer of chen2017's multilayer perceptron, which reads no other time step."""

CELLS: Final[Mapping[CellKind, tuple[str, tuple[str, ...]]]] = {
    "lstm": ("LSTM", ("h", "c")),
    "gru": ("GRU", ("h",)),
    "min_gru": ("minGRU", ("h",)),
    "min_lstm": ("minLSTM", ("h",)),
    "simple": ("simple RNN", ("h",)),
    "sutskever": ("Sutskever", ("h", "s")),
    "feedforward": ("hidden", ()),
}
"""The name of each cell in a drawing, and the states that it passes to the next time step."""

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
"""The topology of a layer: how the skipped output enters it (wu2017 Table 2; ``models/parts/cells/shortcut.py`` has the
equations)."""

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
"""The gate that weighs the skipped output (wu2017 Table 3 and eq. 7; ``models/parts/cells/gates.py`` has the
equations)."""

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
"""The equation of each gate in a drawing."""


class ShortcutConfig(Frozen):
    """A layer with a source. The default is the block of wu2017 (eq. 8) with its gate (eq. 13).

    Every gate works with every topology in which it has a meaning. ``both_ungated`` has no gate and reads none of these
    fields; studies that vary both exclude such duplicates by a named constraint (``spaces/constraints.py``).
    """

    topology: Topology = "block"
    gate: AnyGate = "sigmoid_below"
    probability: Annotated[float, Field(gt=0, lt=1)] = 0.5
    """The probability that the gate ``bernoulli`` is open; no other gate reads it."""

    @model_validator(mode="after")
    def _has_a_meaning(self) -> Self:
        if self.topology == "both_highway" and self.gate in ("none", "linear"):
            why = "is the skip alone under g = 1" if self.gate == "none" else "needs 1 - g, which a matrix g has not"
            raise ValueError(f"both_highway {why}: got gate {self.gate} (allowed: any but none and linear)")
        return self
