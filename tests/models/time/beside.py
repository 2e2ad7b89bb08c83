"""A loop beside the one of torch's operations that defines it: the same numbers for both."""

from functools import partial
from typing import Any

import torch
from torch import Tensor


def drawn(generator: torch.Generator, *shape: int, apart: bool = False) -> Tensor:
    """Random numbers in float64; ``apart``: they do not stand row after row."""
    numbers = torch.randn(*shape, dtype=torch.float64, generator=generator)
    return (numbers.transpose(0, -1).contiguous().transpose(0, -1) if apart else numbers).requires_grad_()


def passes(loop: Any, given: list[Tensor | None], above_GTBH: Tensor) -> list[Tensor]:
    """What a loop puts out, and the gradients of what it is given, its last part aside: the first state."""
    found = loop(*given)
    outputs = [found] if isinstance(found, Tensor) else list(found)
    asked = [each for each in given[:-1] if each is not None]
    return [*outputs, *torch.autograd.grad(outputs[0], asked, above_GTBH)]


def both(
    loop: Any, defined: Any, gates: int, sizes: tuple[int, ...], present: list[bool], *, apart: bool, seed: int
) -> tuple[list[Tensor], list[Tensor]]:
    """In float64, of random numbers; ``sizes``: groups, steps, sentences and hidden units; ``present``: which of the
    three parts of a skip there are, and whether there is a first state.
    """
    groups, steps, sentences, hidden = sizes
    draw = partial(drawn, torch.Generator().manual_seed(seed))
    pre_GTBX = draw(groups, steps, sentences, gates * hidden, apart=apart)
    weight_GHX = draw(groups, hidden, gates * hidden, apart=apart)
    parts = [draw(groups, steps, sentences, hidden, apart=apart) for _ in range(3)]
    start = draw(*([2] if gates == 4 else []), groups, sentences, hidden).detach()
    optional = [part if there else None for part, there in zip([*parts, start], present, strict=True)]
    above_GTBH = draw(groups, steps, sentences, hidden, apart=apart).detach()
    pre_before = pre_GTBX.clone()
    found = [passes(each, [pre_GTBX, weight_GHX, *optional], above_GTBH) for each in (loop, defined)]
    assert torch.equal(pre_GTBX, pre_before), "pre is left as it is"
    return found[0], found[1]
