"""Inspects a trained network: how open its gates are, how its layers weight earlier steps, and how far back the
gradient of the loss reaches.

One lane: D in place of G.
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
    """Values of one direction of a layer, in the direction's own order; at padding they are arbitrary.

    ``gates``: the mean over the units of each gate at each step, by its name, gates_TB in (0, 1). ``back_TB``: how many
    steps back the policy's chosen state lies, 1 the previous one; None without a policy. ``norm_TB``: the Euclidean
    norm of dL/dh_t, where L is the loss of the direction's last decision (gui2019 Figure 4; the network's own decision
    replaces the truth). None for layers that read no other step.
    """

    layer: int
    direction: str
    gates: Mapping[str, Tensor]
    back_TB: Tensor | None
    norm_TB: Tensor | None


@dataclass(frozen=True, kw_only=True, slots=True)
class LayerView:
    """The ``LayerInsight`` of one sentence, in plain numbers.

    ``gates`` and ``back`` are in the order of the text; ``norms`` in the direction's own order of reading.
    """

    layer: int
    direction: str
    gates: Mapping[str, tuple[float, ...]]
    back: tuple[int, ...] | None
    norms: tuple[float, ...] | None

    @property
    def name(self) -> str:
        """``layer 2 backward``."""
        return f"layer {self.layer} {self.direction}"


def views(model: Network, tokens: Tokens, lexicon: LexiconTensors) -> list[tuple[LayerView, ...]]:
    """The layers of a network of one lane on each sentence.

    Raises UserError for an ensemble, and for a network without recurrent layers.
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
    """The insight of every layer of a one-lane network on these sentences, bottom up, forward before backward."""
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
    """The gates of a layer by name, gate_DTBH: those of its cell, then those of its shortcut.

    A gate is a function of the input from below and of the outputs that the recurrent weights were multiplied by, so it
    is recomputed from these.
    """
    cell, pre_DTBX = cell_of(passed.layer), passed.unrolled.pre_GTBX
    if cell is None or pre_DTBX is None:
        return {}
    if cell.multiplies_previous:
        before_DTBF = before(passed.unrolled.output_GTBF, _read(passed))
        pre_DTBX = pre_DTBX + torch.bmm(before_DTBF.flatten(1, 2), cell.recurrent_weight()).view_as(pre_DTBX)
    return cell.openings(pre_DTBX, passed.below_GTBI, passed.skipped_GTBH)


def cell_of(layer: Layer) -> Cell | None:
    """The cell of a layer, which holds the gates' weights; None for a layer that reads no other step."""
    cell = layer.cell if isinstance(layer, SkipLayer) else layer
    return cell if isinstance(cell, Cell) else None


def _read(passed: Passed) -> Tensor | None:
    """The weight of each of the J last outputs in a step's input, read_DTBJ; None where it read only the previous
    one.
    """
    return None if passed.unrolled.read is None else passed.unrolled.read()


def before(output_DTBF: Tensor, read_DTBJ: Tensor | None) -> Tensor:
    """The earlier output that each step read: the previous one, or the mixture of the J last ones, before_DTBF."""
    reach = 1 if read_DTBJ is None else read_DTBJ.shape[-1]
    steps = output_DTBF.shape[1]
    padded_DSBF = functional.pad(output_DTBF, (0, 0, 0, 0, reach, 0))
    earlier = [padded_DSBF[:, reach - back : reach - back + steps] for back in range(1, reach + 1)]
    if read_DTBJ is None:
        return earlier[0]
    return torch.stack([part * read_DTBJ[..., k, None] for k, part in enumerate(earlier)]).sum(dim=0)


def _norms(model: Stacked, features_RUBF: Tensor, counts_RB: Tensor, passed: Sequence[Passed]) -> list[Tensor | None]:
    """|dL/dh_t| of each layer, norm_DTB.

    Where every h_t is seen, this is its gradient. Elsewhere h_t is read by the layers above and, through U alone, by
    later steps of its own layer: its gradient is that of the output as others read it, plus U pre' for each step that
    read it, weighted as in that step. The dependence of an attention's weights on h_t is ignored.
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
    """The tensors of a layer by which a loss is differentiated: its states, or its output and pre-activations."""
    if unrolled.states is not None:
        return unrolled.states
    return [each for each in (unrolled.output_GTBF, unrolled.pre_GTBX) if each is not None]


def _with_later(output_TBF: Tensor, later_TBF: Tensor, read_TBJ: Tensor | None) -> Tensor:
    """The gradient of each output, plus the contributions of the steps that read it."""
    total_TBF, steps = output_TBF.clone(), len(output_TBF)
    reach = 1 if read_TBJ is None else read_TBJ.shape[-1]
    for back in range(1, min(reach, steps - 1) + 1):
        share = 1.0 if read_TBJ is None else read_TBJ[back:, :, back - 1, None]
        total_TBF[: steps - back] += share * later_TBF[back:]
    return total_TBF


def _last_loss(model: Stacked, features_RUBF: Tensor, counts_RB: Tensor, *, backward: bool) -> Tensor:
    """The loss of the decision on the token that a direction reads last, summed over the sentences."""
    place_RB = torch.zeros_like(counts_RB) if backward else counts_RB - 1
    return model.head.decision_loss(features_RUBF, counts_RB, place_RB).sum()
