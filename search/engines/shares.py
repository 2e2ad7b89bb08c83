"""The share of a GPU that a trial takes, by the memory that its config needs."""

import math
from collections.abc import Callable
from typing import Final, Protocol

from skipstack.data.basis.errors import UserError
from skipstack.search.driver.task import TrialTask

CONTEXT: Final = 700 * 2**20
"""Bytes that a process takes of a GPU before it holds a single tensor: the CUDA context and its libraries."""

MARGIN: Final = 1.5
"""Times what is counted: buffers of single operations, evaluation, what the allocator cannot use."""

STEPS: Final = 100
"""Shares are whole hundredths, so that trials of like size take turns in one process."""


class Counting(Protocol):
    """The bytes that training a trial holds at most, while somebody else counts them."""

    def is_over(self) -> bool:
        """Whether there is an answer, or none will come any more."""

    def answer(self) -> int | UserError:
        """Wait for the bytes; an error where they could not be counted."""


class GpuShares:
    """Shares of GPUs that have ``device`` bytes each; ``count`` begins to count what a trial holds.

    A trial takes (``CONTEXT`` + ``MARGIN`` * memory) / device, rounded up. Ray packs trials into GPUs by their shares,
    and a trial that takes more than its own is the one that runs out of memory (``limit``), never its neighbour.
    Trials of one config and as many seeds are counted once.
    """

    def __init__(self, device: int, count: Callable[[TrialTask], Counting]) -> None:
        self.device = device
        self._count = count
        self._counts: dict[tuple[str, int], Counting] = {}

    def is_known(self, task: TrialTask) -> bool:
        """Whether ``share`` would answer at once; if not, its memory is being counted from now on."""
        return self._counted(task).is_over()

    def share(self, task: TrialTask) -> float:
        """The ordinary share of a trial, at most a whole GPU; that too where counting fails, as for lack of memory."""
        memory = self._counted(task).answer()
        if isinstance(memory, UserError):
            return 1.0
        return min(1.0, math.ceil((CONTEXT + MARGIN * memory) / self.device * STEPS) / STEPS)

    def limit(self, share: float) -> int | None:
        """The bytes of tensors that a trial with ``share`` may hold; None for one that has a GPU to itself."""
        return None if share >= 1 else max(1, int(share * self.device) - CONTEXT)

    def _counted(self, task: TrialTask) -> Counting:
        key = task.config.identity, len(task.seeds)
        if key not in self._counts:
            self._counts[key] = self._count(task)
        return self._counts[key]
