"""Inspects a trained network: how open its gates are, which earlier states its policies choose, and how far back in
time the gradient of the loss reaches.

The network has one lane (one seed's copy), so arrays have the axis D (directions) in place of G. Axes: T time steps,
B sentences, J last outputs that a step may read, F features, H hidden units, X pre-activations.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from skipstack.data.basis.errors import UserError
from skipstack.models.kernels.choice import watched
from skipstack.models.layers.cell import Cell
from skipstack.models.layers.layer import Layer, Unrolled
from skipstack.models.networks.ensemble import Ensemble
from skipstack.models.networks.model import Network, Stacked, Tokens
from skipstack.models.networks.stack import Passed
from skipstack.models.parts.inputs.base import LexiconTensors
from skipstack.models.parts.skips.layers import SkipLayer


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class LayerInsight:
    """Values of one direction of a layer, at each time step of each sentence of a batch.

    Time steps are in the direction's reading order. Values at padding are arbitrary. ``layer``: the layer's number,
    counted from 1 at the bottom. ``direction``: "forward" or "backward". ``gates``: each gate's mean over its units,
    gate_TB, by name. ``back_TB``: the distance of the state that the policy chose, in steps, 1 for the previous state;
    None without a policy. ``norm_TB``: the Euclidean norm of dL/dh_t; None for layers without a cell (``cell_of``). L
    is the loss of the network's own decision (in gui2019 Figure 4, of the gold tag) on the token that the direction
    reads last, or on the whole text if it has one tag.
    """

    layer: int
    direction: str
    gates: Mapping[str, Tensor]
    back_TB: Tensor | None
    norm_TB: Tensor | None


@dataclass(frozen=True, kw_only=True, slots=True)
class LayerView:
    """The values of a ``LayerInsight`` for one sentence, as Python numbers.

    ``gates`` and ``back`` are in the order of the text, ``norms`` in the direction's reading order.
    """

    layer: int
    direction: str
    gates: Mapping[str, tuple[float, ...]]
    back: tuple[int, ...] | None
    norms: tuple[float, ...] | None

    @property
    def name(self) -> str:
        """The name of the layer and its direction, such as ``layer 2 backward``."""
        return f"layer {self.layer} {self.direction}"


def views(model: Network, tokens: Tokens, lexicon: LexiconTensors) -> list[tuple[LayerView, ...]]:
    """Inspect a network of one lane: return the views of all layers and directions, for each sentence of ``tokens``.
    Raises UserError for an ensemble and for a network with label feedback.
    """
    if isinstance(model, Ensemble):
        raise UserError("an ensemble has several networks, side by side (allowed: a bundle of one)")
    if not isinstance(model, Stacked):
        raise UserError("a network of label feedback has no gates to look at (allowed: recurrent layers)")
    found = insights(model, tokens, lexicon)
    lengths_B = tokens.lengths_RB[0].tolist()
    return [tuple(_view(each, place, length) for each in found) for place, length in enumerate(lengths_B)]


def _view(seen: LayerInsight, place: int, length: int) -> LayerView:
    def in_text(values_TB: Tensor) -> Tensor:
        own_T = values_TB[:length, place]
        return own_T.flip(0) if seen.direction == "backward" else own_T

    return LayerView(
        layer=seen.layer,
        direction=seen.direction,
        gates={name: tuple(in_text(gate_TB).tolist()) for name, gate_TB in seen.gates.items()},
        back=None if seen.back_TB is None else tuple(in_text(seen.back_TB).tolist()),
        norms=None if seen.norm_TB is None else tuple(seen.norm_TB[:length, place].tolist()),
    )


def insights(model: Stacked, tokens: Tokens, lexicon: LexiconTensors) -> list[LayerInsight]:
    """Inspect a network of one lane on a batch. Return the insights bottom up, forward before backward."""
    passed: list[Passed] = []
    with torch.enable_grad(), watched():
        features_RUBF, counts_RB = model.read(tokens, lexicon, passed)
        norms = _norms(model, features_RUBF, counts_RB, passed)
    found = []
    for number, (each, norm_DTB) in enumerate(zip(passed, norms, strict=True), start=1):
        gates, choices = openings(each), each.unrolled.choices
        for place, direction in enumerate(("forward", "backward")[: model.stack.directions]):
            found.append(
                LayerInsight(
                    layer=number,
                    direction=direction,
                    gates={name: gate_DTBH[place].mean(dim=-1) for name, gate_DTBH in gates.items()},
                    back_TB=None if choices is None else choices.back_GTB[place] + 1,
                    norm_TB=None if norm_DTB is None else norm_DTB[place],
                )
            )
    return found


@torch.no_grad()
def openings(passed: Passed) -> Mapping[str, Tensor]:
    """Return the gates of a layer's cell and of its shortcut by name, gate_DTBH. A layer without a cell has no gates.

    Layers do not keep the gates of a forward pass. So gates are recomputed from the layer's inputs and from the earlier
    outputs that each step read.
    """
    cell, pre_DTBX = cell_of(passed.layer), passed.unrolled.pre_GTBX
    if cell is None or pre_DTBX is None:
        return {}
    if cell.multiplies_previous:
        before_DTBF = before(passed.unrolled.output_GTBF, _read(passed))
        pre_DTBX = pre_DTBX + torch.bmm(before_DTBF.flatten(1, 2), cell.recurrent_weight()).view_as(pre_DTBX)
    return cell.openings(pre_DTBX, passed.below_GTBI, passed.skipped_GTBH)


def cell_of(layer: Layer) -> Cell | None:
    """Return the cell of a layer, which has the gates' weights; None for a layer without a cell (``feedforward``)."""
    cell = layer.cell if isinstance(layer, SkipLayer) else layer
    return cell if isinstance(cell, Cell) else None


def _read(passed: Passed) -> Tensor | None:
    """Return each step's weights of the J last outputs, read_DTBJ; None if steps read only the previous output."""
    return None if passed.unrolled.read is None else passed.unrolled.read()


def before(output_DTBF: Tensor, read_DTBJ: Tensor | None) -> Tensor:
    """Return the earlier output that each step read, before_DTBF: a mixture of the J last outputs with the weights
    ``read_DTBJ``. If ``read_DTBJ`` is None, this is the previous output.
    """
    reach = 1 if read_DTBJ is None else read_DTBJ.shape[-1]
    steps = output_DTBF.shape[1]
    padded_DSBF = functional.pad(output_DTBF, (0, 0, 0, 0, reach, 0))
    earlier = [padded_DSBF[:, reach - back : reach - back + steps] for back in range(1, reach + 1)]
    if read_DTBJ is None:
        return earlier[0]
    return torch.stack([part * read_DTBJ[..., k, None] for k, part in enumerate(earlier)]).sum(dim=0)


def _norms(model: Stacked, features_RUBF: Tensor, counts_RB: Tensor, passed: Sequence[Passed]) -> list[Tensor | None]:
    """Return |dL/dh_t| at each time step of each layer, norm_DTB; None for a layer without a cell.

    ``passed``: the inputs and outputs of the layers in the forward pass. If a layer kept its states, autograd returns
    the gradient of h_t. Otherwise the gradient is a sum over the readers of h_t. Other layers contribute the gradient
    of the output. Each later step of the layer contributes U pre', times the step's weight of h_t. U is the recurrent
    weight, pre' the gradient of the later step's pre-activations. The dependence of attention on h_t is ignored.
    """
    wanted = [_differentiated(each.unrolled) for each in passed]
    given = [tensor for group in wanted for tensor in group]
    by_direction = []
    for direction in range(model.stack.directions):
        loss = _last_loss(model, features_RUBF, counts_RB, backward=direction == 1)
        found = iter(torch.autograd.grad(loss, given, retain_graph=True, materialize_grads=True))
        by_direction.append([[next(found)[direction] for _ in group] for group in wanted])
    norms: list[Tensor | None] = []
    for number, each in enumerate(passed):
        cell = cell_of(each.layer)
        if cell is None:
            norms.append(None)
            continue
        per_direction, read_DTBJ = [], _read(each)
        for direction, gradients in enumerate(by_direction):
            if each.unrolled.states is not None:
                total_TBF = torch.stack(gradients[number])
            else:
                output_TBF, pre_TBX = gradients[number]
                read_TBJ = None if read_DTBJ is None else read_DTBJ[direction]
                total_TBF = _with_later(output_TBF, pre_TBX @ cell.recurrent_weight()[direction].T, read_TBJ)
            per_direction.append(total_TBF.norm(dim=-1).detach())
        norms.append(torch.stack(per_direction))
    return norms


def _differentiated(unrolled: Unrolled) -> Sequence[Tensor]:
    """Return the tensors by which the loss is differentiated: a layer's states if the layer kept them, otherwise its
    output and pre-activations.
    """
    if unrolled.states is not None:
        return unrolled.states
    return [each for each in (unrolled.output_GTBF, unrolled.pre_GTBX) if each is not None]


def _with_later(output_TBF: Tensor, later_TBF: Tensor, read_TBJ: Tensor | None) -> Tensor:
    """Return the gradient of each output, including the contributions of later steps that read the output.

    ``output_TBF``: the gradient of the outputs through other layers. ``later_TBF``: the gradient of the mixture of
    outputs that each step read. ``read_TBJ``: each step's weights of the J last outputs; None means only the previous
    output.
    """
    total_TBF, steps = output_TBF.clone(), len(output_TBF)
    reach = 1 if read_TBJ is None else read_TBJ.shape[-1]
    for back in range(1, min(reach, steps - 1) + 1):
        share = 1.0 if read_TBJ is None else read_TBJ[back:, :, back - 1, None]
        total_TBF[: steps - back] += share * later_TBF[back:]
    return total_TBF


def _last_loss(model: Stacked, features_RUBF: Tensor, counts_RB: Tensor, *, backward: bool) -> Tensor:
    """Return the loss of the decision on the token that a direction reads last (the first of the sentence if
    ``backward``), summed over sentences.
    """
    place_RB = torch.zeros_like(counts_RB) if backward else counts_RB - 1
    return model.head.decision_loss(features_RUBF, counts_RB, place_RB).sum()
