"""The base class of recurrent cells, which can run every cell by a plain loop over time.

Axes: G groups (a group is one lane, that is one seed's copy of the network, in one reading direction), T time steps,
B sentences, I inputs from the layer below, H hidden units, X pre-activations, F outputs of the layer, Y numbers of a
state [h; c].
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
    """The state that a cell passes to the next time step: its output ``h``, and its internal state ``c``, which is None
    in a cell without one.
    """

    h_GBF: Tensor
    c_GBH: Tensor | None = None


class Cell(Layer):
    """A layer whose steps each read the state of the previous step. Its computation has two parts.

    ``project`` computes everything that needs no earlier time step. It is called once for all time steps, so that all
    inputs pass one matrix product. ``run`` then calls ``step``, which computes the rest, once for each time step. This
    loop defines the results of the functions in ``models/kernels/layers.py``, which run a layer as one operation.
    """

    gate_names: ClassVar[tuple[str, ...]] = ()
    """The names of the cell's sigmoid gates. The pre-activations begin with those of the gates, in this order, each
    ``hidden`` wide.
    """

    multiplies_previous: ClassVar[bool] = True
    """Whether the pre-activations contain a matrix product of the previous state, U h_{t-1}. If False, only ``step``
    reads the previous state.
    """

    def __init__(self, sizes: LayerSizes, gates: int) -> None:
        """Creates the weights W, U and b of ``gates`` pre-activations, each ``hidden`` wide. W multiplies the layer
        below. U multiplies h_{t-1}, and exists only if ``multiplies_previous``.
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

        The first tensor holds the pre-activations, W below + b; the others, if any, are passed on to ``step``. A cell
        that reads ``skipped_GTBH``, the output of an earlier layer, overrides this method.
        """
        assert skipped_GTBH is None, "this layer has no source"
        return (self.affine(below_GTBI),)

    @abstractmethod
    def step(self, pre_GBX: Tensor, known_GBX: Sequence[Tensor], state: HiddenState) -> HiddenState:
        """Computes one time step, and returns the new state, whose ``h_GBF`` is the layer's output.

        ``pre_GBX``: the step's pre-activations, U h_{t-1} included. ``known_GBX``: the other tensors that ``project``
        computed, at this step. ``state``: the previous state.
        """

    def start(self, like_GBX: Tensor) -> HiddenState:
        """Returns the state before the first step: h_0 = 0, unless a cell overrides this."""
        return HiddenState(self.zeros(like_GBX))

    def run(self, below_GTBI: Tensor, skipped_GTBH: Tensor | None = None, start: Tensor | None = None) -> Unrolled:
        """Runs the layer step by step. The final state ``last`` of the result is [h; c], or h if the cell has no c."""
        return self.loop(self.project(below_GTBI, skipped_GTBH), start)

    def loop(self, projected: tuple[Tensor, ...], start: Tensor | None) -> Unrolled:
        """Runs all steps on ``projected``, the output of ``project``. ``start`` is the state [h; c] before the first
        step; None means the state that the method ``start`` returns.

        In an export the result may lack ``last`` and ``states``.
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
        """Returns a function that computes a step's complete pre-activations from the step's index and h_{t-1}. Call
        that function once for each step, in order.
        """
        if self.multiplies_previous:
            return Recurrence(self.recurrent_weight(), pre_GTBX).pre
        each_GBX = pre_GTBX.unbind(1)
        return lambda step, _: each_GBX[step]

    def scanned(self, pre_GTBX: Tensor, known_GTBX: Sequence[Tensor]) -> Tensor:
        """Runs the steps of ``loop`` as one operation, so that an exported program accepts any number of steps. Returns
        the outputs of all steps: output_GTBF.
        """
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
        """Computes the values of each gate, gate_GTBH, by the gate's name. ``pre_GTBX`` are complete pre-activations,
        U h_{t-1} included.
        """
        return dict(zip(self.gate_names, self.sigmoids(pre_GTBX), strict=False))

    def sigmoids(self, pre_GTBX: Tensor) -> tuple[Tensor, ...]:
        """Computes the sigmoid of all pre-activations, split into parts of width ``hidden``: the gates' parts come
        first.
        """
        return torch.split(sigmoid(pre_GTBX), self.hidden, dim=-1)

    def affine(self, below_GTBI: Tensor) -> Tensor:
        """Computes W below + b for all time steps: the pre-activations without U h_{t-1}, pre_GTBX."""
        return project(below_GTBI, self.below, self.bias)

    def weights(self) -> Weights:
        """Returns the parameters that ``affine`` and ``recurrent_weight`` read: W, b and U."""
        return Weights(self.below, self.bias, self.recurrent)

    def all_weights(self) -> tuple[Tensor, ...]:
        """Returns all parameters of the layer in the order in which compiled layers read them, W first."""
        return tuple(self.weights())

    def recurrent_weight(self) -> Tensor:
        """Returns U, the matrix that multiplies h_{t-1}, with one axis for lanes and directions: weight_GFX."""
        return self.recurrent.flatten(0, 1)

    def zeros(self, like_GBX: Tensor) -> Tensor:
        """Returns a state of zeros, ``hidden`` wide, for the groups and sentences of ``like_GBX``."""
        return like_GBX.new_zeros(*like_GBX.shape[:2], self.hidden)
