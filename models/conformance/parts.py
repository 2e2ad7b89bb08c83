"""Checks that the outputs of a user's component are finite and have the shapes that its base class states."""

from collections.abc import Sequence
from typing import assert_never

import torch
from torch import Tensor

from skipstack.data.basis.user_code.configs import Part
from skipstack.models.conformance.pieces import Failure
from skipstack.models.layers.layer import Layer
from skipstack.models.networks.model import Stacked
from skipstack.models.parts.cells.gates import Gate, VectorGate
from skipstack.models.parts.cells.shortcut import ShortcutCell
from skipstack.models.parts.heads.base import Gold, Head
from skipstack.models.parts.inputs.base import Embedder, LexiconTensors

STEPS, SENTENCES, TAGS = 5, 3, 3


def check_part(part: Part, network: Stacked, lexicon: LexiconTensors, below: int) -> None:
    """Raise ``Failure`` if an output of a user's component in ``network`` is not finite or has a wrong shape.

    ``part``: the kind of the component. ``lexicon``: the features of all forms. ``below``: the number of features per
    token that the first layer reads.
    """
    lanes, directions = network.stack.dropout.streams.lanes, network.stack.directions
    groups = lanes * directions
    match part:
        case "gate":
            for layer in network.stack.layers:
                if isinstance(layer, ShortcutCell):
                    for gate in layer.gates:
                        _check_gate(gate, _random(groups, layer.below.shape[-2]), _random(groups, layer.hidden))
        case "cell":
            for layer in network.stack.layers:
                assert isinstance(layer, Layer), "a stack has layers"
                _check_cell(layer, _random(groups, below))
                below = directions * layer.features
        case "embedder":
            _check_embedder(network.embedder, lexicon, lanes, below)
        case "head":
            _check_head(network.head, _random(lanes, network.stack.features))
        case "format" | "proposer" | "scheduler":
            raise AssertionError(f"a {part} is in no network")
        case _:
            assert_never(part)


def check_numbers(what: str, tensor: object, shape: Sequence[int]) -> None:
    """Raise ``Failure`` unless ``tensor`` is a finite tensor of this shape. ``what``: the name in the message."""
    if not isinstance(tensor, Tensor):
        raise Failure(f"{what} is {type(tensor).__name__} (allowed: a tensor of shape {tuple(shape)})")
    if tensor.shape != tuple(shape):
        raise Failure(f"{what} has shape {tuple(tensor.shape)} (allowed: {tuple(shape)})")
    if not bool(torch.isfinite(tensor).all()):
        raise Failure(f"{what} has a number that is not finite")


def _check_gate(gate: Gate, below_GTBI: Tensor, skipped_GTBH: Tensor) -> None:
    skip_GTBH = gate.skip(skipped_GTBH)
    check_numbers("the output of skip()", skip_GTBH, skipped_GTBH.shape)
    if isinstance(gate, VectorGate):
        check_numbers("g", gate.values(below_GTBI, skip_GTBH), skipped_GTBH.shape)
    carried_GTBH, g_GTBH = gate.carried(below_GTBI, skip_GTBH)
    if g_GTBH is not None:
        check_numbers("g", g_GTBH, skipped_GTBH.shape)
    check_numbers("g * skip", carried_GTBH, skipped_GTBH.shape)


def _check_cell(layer: Layer, below_GTBI: Tensor) -> None:
    if not isinstance(getattr(layer, "features", None), int):
        raise Failure("it has no features (allowed: self.features, how many numbers it puts out at a time step)")
    output_GTBF = layer.run(below_GTBI).output_GTBF
    check_numbers("its output", output_GTBF, (*below_GTBI.shape[:3], layer.features))


def _check_embedder(embedder: Embedder, lexicon: LexiconTensors, lanes: int, input_size: int) -> None:
    if not hasattr(embedder, "words"):
        raise Failure("it has no words (allowed: self.words, the Lookup of its words' vectors, or None)")
    forms_RTB = torch.arange(lanes * STEPS * SENTENCES).view(lanes, STEPS, SENTENCES) % len(lexicon.word_F)
    x_RTBI = embedder(forms_RTB, lexicon, None)
    check_numbers("its output for the tokens", x_RTBI, (lanes, STEPS, SENTENCES, input_size))


def _check_head(head: Head, features_RUBF: Tensor) -> None:
    lanes, tokens, sentences, _ = features_RUBF.shape
    gold = Gold(torch.zeros(lanes, tokens, sentences, dtype=torch.long))
    counts_RB = torch.full((lanes, sentences), tokens)
    check_numbers("loss", head.loss(features_RUBF, gold, counts_RB), (lanes, sentences))
    losses_RUB = head.losses(features_RUBF, gold, counts_RB)
    check_numbers("losses", losses_RUB, (lanes, losses_RUB.shape[1], sentences))
    tags_RUB = head.decode(features_RUBF, counts_RB).tags_RUB
    check_numbers("its decision", tags_RUB, (lanes, tokens, sentences))
    if tags_RUB.is_floating_point() or not bool(((tags_RUB >= 0) & (tags_RUB < TAGS)).all()):
        raise Failure(f"it decides on ids that are no tags (allowed: whole numbers from 0 to {TAGS - 1})")
    check_numbers("opinion", head.opinion(features_RUBF, counts_RB), (lanes, tokens, sentences, TAGS))


def _random(groups: int, size: int) -> Tensor:
    generator = torch.Generator().manual_seed(size)
    return torch.randn(groups, STEPS, SENTENCES, size, generator=generator, dtype=torch.float64)
