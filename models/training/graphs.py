"""CUDA graphs: records the kernel launches of a step, and replays all of them with one launch."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache
from typing import TypeVar

import torch

from skipstack.models.ground.device import current

Done = TypeVar("Done")


class Graphs(ABC):
    """Records the launches of a function, and replays them on the same memory without the function's Python code."""

    @abstractmethod
    def warmed(self, work: Callable[[], Done]) -> Done:
        """Run ``work`` and return its result. This must precede a recording of ``work``, during which no library can be
        loaded and no kernel compiled.
        """

    @abstractmethod
    def recorded(self, work: Callable[[], None]) -> Callable[[], None]:
        """Record the launches of ``work`` without computing anything, and return a function that replays the launches.

        Tensors that ``work`` creates keep their memory while the caller holds references to them. All recordings share
        the memory of temporary tensors, so each replay may overwrite it.
        """


class CudaGraphs(Graphs):
    """Records CUDA graphs on a GPU, in one memory pool. ``device``: the GPU. Without a device or an index, it is
    torch's current GPU.
    """

    def __init__(self, device: torch.device | None = None) -> None:
        self.device = torch.device("cuda") if device is None else device
        with current(self.device):
            self.pool = torch.cuda.graph_pool_handle()
            self.stream = recording_stream(torch.cuda.current_device())

    def warmed(self, work: Callable[[], Done]) -> Done:
        """Run ``work`` on the recording stream and return its result. ``work`` waits for the current stream's earlier
        launches. The current stream's later launches wait for ``work``.
        """
        with current(self.device):
            before = torch.cuda.current_stream()
            self.stream.wait_stream(before)
            with torch.cuda.stream(self.stream):
                done = work()
            before.wait_stream(self.stream)
        return done

    def recorded(self, work: Callable[[], None]) -> Callable[[], None]:
        """Record the launches of ``work``, and return a function that replays them. Raises RuntimeError if ``work``
        waits for the device.
        """
        graph = torch.cuda.CUDAGraph()
        # "thread_local", since threads that prepare batches or measure the GPU's use may call CUDA at the same time
        with (
            current(self.device),
            torch.cuda.graph(graph, pool=self.pool, stream=self.stream, capture_error_mode="thread_local"),
        ):
            work()

        def replay() -> None:
            with current(self.device):
                graph.replay()

        return replay


@cache
def recording_stream(number: int) -> torch.cuda.Stream:
    """Return this process's stream for recordings on GPU ``number``.

    All recordings use the same stream, because cuBLAS keeps memory, until the process ends, for each stream on which
    matrices were multiplied (``models/ground/device_memory.py``).
    """
    return torch.cuda.Stream(number)  # type: ignore[no-untyped-call]
