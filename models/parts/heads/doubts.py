"""Runs computations whose losses are checked at the end (``models/parts/heads/chain/doubts.py``)."""

from collections.abc import Callable
from typing import TypeVar

import torch

from skipstack.models.parts.heads.base import Head
from skipstack.models.parts.heads.chain.doubts import Doubts

Done = TypeVar("Done")


def settled(head: Head, device: torch.device, work: Callable[[], Done]) -> Done:
    """The result of ``work``, with accurate losses of ``head``.

    On a CPU each loss is checked at once. On another device each check would wait for it; so ``work`` runs without
    checks, and runs again, with checks, if a loss may be wrong.
    """
    done, doubted = attempted(head, work) if head.may_doubt and device.type != "cpu" else (work(), False)
    return work() if doubted else done


def attempted(head: Head, work: Callable[[], Done]) -> tuple[Done, bool]:
    """The result of ``work``, and whether a loss in it may be wrong."""
    head.doubts = Doubts()
    try:
        return work(), head.doubts.arose()
    finally:
        head.doubts = None
