"""A process like ``child.py`` whose rows go wrong in every way, by their number of lanes."""

import os
import time
from typing import Any

import torch

from tests.benchmarks.gpu_check import child, measures
from tests.benchmarks.gpu_check.rows import Row
from tests.benchmarks.gpu_check.skipping import SkippedError


def wrong(row: Row, _: object) -> dict[str, Any]:
    """What goes wrong; the process of a broken GPU raises ever after."""
    if getattr(wrong, "broken", False):
        raise torch.AcceleratorError("CUDA error: broken before")
    match row.lanes:
        case 1:
            raise ValueError("a bug")
        case 2:
            wrong.broken = True  # type: ignore[attr-defined]
            raise torch.AcceleratorError("CUDA error: an illegal memory access was encountered\nadvice")
        case 3:
            os.kill(os.getpid(), 9)
        case 4:
            time.sleep(600)
        case 5:
            raise SkippedError("no such thing here")
    print("what a library prints")
    return {"process": os.getpid(), "figure": float("nan")}


if __name__ == "__main__":
    measures.MEASURES["steps"] = wrong
    child.main()
