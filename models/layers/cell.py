"""The base class of recurrent cells, which runs any of them by a plain loop over time."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from skipstack.models.ground.parameters import BIAS, RECURRENT, WEIGHT, parameter
from skipstack.models.ground.scanning import exporting, scan
from skipstack.models.kernels.layers import Weights, project
from skipstack.models.kernels.sigmoid import sigmoid
from skipstack.models.layers.layer import Layer, LayerSizes, Unrolled
from skipstack.models.layers.recurrence import Recurrence


@dataclass(frozen=True, slots=True)
class HiddenState:
    """The state that a cell passes to the next time step: its output, and its internal state if it has one."""

    h_GBF: Tensor
    c_GBH: Tensor | None = None


class Cell(Layer):
    """A layer whose steps read the previous one, in two parts: the computation that needs no earlier time step, and the
    rest.

    ``project`` is called once for all time steps, so that all inputs pass one matrix product; ``run`` calls ``step``
    for each. That defines what the layers of ``models/kernels/layers.py`` compute as one operation.
    """

    gate_names: ClassVar[tuple[str, ...]] = ()
    """The names of its sigmoid gates, whose pre-activations come first, each ``hidden`` wide."""

    multiplies_previous: ClassVar[bool] = True
    """Whether its pre-activations have a product U h_{t-1}. Without one, a step reads the previous state by itself."""

    def __init__(self, sizes: LayerSizes, gates: int) -> None:
        """Creates the weights of ``gates`` pre-activations of width ``hidden`` from ``below`` and from h_{t-1}."""
        super().__init__()
        self.hidden = self.features = sizes.hidden
        width = gates * sizes.hidden
        self.below = parameter(*sizes.groups, sizes.below, width, role=WEIGHT)
        if self.multiplies_previous:
            self.recurrent = parameter(*sizes.groups, sizes.hidden, width, role=RECURRENT)
        self.bias = parameter(*sizes.groups, width, role=BIAS)

    def project(self, below_GTBI: Tensor, skipped_GTBH: Tensor | None) -> tuple[Tensor, ...]:
        """Everything that can be computed before the loop, each with axes G, T, B first; the first are the
        pre-activations, W below + b. A cell that takes a skip overrides this.
        """
        assert skipped_GTBH is None, "this layer has no source"
        return (self.affine(below_GTBI),)

    @abstractmethod
    def step(self, pre_GBX: Tensor, known_GBX: Sequence[Tensor], state: HiddenState) -> HiddenState:
        """Computes a time step from its pre-activations, U h_{t-1} included, and the rest of what ``project`` computed
        for it.

        ``state`` is the previous state; the new one's ``h_GBF`` is the layer's output.
        """

    def start(self, like_GBX: Tensor) -> HiddenState:
        """The state before the first step: h_0 = 0, unless a cell says otherwise."""
        return HiddenState(self.zeros(like_GBX))

    def run(self, below_GTBI: Tensor, skipped_GTBH: Tensor | None = None, start: Tensor | None = None) -> Unrolled:
        """Runs the layer step by step; the last state is [h; c]."""
        return self.loop(self.project(below_GTBI, skipped_GTBH), start)

    def loop(self, projected: tuple[Tensor, ...], start: Tensor | None) -> Unrolled:
        """Runs all steps from the output of ``project``."""
        pre_GTBX, *known_GTBX = projected
        if exporting() and start is None and scan is not None:
            return Unrolled(self.scanned(pre_GTBX, known_GTBX), pre_GTBX)
        pre = self.pre_activations(pre_GTBX)
        known = [part.unbind(1) for part in known_GTBX]
        state = self.start(pre_GTBX[:, 0])
        if start is not None:
            h_GBF, c_GBH = start.tensor_split([self.features], dim=-1)
            state = HiddenState(h_GBF, None if state.c_GBH is None else c_GBH)
        outputs = []
        for step in range(pre_GTBX.shape[1]):
            state = self.step(pre(step, state.h_GBF), [part[step] for part in known], state)
            outputs.append(state.h_GBF)
        last = [state.h_GBF] if state.c_GBH is None else [state.h_GBF, state.c_GBH]
        output_GTBF, last_GBY = torch.stack(outputs, dim=1), torch.cat(last, dim=-1).detach()
        return Unrolled(output_GTBF, pre_GTBX, last=last_GBY, states=tuple(outputs))

    def pre_activations(self, pre_GTBX: Tensor) -> Callable[[int, Tensor], Tensor]:
        """A function from a step and h_{t-1} to the step's pre-activations; call it once for each step, in order."""
        if self.multiplies_previous:
            return Recurrence(self.recurrent_weight(), pre_GTBX).pre
        each_GBX = pre_GTBX.unbind(1)
        return lambda step, _: each_GBX[step]

    def scanned(self, pre_GTBX: Tensor, known_GTBX: Sequence[Tensor]) -> Tensor:
        """Runs the steps of ``loop`` as one operation, for any number of them, in exported programs: output_GTBF."""
        weight_GFX = self.recurrent_weight() if self.multiplies_previous else None

        def step(carried: tuple[Tensor, ...], read: tuple[Tensor, ...]) -> tuple[tuple[Tensor, ...], Tensor]:
            pre_GBX, *known_GBX = read
            if weight_GFX is not None:
                pre_GBX = torch.baddbmm(pre_GBX, carried[0], weight_GFX)
            state = self.step(pre_GBX, known_GBX, HiddenState(*carried))
            after = (state.h_GBF,) if state.c_GBH is None else (state.h_GBF, state.c_GBH)
            return after, state.h_GBF.clone()

        first = self.start(pre_GTBX[:, 0])
        carried = (first.h_GBF,) if first.c_GBH is None else (first.h_GBF, first.c_GBH)
        steps = tuple(part.transpose(0, 1) for part in (pre_GTBX, *known_GTBX))
        assert scan is not None
        output_TGBF: Tensor = scan(step, carried, steps)[1]
        return output_TGBF.transpose(0, 1)

    def openings(self, pre_GTBX: Tensor, below_GTBI: Tensor, skipped_GTBH: Tensor | None) -> Mapping[str, Tensor]:
        """The gates by name, gate_GTBH, from complete pre-activations, U h_{t-1} included."""
        return dict(zip(self.gate_names, self.sigmoids(pre_GTBX), strict=False))

    def sigmoids(self, pre_GTBX: Tensor) -> tuple[Tensor, ...]:
        """The sigmoid of each pre-activation, gates first, each ``hidden`` wide."""
        return torch.split(sigmoid(pre_GTBX), self.hidden, dim=-1)

    def affine(self, below_GTBI: Tensor) -> Tensor:
        """W below + b for all time steps: pre_GTBX."""
        return project(below_GTBI, self.below, self.bias)

    def weights(self) -> Weights:
        """The parameters behind ``affine`` and ``recurrent_weight``."""
        return Weights(self.below, self.bias, self.recurrent)

    def all_weights(self) -> tuple[Tensor, ...]:
        """The parameters in the order in which compiled layers read them, W first."""
        return tuple(self.weights())

    def recurrent_weight(self) -> Tensor:
        """U, by which h_{t-1} is multiplied: weight_GFX."""
        return self.recurrent.flatten(0, 1)

    def zeros(self, like_GBX: Tensor) -> Tensor:
        """A state of zeros for the groups and sentences of ``like_GBX``."""
        return like_GBX.new_zeros(*like_GBX.shape[:2], self.hidden)
