"""The base class of recurrent cells. It can run every cell by a plain loop over time.

Axes: G groups = lanes * directions (a lane is one seed's copy of the network), T time steps, B sentences, I inputs from
the layer below, H hidden units, X pre-activations, F outputs of the layer, Y entries of a state [h; c].
"""

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
    """The state passed to the next step: the output ``h``, and the cell's internal state ``c``, if it has one."""

    h_GBF: Tensor
    c_GBH: Tensor | None = None


class Cell(Layer):
    """A layer whose steps each read the state of the previous step.

    ``project`` computes everything that needs no earlier time step, for all steps at once. ``run`` then calls ``step``
    once for each time step. The faster functions in ``models/kernels/layers.py`` compute the same as this loop.
    """

    gate_names: ClassVar[tuple[str, ...]] = ()
    """The names of the sigmoid gates. The pre-activations begin with the gates' parts, each ``hidden`` wide."""

    multiplies_previous: ClassVar[bool] = True
    """Whether the pre-activations contain U h_{t-1}. If False, only ``step`` reads the previous state."""

    def __init__(self, sizes: LayerSizes, gates: int) -> None:
        """Creates the weights W, U and b of ``gates`` pre-activations, each ``hidden`` wide. W multiplies the layer
        below, and U multiplies h_{t-1}. There is no U unless ``multiplies_previous``.
        """
        super().__init__()
        self.hidden = self.features = sizes.hidden
        width = gates * sizes.hidden
        self.below = parameter(*sizes.groups, sizes.below, width, role=WEIGHT)
        if self.multiplies_previous:
            self.recurrent = parameter(*sizes.groups, sizes.hidden, width, role=RECURRENT)
        self.bias = parameter(*sizes.groups, width, role=BIAS)

    def project(self, below_GTBI: Tensor, skipped_GTBH: Tensor | None) -> tuple[Tensor, ...]:
        """Computes everything that needs no earlier time step, as tensors whose first axes are G, T, B.

        The first tensor holds the pre-activations, W below + b. ``step`` receives the other tensors. Only a cell that
        overrides ``run`` or this method can read ``skipped_GTBH``, the output of an earlier layer.
        """
        assert skipped_GTBH is None, "this layer has no source"
        return (self.affine(below_GTBI),)

    @abstractmethod
    def step(self, pre_GBX: Tensor, known_GBX: Sequence[Tensor], state: HiddenState) -> HiddenState:
        """Computes one time step, and returns the new state, whose ``h_GBF`` is the layer's output.

        ``pre_GBX``: the step's pre-activations, U h_{t-1} included. ``known_GBX``: the step's part of the other tensors
        that ``project`` returned. ``state``: the previous state.
        """

    def start(self, like_GBX: Tensor) -> HiddenState:
        """Returns the state before the first step: h_0 = 0, unless a cell overrides this."""
        return HiddenState(self.zeros(like_GBX))

    def run(self, below_GTBI: Tensor, skipped_GTBH: Tensor | None = None, start: Tensor | None = None) -> Unrolled:
        """Runs the layer step by step. The result's ``last`` state is [h; c], or h if the cell has no c."""
        return self.loop(self.project(below_GTBI, skipped_GTBH), start)

    def loop(self, projected: tuple[Tensor, ...], start: Tensor | None) -> Unrolled:
        """Runs all steps on the output of ``project``, from the state ``start`` = [h; c]; None means the state that the
        method ``start`` returns. During an export the result may lack ``last`` and ``states``.
        """
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
        """Returns a function from (step, h_{t-1}) to full pre-activations, to be called once per step, in order."""
        if self.multiplies_previous:
            return Recurrence(self.recurrent_weight(), pre_GTBX).pre
        each_GBX = pre_GTBX.unbind(1)
        return lambda step, _: each_GBX[step]

    def scanned(self, pre_GTBX: Tensor, known_GTBX: Sequence[Tensor]) -> Tensor:
        """Runs the steps as one operation, so that an exported program accepts any number of steps: output_GTBF."""
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
        """Computes the values of each gate, gate_GTBH, by gate name. ``pre_GTBX``: pre-activations with U h_{t-1}."""
        return dict(zip(self.gate_names, self.sigmoids(pre_GTBX), strict=False))

    def sigmoids(self, pre_GTBX: Tensor) -> tuple[Tensor, ...]:
        """Computes the sigmoid of all pre-activations, split into parts of width ``hidden``, the gates first."""
        return torch.split(sigmoid(pre_GTBX), self.hidden, dim=-1)

    def affine(self, below_GTBI: Tensor) -> Tensor:
        """Computes W below + b, the pre-activations without U h_{t-1}, for all time steps: pre_GTBX."""
        return project(below_GTBI, self.below, self.bias)

    def weights(self) -> Weights:
        """Returns the parameters that ``affine`` and ``recurrent_weight`` read: W, b and U."""
        return Weights(self.below, self.bias, self.recurrent)

    def all_weights(self) -> tuple[Tensor, ...]:
        """Returns all parameters of the layer in the order in which compiled layers read them, W first."""
        return tuple(self.weights())

    def recurrent_weight(self) -> Tensor:
        """Returns U with one axis for lanes and directions: weight_GFX."""
        return self.recurrent.flatten(0, 1)

    def zeros(self, like_GBX: Tensor) -> Tensor:
        """Returns a state of zeros, ``hidden`` wide, for the groups and sentences of ``like_GBX``."""
        return like_GBX.new_zeros(*like_GBX.shape[:2], self.hidden)
