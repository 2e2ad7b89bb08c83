"""The kernels of fused steps run by Triton's interpreter, which needs no GPU, beside the loops that define them.

A program of its own: Triton decides once a process whether it interprets.
"""

import json
import random
from functools import partial
from typing import Any

import torch

from skipstack.models.time.block_loop import BlockLoop
from skipstack.models.time.fused import loops
from skipstack.models.time.shortcut_loop import ShortcutLoop
from skipstack.models.time.whole_loops import WholeBlock, WholeLstm
from tests.models.time.beside import both

CASES = 16
"""Of each, beside those with all parts and with none."""
LOOPS: dict[str, tuple[Any, Any, int]] = {
    "LSTM": (partial(WholeLstm.apply, loops.LSTM), ShortcutLoop.apply, 4),
    "block": (partial(WholeBlock.apply, loops.BLOCK), BlockLoop.apply, 3),
}


def furthest(name: str) -> float:
    """How far apart the two are at most, in outputs and gradients, over random sizes and parts."""
    draw, apart = random.Random(0), []
    for case in range(CASES + 2):
        sizes = draw.randint(1, 3), draw.randint(1, 4), draw.randint(1, 5), draw.choice([1, 2, 7, 16, 90])
        present = [draw.random() < 0.5 for _ in range(4)] if case > 1 else [bool(case)] * 4
        found = both(*LOOPS[name], sizes, present, apart=draw.random() < 0.5, seed=case)
        apart += [float((one - other).abs().max()) for one, other in zip(*found, strict=True)]
    assert all(each == each for each in apart), "numbers"
    return max(apart)


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(json.dumps({name: furthest(name) for name in LOOPS}))
