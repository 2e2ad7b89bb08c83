"""The kernels of fused steps run by Triton's interpreter, which needs no GPU, beside the loops that define them.

A program of its own: Triton decides once a process whether it interprets.
"""

import json
import random
from typing import Any

import torch

from skipstack.models.kernels.fused.loops import FusedBlock, FusedLstm
from skipstack.models.kernels.fused.operators import uniform
from skipstack.models.kernels.philox import fractions, philox_words
from skipstack.models.kernels.reference.block_loop import BlockLoop
from skipstack.models.kernels.reference.shortcut_loop import ShortcutLoop
from tests.models.kernels.beside import both, layer_of

CASES = 16
"""Of each, beside those with all parts and with none."""
LOOPS: dict[str, tuple[Any, Any, int]] = {
    "LSTM": (layer_of(FusedLstm.apply), layer_of(ShortcutLoop.apply), 4),
    "block": (layer_of(FusedBlock.apply), layer_of(BlockLoop.apply), 3),
}


def furthest(name: str) -> float:
    """How far apart the two are at most, in outputs and gradients, over random sizes and parts."""
    draw, apart = random.Random(0), []
    for case in range(CASES + 2):
        sizes = draw.randint(1, 2), draw.randint(1, 4), draw.randint(1, 5), draw.choice([1, 2, 7, 16, 90])
        present = [draw.random() < 0.5 for _ in range(5)] if case > 1 else [bool(case)] * 5
        found = both(*LOOPS[name], sizes, present, apart=draw.random() < 0.5, seed=case)
        apart += [float((one - other).abs().max()) for one, other in zip(*found, strict=True)]
    assert all(each == each for each in apart), "numbers"
    return max(apart)


def drawn_apart() -> float:
    """Of random numbers likewise, in both types."""
    key_R, apart = torch.tensor([3, 2**62 + 5]), []
    for dtype in (torch.float32, torch.float64):
        for draw, blocks in ((1, 1), (16, 300), (2**33 + 7, 33)):
            expected = fractions(philox_words(key_R, draw, blocks), dtype)
            for own, counted in ((draw, None), (draw - 1, torch.tensor(1)), (0, torch.tensor(draw))):
                ours = torch.empty(2, 4 * blocks, dtype=dtype)
                uniform(key_R, own, counted, ours)
                apart.append(float((ours - expected).abs().max()))
    return max(apart)


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(json.dumps({**{name: furthest(name) for name in LOOPS}, "draws": drawn_apart()}))
