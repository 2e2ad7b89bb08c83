"""Layers with a skip, the output of an earlier layer: the eleven topologies of wu2017 (Table 2, eq. 8).

Axes: G groups = lanes * directions (a lane is one seed's copy of the network), T time steps, B sentences, I inputs from
the layer below, H hidden units, X pre-activations: 3H (4H with a cell state), plus H per gate computed within the step.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import assert_never

import torch
from torch import Tensor, nn

from skipstack.models.configs.topologies import Link, Links
from skipstack.models.kernels.layers import block_layer, lstm_layer
from skipstack.models.kernels.sigmoid import sigmoid
from skipstack.models.layers.cell import Cell, HiddenState
from skipstack.models.layers.layer import LayerSizes, Unrolled
from skipstack.models.parts.cells.gates import Gate, VectorGate

Parts = Mapping[str, Tensor]
"""The tensors that a layer's links need, by name. ``skip``: the skip. ``carried``: g * skip. ``carried_apart``:
g_h * skip, where g_h is the second gate of ``both_two_gates``. ``kept``: 1 - g."""


class ShortcutCell(Cell):
    """The base class of layers with a skip. Computes the skip and its gates. Subclasses compute the rest.

    The skip h_t^{-l}, ``skipped``, is the output of an earlier layer at the same step. With the skip h_t^{l-2}, from
    two layers below, the layer computes eq. 11. All values that need no earlier step are computed before the loop.
    """

    def __init__(self, sizes: LayerSizes, links: Links, gates: Sequence[Gate], own: int) -> None:
        """Creates the weights. ``links``: how the skip enters the internal state and the output. ``gates``: the gates
        that the links need. ``own``: the number of pre-activations, each ``hidden`` wide, without gates of the skip.
        """
        assert len(gates) == links.gates, "one gate for each vector"
        in_step = sum(gate.in_step for gate in gates)
        super().__init__(sizes, gates=own + in_step)
        self.links = links
        self.in_step = in_step > 0
        self.gates = tuple(gates)
        self.gate = nn.ModuleList(gates)
        uses = {links.internal, links.output}
        self.highway = "highway" in uses
        self.known = tuple(
            name
            for name, asked in (
                ("carried", uses & {"gated", "highway"}),
                ("carried_apart", "gated_apart" in uses),
                ("kept", self.highway and not in_step),
                ("skip", uses & {"plain", "shared"}),
            )
            if asked
        )

    def run(self, below_GTBI: Tensor, skipped_GTBH: Tensor | None = None, start: Tensor | None = None) -> Unrolled:
        """Runs all time steps, if possible as one operation, otherwise step by step. A gate that is computed within the
        step requires single steps. The last state is [h; c; below], without c if the cell has none. ``below``, the
        output of the layer below at the last step, is for gates that read the layer below one step earlier.
        """
        state, before_GBI = None, None
        if start is not None:
            state, before_GBI = start.tensor_split([start.shape[-1] - below_GTBI.shape[-1]], dim=-1)
        parts_GTBH = self.of_skip(below_GTBI, skipped_GTBH, before_GBI)
        unrolled = None if self.in_step else self.as_one(below_GTBI, parts_GTBH, state)
        if unrolled is None:
            unrolled = self.loop((self.affine(below_GTBI), *parts_GTBH.values()), state)
        if unrolled.last is None:  # in an exported program, which carries no state
            return unrolled
        return replace(unrolled, last=torch.cat([unrolled.last, below_GTBI[:, -1].detach()], dim=-1))

    @abstractmethod
    def as_one(self, below_GTBI: Tensor, parts_GTBH: Parts, start: Tensor | None) -> Unrolled | None:
        """Runs all steps as one operation; returns None if that is not possible here. Call this only if no gate of the
        skip is computed within the step.
        """

    def of_skip(self, below_GTBI: Tensor, skipped_GTBH: Tensor | None, before_GBI: Tensor | None = None) -> Parts:
        """Computes the ``Parts`` of all steps before the loop. If gates are computed within the step, ``carried`` and
        ``carried_apart`` are the skip itself, and ``kept`` is missing. ``before_GBI``: the layer below one step before
        the first; None means zeros.
        """
        assert skipped_GTBH is not None, "a shortcut needs a source"
        skip_GTBH = self.gates[0].skip(skipped_GTBH) if self.gates else skipped_GTBH
        parts = {"skip": skip_GTBH}
        for name, gate in zip(("carried", "carried_apart"), self.gates, strict=False):
            read_GTBI = earlier(below_GTBI, before_GBI) if gate.earlier else below_GTBI
            parts[name], g_GTBH = gate.carried(read_GTBI, skip_GTBH)
            if self.highway and g_GTBH is not None:
                parts["kept"] = 1 - g_GTBH
        return {name: parts[name] for name in self.known}

    def activated(self, pre_GBX: Tensor) -> list[Tensor]:
        """Applies the activations to a step's pre-activations. Returns the cell's own sigmoid gates, the gates of the
        skip that are computed within the step, and the tanh candidate s.
        """
        gates_GBX, s_GBH = torch.split(pre_GBX, [pre_GBX.shape[-1] - self.hidden, self.hidden], dim=-1)
        return [*torch.split(sigmoid(gates_GBX), self.hidden, dim=-1), torch.tanh(s_GBH)]

    def parts(self, known_GBH: Sequence[Tensor], g_GBH: Sequence[Tensor]) -> Parts:
        """Computes the ``Parts`` of a step from those known before the loop and the gates computed within the step."""
        parts = dict(zip(self.known, known_GBH, strict=True))
        for name, g in zip(("carried", "carried_apart"), g_GBH, strict=False):
            parts[name] = g * parts[name]
            if self.highway:
                parts["kept"] = 1 - g
        return parts

    def openings(self, pre_GTBX: Tensor, below_GTBI: Tensor, skipped_GTBH: Tensor | None) -> Mapping[str, Tensor]:
        """Returns the values of the cell's own gates and of the skip's vector gates, by name."""
        assert skipped_GTBH is not None, "a shortcut needs a source"
        gates = dict(super().openings(pre_GTBX, below_GTBI, skipped_GTBH))
        in_step = iter(self.sigmoids(pre_GTBX)[len(self.gate_names) :])
        for number, gate in enumerate(self.gates, start=1):
            name = "shortcut" if len(self.gates) == 1 else f"shortcut {number}"
            if gate.in_step:
                gates[name] = next(in_step)
            elif isinstance(gate, VectorGate):
                read_GTBI = earlier(below_GTBI) if gate.earlier else below_GTBI
                gates[name] = gate.values(read_GTBI, gate.skip(skipped_GTBH))
        return gates


class ShortcutLstm(ShortcutCell):
    """An LSTM with a skip in its output, or in both its internal state and its output:
    (i, f, o, s) = (sigm, sigm, sigm, tanh) W [h_t^{l-1}; h_{t-1}^l] + b              (wu2017 eq. 5)
    c~ = i * s + f * c_{t-1},   h~ = o * tanh(u),                                      (Table 2, caption)
    and c_t and h_t are, with skip = h_t^{-l} (Table 2):
    ``hidden_gated``    c~,                        h~ + g * skip
    ``both_ungated``    c~ + skip,                 h~ + skip
    ``both_gated``      c~ + g * skip,             h~ + g * skip
    ``both_highway``    (1 - g) * c~ + g * skip,   (1 - g) * h~ + g * skip
    ``both_two_gates``  c~ + g_c * skip,           h~ + g_h * skip

    The next time step reads c_t. The paper leaves open which state u is. The caption calls h~ the "original cell
    output", which suggests u = c~ (``cell_output`` ``original``). But the caption prints h~ = o * tanh(c_t^l), which
    means u = c_t (``updated``), since c_t^l is the updated state. In ``hidden_gated``, c_t is c~, so both are the same.
    """

    gate_names = ("input", "forget", "output")

    def __init__(self, sizes: LayerSizes, links: Links, gates: Sequence[Gate], *, updated: bool) -> None:
        """Creates the weights. ``updated``: whether u is c_t. The other arguments: as in ``ShortcutCell``."""
        super().__init__(sizes, links, gates, own=4)
        self.updated = updated

    def start(self, like_GBX: Tensor) -> HiddenState:
        """Returns the state before the first step: h_0 = c_0 = 0."""
        return HiddenState(self.zeros(like_GBX), self.zeros(like_GBX))

    def as_one(self, below_GTBI: Tensor, parts_GTBH: Parts, start: Tensor | None) -> Unrolled | None:
        """Runs all steps by ``kernels.layers.lstm_layer``, or returns None if no fast version can run."""
        internal, output = added(self.links.internal, parts_GTBH), added(self.links.output, parts_GTBH)
        kept = parts_GTBH.get("kept")
        found = lstm_layer(below_GTBI, self.weights(), internal, output, kept, start, updated=self.updated)
        return None if found is None else Unrolled(found[0], last=found[1])

    def step(self, pre_GBX: Tensor, known_GBX: Sequence[Tensor], state: HiddenState) -> HiddenState:
        """Computes c_t and h_t of one time step."""
        assert state.c_GBH is not None
        i, f, o, *g, s = self.activated(pre_GBX)
        parts = self.parts(known_GBX, g)
        original = f * state.c_GBH + i * s
        c = joined(self.links.internal, original, parts, o)
        h = o * torch.tanh(c if self.updated else original)
        return HiddenState(joined(self.links.output, h, parts, o), c)


class ShortcutBlock(ShortcutCell):
    """A shortcut block, in which the skip takes the place of a cell state:
    (i, o, s) = (sigm, sigm, tanh) W [h_t^{l-1}; h_{t-1}^l] + b                       (wu2017 eq. 7)
    and m and h_t are, with skip = h_t^{-l} (eq. 8, Table 2):
    ``block``                   i * s + g * skip,   o * tanh(m) + g * skip
    ``block_output_ungated``    i * s + g * skip,   o * tanh(m) + skip
    ``block_internal_ungated``  i * s + skip,       o * tanh(m) + g * skip
    ``block_output_shared``     i * s + g * skip,   o * tanh(m) + o * skip
    ``block_no_internal``       i * s,              o * tanh(m) + g * skip
    ``block_no_output``         i * s + g * skip,   o * tanh(m)

    No internal state is passed through time. Table 2 prints one formula per topology. The other formula is from eq. 8.
    """

    gate_names = ("input", "output")

    def __init__(self, sizes: LayerSizes, links: Links, gates: Sequence[Gate]) -> None:
        super().__init__(sizes, links, gates, own=3)

    def as_one(self, below_GTBI: Tensor, parts_GTBH: Parts, start: Tensor | None) -> Unrolled | None:
        """Runs all steps by ``kernels.layers.block_layer``, or returns None if no fast version can run."""
        internal, output = added(self.links.internal, parts_GTBH), added(self.links.output, parts_GTBH)
        shared = parts_GTBH["skip"] if self.links.output == "shared" else None
        output_GTBH = block_layer(below_GTBI, self.weights(), internal, output, shared, start)
        return None if output_GTBH is None else Unrolled(output_GTBH, last=output_GTBH[:, -1].detach())

    def step(self, pre_GBX: Tensor, known_GBX: Sequence[Tensor], state: HiddenState) -> HiddenState:
        """Computes the internal value m and the output h_t of one time step."""
        i, o, *g, s = self.activated(pre_GBX)
        parts = self.parts(known_GBX, g)
        m = joined(self.links.internal, i * s, parts, o)
        return HiddenState(joined(self.links.output, o * torch.tanh(m), parts, o))


def earlier(below_GTBI: Tensor, before_GBI: Tensor | None = None) -> Tensor:
    """Shifts the layer below by one time step. The first step gets ``before_GBI``; None means zeros."""
    first_GBI = torch.zeros_like(below_GTBI[:, 0]) if before_GBI is None else before_GBI
    return torch.cat([first_GBI.unsqueeze(1), below_GTBI[:, :-1]], dim=1)


def added(link: Link, parts: Parts) -> Tensor | None:
    """Returns the term that the link adds to a value; None for ``none``, and for ``shared``."""
    match link:
        case "none" | "shared":
            return None
        case "plain":
            return parts["skip"]
        case "gated" | "highway":
            return parts["carried"]
        case "gated_apart":
            return parts["carried_apart"]
        case _:
            assert_never(link)


def joined(link: Link, value_GBH: Tensor, parts: Parts, o_GBH: Tensor) -> Tensor:
    """Applies the formula of ``link`` to ``value_GBH``. Only the link ``shared`` reads the output gate ``o_GBH``."""
    match link:
        case "none":
            return value_GBH
        case "plain":
            return value_GBH + parts["skip"]
        case "gated":
            return value_GBH + parts["carried"]
        case "gated_apart":
            return value_GBH + parts["carried_apart"]
        case "highway":
            return parts["kept"] * value_GBH + parts["carried"]
        case "shared":
            return value_GBH + o_GBH * parts["skip"]
        case _:
            assert_never(link)
