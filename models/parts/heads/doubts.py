"""Records whether losses may be inaccurate, so that many losses are checked only once, at the end."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import torch
from torch import Tensor

if TYPE_CHECKING:
    from skipstack.models.parts.heads.base import Head

Done = TypeVar("Done")


class Doubts:
    """Records on the device whether any of many log-partitions may be inaccurate, because each check on the host would
    wait for the device. The caller checks once, at the end, and recomputes all log-partitions if any may be inaccurate.
    """

    def __init__(self) -> None:
        self.arisen: Tensor | None = None

    def note(self, doubtful_RB: Tensor) -> None:
        """Records whether any of these log-partitions may be inaccurate. Axes: R lanes (one per seed), B sentences."""
        doubtful = doubtful_RB.any()
        self.arisen = doubtful if self.arisen is None else self.arisen | doubtful

    def arose(self) -> bool:
        """Returns whether any log-partition so far may be inaccurate. Waits for the device."""
        return self.arisen is not None and bool(self.arisen.cpu())


def settled(head: "Head", device: torch.device, work: Callable[[], Done]) -> Done:
    """Returns the result of ``work`` with accurate losses of ``head``.

    On a CPU each loss is checked when it is computed. On other devices ``work`` runs without such checks, and runs
    again with checks if a loss may be inaccurate.
    """
    done, doubted = attempted(head, work) if head.may_doubt and device.type != "cpu" else (work(), False)
    return work() if doubted else done


def attempted(head: "Head", work: Callable[[], Done]) -> tuple[Done, bool]:
    """Runs ``work`` without checks of single losses. Returns the result, and whether any loss of ``head`` may be
    inaccurate.
    """
    head.doubts = Doubts()
    try:
        return work(), head.doubts.arose()
    finally:
        head.doubts = None
