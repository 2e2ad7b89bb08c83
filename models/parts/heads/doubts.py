"""What is computed first and asked about later (``models/parts/heads/chain/doubts.py``)."""

from collections.abc import Callable
from typing import TypeVar

import torch

from skipstack.models.parts.heads.base import Head
from skipstack.models.parts.heads.chain.doubts import Doubts

Done = TypeVar("Done")


def settled(head: Head, device: torch.device, work: Callable[[], Done]) -> Done:
    """What ``work`` gives where each loss of ``head`` is right.

    On a CPU it is seen to in each. On another device that would be to wait for it each time; there all is computed as
    if nothing were in doubt, and once more where something was.
    """
    done, doubted = attempted(head, work) if head.may_doubt and device.type != "cpu" else (work(), False)
    return work() if doubted else done


def attempted(head: Head, work: Callable[[], Done]) -> tuple[Done, bool]:
    """What ``work`` gives, and whether a loss in it may be wrong."""
    head.doubts = Doubts()
    try:
        return work(), head.doubts.arose()
    finally:
        head.doubts = None
