"""Losses that may be wrong: recorded while they are computed, checked at the end, and computed again."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import torch
from torch import Tensor

if TYPE_CHECKING:
    from skipstack.models.parts.heads.base import Head

Done = TypeVar("Done")


class Doubts:
    """Records whether any of many log-partitions may be inaccurate. A check of each would wait for the device each
    time; so they are checked once, at the end, and recomputed if any was.
    """

    def __init__(self) -> None:
        self.arisen: Tensor | None = None

    def note(self, doubtful_RB: Tensor) -> None:
        """Record whether any of these chains is inaccurate."""
        doubtful = doubtful_RB.any()
        self.arisen = doubtful if self.arisen is None else self.arisen | doubtful

    def arose(self) -> bool:
        """Whether any chain was inaccurate; waits for the device."""
        return self.arisen is not None and bool(self.arisen.cpu())


def settled(head: "Head", device: torch.device, work: Callable[[], Done]) -> Done:
    """The result of ``work``, with accurate losses of ``head``.

    On a CPU each loss is checked at once. On another device each check would wait for it; so ``work`` runs without
    checks, and runs again, with checks, if a loss may be wrong.
    """
    done, doubted = attempted(head, work) if head.may_doubt and device.type != "cpu" else (work(), False)
    return work() if doubted else done


def attempted(head: "Head", work: Callable[[], Done]) -> tuple[Done, bool]:
    """The result of ``work``, and whether a loss in it may be wrong."""
    head.doubts = Doubts()
    try:
        return work(), head.doubts.arose()
    finally:
        head.doubts = None
