"""The kernels of fused steps run by Triton's interpreter, which needs no GPU, beside the loops that define them.

A program of its own: Triton decides once a process whether it interprets.
"""

import json
import random
from collections.abc import Iterator, Sequence
from contextlib import nullcontext

import torch
from torch import Tensor

from skipstack.models.ground.precision import FEW_SENTENCES, products_in
from skipstack.models.kernels.fused.operators import uniform
from skipstack.models.kernels.philox import fractions, philox_words
from tests.models.kernels.beside import BLOCKS, LSTMS, passes

CASES, ROUNDED = 2, 1
"""Of each cell and topology: in each type, and with products in bfloat16."""
LOOPS = {"LSTM": LSTMS, "block": BLOCKS}
TYPES = {"float32": torch.float32, "float64": torch.float64}


def both(
    name: str, dtype: torch.dtype, cases: int, least: int = 1, *, rounded: bool = False
) -> Iterator[tuple[Sequence[Tensor], ...]]:
    """Outputs and gradients of fused kernels and of the steps that define them, over random sizes with ``least``
    sentences or more. ``rounded``: with products in bfloat16, and beside them the steps without rounding.
    """
    draw = random.Random(0)
    for case, kind in enumerate(LOOPS[name] * cases):
        sentences = draw.randint(least, least + 4)
        sizes = draw.randint(1, 2), draw.randint(1, 4), sentences, draw.choice([1, 2, 7, 16, 90])
        asked = {each: draw.random() < 0.5 for each in ("started", "learns", "apart")}
        with products_in("bfloat16") if rounded else nullcontext():
            found = [passes(kind, each, sizes, seed=case, dtype=dtype, **asked) for each in ("fused", "reference")]
        if rounded:
            found.append(passes(kind, "reference", sizes, seed=case, dtype=dtype, **asked))
        yield tuple(found)


def distance(some: Sequence[Tensor], others: Sequence[Tensor]) -> float:
    """The largest difference, as a share of the largest number."""
    pairs = zip(some, others, strict=True)
    apart = [float((one - other).abs().max() / (1 + other.abs().max())) for one, other in pairs]
    assert all(each == each for each in apart), "numbers"
    return max(apart)


def furthest(name: str, dtype: torch.dtype) -> float:
    """How far apart fused kernels and steps are at most."""
    return max(distance(*each) for each in both(name, dtype, CASES))


def rounded(name: str) -> dict[str, float]:
    """The same of products in bfloat16; and what rounding costs the fused kernels, as a multiple of what it costs the
    steps.
    """
    apart, costs = [], []
    for fused, steps, exact in both(name, torch.float32, ROUNDED, FEW_SENTENCES, rounded=True):
        apart.append(distance(fused, steps))
        costs.append((distance(fused, exact), distance(steps, exact)))
    return {f"{name}, bfloat16": max(apart), f"{name}, rounding": max(a for a, _ in costs) / max(b for _, b in costs)}


def drawn_apart() -> float:
    """Of random numbers likewise, in both types."""
    key_R, apart = torch.tensor([3, 2**62 + 5]), []
    for dtype in TYPES.values():
        for draw, blocks in ((1, 1), (16, 300), (2**33 + 7, 33)):
            expected = fractions(philox_words(key_R, draw, blocks), dtype)
            for own, counted in ((draw, None), (draw - 1, torch.tensor(1)), (0, torch.tensor(draw))):
                ours = torch.empty(2, 4 * blocks, dtype=dtype)
                uniform(key_R, own, counted, ours)
                apart.append(float((ours - expected).abs().max()))
    return max(apart)


if __name__ == "__main__":
    torch.set_num_threads(1)
    found = {f"{name}, {told}": furthest(name, dtype) for name in LOOPS for told, dtype in TYPES.items()}
    for name in LOOPS:
        found |= rounded(name)
    print(json.dumps({**found, "draws": drawn_apart()}))
