"""The share of a GPU that a trial takes, by the memory that its config needs."""

import math
from collections.abc import Callable
from typing import Final

from skipstack.search.study.faults import is_out_of_memory
from skipstack.search.study.task import TrialTask

CONTEXT: Final = 700 * 2**20
"""Bytes that a process takes of a GPU before it holds a single tensor: the CUDA context and its libraries."""

MARGIN: Final = 1.5
"""Times what is counted: buffers of single operations, evaluation, what the allocator cannot use."""

STEPS: Final = 100
"""Shares are whole hundredths, so that trials of like size take turns in one process."""


class GpuShares:
    """Shares of GPUs that have ``device`` bytes each; ``memory`` says what training a trial holds at most, in bytes.

    A trial takes (``CONTEXT`` + ``MARGIN`` * memory) / device, rounded up. Ray packs trials into GPUs by their shares,
    and a trial that takes more than its own is the one that runs out of memory (``limit``), never its neighbour.
    """

    def __init__(self, memory: Callable[[TrialTask], int], device: int) -> None:
        self._memory = memory
        self._device = device

    def share(self, task: TrialTask) -> float:
        """The ordinary share of a trial, at most a whole GPU; that too where counting already runs out of memory."""
        try:
            wanted = (CONTEXT + MARGIN * self._memory(task)) / self._device
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            return 1.0
        return min(1.0, math.ceil(wanted * STEPS) / STEPS)

    def limit(self, share: float) -> int | None:
        """The bytes of tensors that a trial with ``share`` may hold; None for one that has a GPU to itself."""
        return None if share >= 1 else max(1, int(share * self._device) - CONTEXT)
