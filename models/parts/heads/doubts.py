"""Records whether losses may be inaccurate while they are computed, so that they are checked only once, at the end."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import torch
from torch import Tensor

if TYPE_CHECKING:
    from skipstack.models.parts.heads.base import Head

Done = TypeVar("Done")


class Doubts:
    """Records whether any of many log-partitions may be inaccurate. Checking each would wait for the device each time.
    So they are checked once, at the end; the caller then computes all of them again if any may be inaccurate.
    """

    def __init__(self) -> None:
        self.arisen: Tensor | None = None

    def note(self, doubtful_RB: Tensor) -> None:
        """Records whether any of these log-partitions may be inaccurate. R lanes (one for each seed), B sentences."""
        doubtful = doubtful_RB.any()
        self.arisen = doubtful if self.arisen is None else self.arisen | doubtful

    def arose(self) -> bool:
        """Returns whether any log-partition so far may be inaccurate. Waits for the device."""
        return self.arisen is not None and bool(self.arisen.cpu())


def settled(head: "Head", device: torch.device, work: Callable[[], Done]) -> Done:
    """Returns the result of ``work``, in which the losses of ``head`` are accurate.

    On a CPU each loss is checked as soon as it is computed. On another device each check would wait for the device. So
    ``work`` first runs without checks, and runs again, with checks, if a loss may be inaccurate.
    """
    done, doubted = attempted(head, work) if head.may_doubt and device.type != "cpu" else (work(), False)
    return work() if doubted else done


def attempted(head: "Head", work: Callable[[], Done]) -> tuple[Done, bool]:
    """Returns the result of ``work``, run without checks, and whether a loss of ``head`` in it may be inaccurate."""
    head.doubts = Doubts()
    try:
        return work(), head.doubts.arose()
    finally:
        head.doubts = None
