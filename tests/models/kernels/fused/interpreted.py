"""The kernels of fused steps run by Triton's interpreter, which needs no GPU, beside the loops that define them.

A program of its own: Triton decides once a process whether it interprets.
"""

import json
import random

import torch

from skipstack.models.ground.precision import FEW_SENTENCES, products_in
from skipstack.models.kernels.fused.operators import uniform
from skipstack.models.kernels.philox import fractions, philox_words
from tests.models.kernels.beside import BLOCKS, LSTMS, passes

CASES, ROUNDED = 2, 1
"""Of each cell and topology: in each type, and with products in bfloat16."""
LOOPS = {"LSTM": LSTMS, "block": BLOCKS}
TYPES = {"float32": torch.float32, "float64": torch.float64}


def furthest(name: str, dtype: torch.dtype, cases: int, least: int = 1) -> float:
    """How far apart the two are at most, in outputs and gradients, as a share of the largest; over random sizes, of
    ``least`` sentences or more.
    """
    draw, apart = random.Random(0), []
    for case, kind in enumerate(LOOPS[name] * cases):
        sentences = draw.randint(least, least + 4)
        sizes = draw.randint(1, 2), draw.randint(1, 4), sentences, draw.choice([1, 2, 7, 16, 90])
        asked = {each: draw.random() < 0.5 for each in ("started", "learns", "apart")}
        ours, theirs = (passes(kind, each, sizes, seed=case, dtype=dtype, **asked) for each in ("fused", "reference"))
        pairs = zip(ours, theirs, strict=True)
        apart += [float((one - other).abs().max() / (1 + other.abs().max())) for one, other in pairs]
    assert all(each == each for each in apart), "numbers"
    return max(apart)


def rounded(name: str) -> float:
    """Of products in bfloat16."""
    with products_in("bfloat16"):
        return furthest(name, torch.float32, ROUNDED, FEW_SENTENCES)


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
    found = {f"{name}, {told}": furthest(name, dtype, CASES) for name in LOOPS for told, dtype in TYPES.items()}
    found |= {f"{name}, bfloat16": rounded(name) for name in LOOPS}
    print(json.dumps({**found, "draws": drawn_apart()}))
