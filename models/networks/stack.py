"""Stacks of layers, which read in one direction or in both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Final

from torch import Tensor, nn

from skipstack.models.configs.cells import CellKind
from skipstack.models.configs.wiring import Source
from skipstack.models.kernels.choice import choose
from skipstack.models.kernels.layers import layer_both_ways
from skipstack.models.kernels.reading import ReadingOrder
from skipstack.models.layers.cell import Cell
from skipstack.models.layers.lanes import Dropout
from skipstack.models.layers.layer import Layer, Unrolled
from skipstack.models.parts.cells.gru import GruCell
from skipstack.models.parts.cells.lstm import LstmCell
from skipstack.models.parts.cells.minimal import MinGruCell, MinLstmCell

BOTH_WAYS: Final[Mapping[type[nn.Module], CellKind]] = {
    LstmCell: "lstm",
    GruCell: "gru",
    MinGruCell: "min_gru",
    MinLstmCell: "min_lstm",
}
"""The cells for which a stack of one layer in both directions can run as a single compiled function."""


@dataclass(frozen=True, slots=True, eq=False)
class Passed:
    """The inputs and outputs of a layer in one forward pass, before a residual connection and dropout change the
    outputs.

    ``below_GTBI``: the input from below, normalised if the stack normalises. ``skipped_GTBH``: the shortcut's input, an
    earlier layer's output or the stack's input; None without a shortcut. ``unrolled``: the layer's results.
    """

    layer: Layer
    below_GTBI: Tensor
    skipped_GTBH: Tensor | None
    unrolled: Unrolled


@dataclass(slots=True, eq=False)
class Memory:
    """The layers' final states after a batch of running text, without gradients. The next batch starts from them.

    ``states``: the state of each layer, bottom up; an empty list before the first batch.
    """

    states: list[Tensor | None] = field(default_factory=list)


class Stack(nn.Module):
    """A stack of layers in one direction or in both. A stack without layers returns its input.

    ``cells``: the layers, bottom up. ``sources``: the source of each layer's shortcut. It is the number of a layer
    (counted from 1), ``input`` for the stack's input, or 0 for no shortcut. ``below``: the number of input features.

    ``join_each``: whether every layer from the second on reads [forward; backward] of the layer below. If not, each
    direction is a stack of its own, and the directions are joined once at the top (wu2017 eq. 18). In both cases, a
    shortcut stays within one direction, since the skip must have the layer's width and reading order.

    ``normalisations``: for each layer, the module that normalises its input from below; empty for no normalisation.
    ``residual``: whether every layer from the second on adds the output of the layer below, of its own direction, to
    its own output (He et al., 2016). All later layers and the head read the sum as the layer's output. So with x for
    the output of the layer below, a layer outputs x + f(norm(x)), where f is its cell, as in Transformers that
    normalise first.

    Dropout is applied to the outputs of the first and of the last layer, for all layers that read them. The recurrent
    connections inside a layer have no dropout.
    """

    def __init__(
        self,
        cells: Sequence[Layer],
        sources: Sequence[Source],
        directions: int,
        dropout: Dropout,
        *,
        below: int,
        join_each: bool,
        normalisations: Sequence[nn.Module] = (),
        residual: bool = False,
    ) -> None:
        super().__init__()
        self.cells = tuple(cells)
        self.layers = nn.ModuleList(cells)
        self.normalisations = nn.ModuleList(normalisations)
        self.residual = residual
        self.sources = tuple(sources)
        self.directions = directions if cells else 1  # without layers nothing is split by direction
        self.dropout = dropout
        self.join_each = join_each
        self.below = below
        self.features = directions * cells[-1].features if cells else below

    def forward(
        self,
        x_RTBI: Tensor,
        lengths_RB: Tensor,
        passed: list[Passed] | None = None,
        memory: Memory | None = None,
    ) -> Tensor:
        """Run all layers, and return the top layer's [forward; backward] outputs in the text's order, shape RTB(D * F).

        ``passed``: a list to which the inputs and outputs of each layer are appended, bottom up. ``memory``: holds the
        states from which the layers start, and afterwards their final states. With ``memory``, each text of a batch
        must continue the text at the same index of the previous batch.
        """
        if not self.cells:
            return x_RTBI
        order = ReadingOrder(lengths_RB, x_RTBI.shape[1]) if self.directions == 2 else None
        whole = passed is None and memory is None and not self.normalisations
        if order is not None and whole and len(self.cells) == 1:
            (cell,) = self.cells
            # Subclasses are excluded: a user's subclass may compute something else.
            if isinstance(cell, Cell) and type(cell) in BOTH_WAYS and choose("both_ways", x_RTBI) == "compiled":
                output_GTBH = x_RTBI.new_empty(2 * len(x_RTBI), *x_RTBI.shape[1:3], cell.features)
                kept_GTBH = self.dropout.factors(output_GTBH)
                return layer_both_ways(BOTH_WAYS[type(cell)], x_RTBI, lengths_RB, cell.all_weights(), kept_GTBH)
        below_GTBI = x_RTBI if order is None else order.apart(x_RTBI)
        input_GTBI = below_GTBI if "input" in self.sources else None  # kept alive only if a shortcut reads it
        outputs_GTBF: list[Tensor] = []
        starts = memory.states if memory is not None and memory.states else [None] * len(self.cells)
        lasts = []
        for number, cell, source in zip(count(1), self.cells, self.sources, strict=False):
            match source:
                case 0:
                    skipped_GTBH = None
                case "input":
                    skipped_GTBH = input_GTBI
                case _:
                    skipped_GTBH = outputs_GTBF[source - 1]
            if self.normalisations:
                below_GTBI = self.normalisations[number - 1](below_GTBI)
            unrolled = cell.run(below_GTBI, skipped_GTBH, starts[number - 1])
            lasts.append(unrolled.last)
            output_GTBF = unrolled.output_GTBF
            if self.residual and outputs_GTBF:
                output_GTBF = output_GTBF + outputs_GTBF[-1]
            if passed is not None:
                passed.append(Passed(cell, below_GTBI, skipped_GTBH, unrolled))
            if number == len(self.cells):
                break
            if number == 1:
                output_GTBF = self.dropout(output_GTBF)
            outputs_GTBF.append(output_GTBF)
            below_GTBI = order.joined(output_GTBF) if order is not None and self.join_each else output_GTBF
        if memory is not None:
            memory.states = lasts
        if order is not None:
            return order.together(output_GTBF, self.dropout.factors(output_GTBF))
        dropped_GTBF: Tensor = self.dropout(output_GTBF)
        return dropped_GTBF
