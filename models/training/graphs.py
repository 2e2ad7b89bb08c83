"""CUDA graphs: record the launches of a step, and replay them as one."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache
from typing import TypeVar

import torch

from skipstack.models.ground.device import current

Done = TypeVar("Done")


class Graphs(ABC):
    """Records the launches of a function, and replays them on the same memory without running its Python code again."""

    @abstractmethod
    def warmed(self, work: Callable[[], Done]) -> Done:
        """Run ``work`` normally and return its result. This loads libraries and compiles kernels, which must happen
        before ``work`` is recorded.
        """

    @abstractmethod
    def recorded(self, work: Callable[[], None]) -> Callable[[], None]:
        """Record what ``work`` launches, without computing it, and return a function that replays the launches.

        Tensors that ``work`` creates keep their memory while the caller holds them. The memory of all its other tensors
        is shared by all recordings, so each replay may overwrite it.
        """


class CudaGraphs(Graphs):
    """Records CUDA graphs on a GPU, all in one memory pool. ``device``: the GPU; None, or a device without an index,
    means torch's current GPU.
    """

    def __init__(self, device: torch.device | None = None) -> None:
        self.device = torch.device("cuda") if device is None else device
        with current(self.device):
            self.pool = torch.cuda.graph_pool_handle()
            self.stream = recording_stream(torch.cuda.current_device())

    def warmed(self, work: Callable[[], Done]) -> Done:
        """Run ``work`` on the recording stream and return its result. ``work`` waits for the current stream's earlier
        launches, and the current stream's later launches wait for ``work``.
        """
        with current(self.device):
            before = torch.cuda.current_stream()
            self.stream.wait_stream(before)
            with torch.cuda.stream(self.stream):
                done = work()
            before.wait_stream(self.stream)
        return done

    def recorded(self, work: Callable[[], None]) -> Callable[[], None]:
        """Record what ``work`` launches, and return a function that replays it. Raises RuntimeError if ``work`` waits
        for the device.
        """
        graph = torch.cuda.CUDAGraph()
        # "thread_local": threads that prepare batches or measure the GPU's use may call CUDA meanwhile
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
    """Return this process's one stream for recordings on GPU ``number``.

    There is only one, because cuBLAS keeps memory to the end of the process for each stream on which matrices were
    multiplied (``models/ground/device_memory.py``).
    """
    return torch.cuda.Stream(number)  # type: ignore[no-untyped-call]
