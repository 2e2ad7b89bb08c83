"""A layer beside one whose loop is of torch's operations, which defines it: the same numbers for both."""

from functools import partial
from typing import Any

import torch
from torch import Tensor

from skipstack.models.kernels.layers import project

DIRECTIONS = 2


def drawn(generator: torch.Generator, *shape: int, apart: bool = False, dtype: torch.dtype = torch.float64) -> Tensor:
    """Random numbers; ``apart``: they do not stand row after row."""
    numbers = torch.randn(*shape, dtype=dtype, generator=generator)
    return (numbers.transpose(0, -1).contiguous().transpose(0, -1) if apart else numbers).requires_grad_()


def layer_of(loop: Any) -> Any:
    """What reads a layer below it, from a loop over pre-activations."""

    def layer(below_GTBI: Tensor, below_RDIX: Tensor, bias_RDX: Tensor, recurrent_RDHX: Tensor, *parts: Any) -> Any:
        return loop(project(below_GTBI, below_RDIX, bias_RDX), recurrent_RDHX.flatten(0, 1), *parts)

    return layer


def passes(layer: Any, given: list[Tensor | None], above_GTBH: Tensor) -> list[Tensor]:
    """What a layer puts out, and the gradients of what it is given, its last part aside: the first state."""
    found = layer(*given)
    outputs = [found] if isinstance(found, Tensor) else [each for each in found if each is not None]
    asked = [each for each in given[:-1] if each is not None and each.requires_grad]
    return [*outputs, *torch.autograd.grad(outputs[0], asked, above_GTBH)]


def both(
    layer: Any,
    defined: Any,
    gates: int,
    sizes: tuple[int, ...],
    present: list[bool],
    *,
    apart: bool,
    seed: int,
    dtype: torch.dtype = torch.float64,
) -> tuple[list[Tensor], list[Tensor]]:
    """Of random numbers; ``sizes``: lanes, steps, sentences and hidden units; ``present``: which of the
    three parts of a skip there are, whether there is a first state, and whether what is below asks for a gradient.
    """
    lanes, steps, sentences, hidden = sizes
    groups, below = lanes * DIRECTIONS, hidden + 1
    draw = partial(drawn, torch.Generator().manual_seed(seed), dtype=dtype)
    below_GTBI = draw(groups, steps, sentences, below, apart=apart)
    weights = [draw(lanes, DIRECTIONS, *shape, gates * hidden, apart=apart) for shape in ((below,), (), (hidden,))]
    parts = [draw(groups, steps, sentences, hidden, apart=apart) for _ in range(3)]
    start = draw(*([2] if gates == 4 else []), groups, sentences, hidden).detach()
    optional = [part if there else None for part, there in zip([*parts, start], present[:4], strict=True)]
    above_GTBH = draw(groups, steps, sentences, hidden, apart=apart).detach()
    before = below_GTBI.detach().clone()
    given = [below_GTBI.requires_grad_(present[4]), *weights, *optional]
    found = [passes(each, given, above_GTBH) for each in (layer, defined)]
    assert torch.equal(below_GTBI, before), "what is below is left as it is"
    return found[0], found[1]
