"""What is seen inside a network against plain loops that keep every state."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from skipstack.models.kernels.choice import watched
from skipstack.models.layers.cell import Cell
from skipstack.models.layers.lanes import Lane
from skipstack.models.networks.model import Tokens
from skipstack.models.networks.stack import Passed
from skipstack.models.parts.cells.gates import VectorGate
from skipstack.models.parts.cells.shortcut import ShortcutCell
from skipstack.models.parts.skips.layers import SkipLayer
from skipstack.models.views.insight import LayerInsight, insights, openings
from tests.models.parts.skips.test_skips import LEXICON, NETWORK, tagger

STEPS = 6
SKIPS: dict[str, Any] = {
    "none": None,
    "fixed": {"kind": "fixed", "reach": 2},
    "dynamic": {"kind": "dynamic", "reach": 3, "share": 0.6, "policy_hidden": 4},
}


def network(skip: str, directions: str, **changed: Any) -> tuple[Any, Tokens]:
    stack = {**NETWORK["stack"], "skip": SKIPS[skip], "directions": directions, **changed}
    model, tokens, _ = tagger({**NETWORK, "stack": stack}, Lane(seed=7))
    return model.eval(), tokens


def plainly(layer: Any, x_TI: Tensor, back_T: list[int], share: float) -> tuple[list[Tensor], list[Tensor]]:
    """The h of one text and the gates i, f, o, one step after another, every h a node of its own."""
    cell = layer.cell if isinstance(layer, SkipLayer) else layer
    below, recurrent, bias = (parameter[0] for parameter in (cell.below, cell.recurrent, cell.bias))
    hidden = len(recurrent[0])
    states = [(torch.zeros(hidden).double(), torch.zeros(hidden).double())] * 5
    gates = []
    for x_I, back in zip(x_TI, back_T, strict=True):
        h, c = (share * far + (1 - share) * near for far, near in zip(states[-back], states[-1], strict=True))
        i, f, o, s = (x_I @ below[0] + h @ recurrent[0] + bias[0]).split(hidden)
        gates.append(torch.sigmoid(torch.stack([i, f, o])))
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(s)
        h = torch.sigmoid(o) * torch.tanh(c)
        h.retain_grad()
        states.append((h, c))
    return [h for h, _ in states[5:]], gates


@pytest.mark.parametrize("skip", SKIPS)
def test_gates_and_gradients_equal_those_of_a_loop_that_keeps_every_state(skip: str) -> None:
    model, tokens = network(skip, "forward")
    (seen,) = insights(model, tokens, LEXICON)
    (layer,) = model.stack.cells
    x_TBI = model.embedder(tokens.forms_RTB, LEXICON)[0]
    for text, length in enumerate(tokens.lengths_RB[0].tolist()):
        back = {"none": [1] * length, "fixed": [2] * length}.get(skip)
        if back is None:
            assert seen.back_TB is not None
            back = seen.back_TB[:length, text].tolist()
        share = 0.6 if skip == "dynamic" else 1.0
        states, gates = plainly(layer, x_TBI[:length, text].detach(), back, share)
        scores = states[-1] @ model.head.weight[0] + model.head.bias[0, 0]
        functional.cross_entropy(scores, scores.argmax()).backward()
        assert seen.norm_TB is not None
        norms = torch.stack([state.grad.norm() if state.grad is not None else torch.tensor(0.0) for state in states])
        assert (seen.norm_TB[:length, text] - norms).abs().max() < 1e-12
        for place, name in enumerate(("input", "forget", "output")):
            means = torch.stack([gate[place].mean() for gate in gates])
            assert (seen.gates[name][:length, text] - means).abs().max() < 1e-12


@pytest.mark.parametrize("cell", ["gru", "min_gru", "min_lstm", "simple", "sutskever"])
def test_what_an_earlier_state_passes_on_beside_its_products_counts_in_its_gradient(cell: str) -> None:
    """|dL/dh_t| is what h_t, moved by itself, moves of the loss."""
    model, tokens = network("none", "forward", cell=cell)
    (seen,) = insights(model, tokens, LEXICON)
    assert seen.norm_TB is not None
    assert list(seen.gates) == list(model.stack.cells[0].gate_names)
    layer, length = model.stack.cells[0], int(tokens.lengths_RB[0, 0])
    x_GTBI = model.embedder(tokens.forms_RTB, LEXICON)[:, :length, :1].detach()
    for t in range(length):
        first = layer.run(x_GTBI[:, : t + 1])
        state_GBY = first.last.clone().requires_grad_()
        h_GBF = state_GBY[..., : layer.features]
        if t + 1 < length:
            with watched():  # a compiled layer takes its first state as a constant
                h_GBF = layer.run(x_GTBI[:, t + 1 :], None, state_GBY).output_GTBF[:, -1]
        scores_BK = h_GBF[0] @ model.head.weight[0] + model.head.bias[0, 0]
        functional.cross_entropy(scores_BK, scores_BK.argmax(dim=-1)).backward()
        moved = state_GBY.grad[0, 0, : layer.features].norm()
        assert abs(float(seen.norm_TB[t, 0]) - float(moved)) < 1e-10


def test_an_attention_is_seen_by_what_it_read() -> None:
    stack = {**NETWORK["stack"], "skip": {"kind": "attention", "reach": 3, "policy_hidden": 4}, "directions": "both"}
    model, tokens, _ = tagger({**NETWORK, "stack": stack}, Lane(seed=8))
    forward, backward = insights(model.eval(), tokens, LEXICON)
    assert (forward.direction, backward.direction) == ("forward", "backward")
    assert forward.back_TB is None
    assert set(forward.gates) == {"input", "forget", "output"}


def test_in_both_directions_each_looks_back_from_the_end_of_its_own_reading() -> None:
    model, tokens = network("none", "both")
    one = Tokens(tokens.forms_RTB[:, :, :1], tokens.lengths_RB[:, :1])
    turned = Tokens(one.forms_RTB.flip(1), one.lengths_RB)
    _, backward = insights(model, one, LEXICON)
    cell = model.stack.cells[0]
    for parameter in (cell.below, cell.recurrent, cell.bias):
        parameter.data = parameter.data.flip(1)
    model.head.weight.data = model.head.weight.data.roll(5, dims=1)
    forward, _ = insights(model, turned, LEXICON)
    assert forward.norm_TB is not None
    assert backward.norm_TB is not None
    assert (forward.norm_TB - backward.norm_TB).abs().max() < 1e-12
    assert (forward.gates["forget"] - backward.gates["forget"]).abs().max() < 1e-12


@pytest.mark.parametrize("gate", ["sigmoid_below", "sigmoid_below_previous", "sigmoid_skipped"])
@pytest.mark.parametrize("topology", ["block", "both_gated"])
@pytest.mark.parametrize("added", [{}, {"normalisation": "layer", "residual": True}], ids=str)
def test_gates_of_shortcuts_are_those_that_the_loop_has(
    gate: str, topology: str, added: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[list[Tensor]] = []
    activated = ShortcutCell.activated
    monkeypatch.setattr(ShortcutCell, "activated", lambda cell, pre: kept.append(own := activated(cell, pre)) or own)
    values: list[Tensor] = []
    known = VectorGate.carried

    def carried(self: VectorGate, below: Tensor, skip: Tensor) -> Any:
        passed, g = known(self, below, skip)
        assert g is not None
        values.append(g)
        return passed, g

    monkeypatch.setattr(VectorGate, "carried", carried)
    shortcut = {"topology": topology, "gate": gate}
    model, tokens = network("none", "forward", depth=2, composition=[0, 1], shortcut=shortcut, **added)
    passed: list[Passed] = []
    with watched():
        model.read(tokens, LEXICON, passed)
    seen = openings(passed[1])
    cell = passed[1].layer
    assert isinstance(cell, Cell)
    assert list(seen) == [*cell.gate_names, "shortcut"]
    looped = [torch.stack(parts, dim=1) for parts in zip(*kept, strict=True)][:-1]
    for ours, theirs in zip(seen.values(), [*looped, *values], strict=True):
        assert (ours - theirs).abs().max() < 1e-12


def test_what_reads_no_other_step_has_nothing_to_show() -> None:
    model, tokens = network("none", "forward", cell="feedforward")
    (seen,) = insights(model, tokens, LEXICON)
    assert isinstance(seen, LayerInsight)
    assert (seen.gates, seen.back_TB, seen.norm_TB) == ({}, None, None)
