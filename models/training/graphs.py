"""CUDA graphs: record the launches of a step, and replay them as one."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache
from typing import TypeVar

import torch

from skipstack.models.ground.device import current

Done = TypeVar("Done")


class Graphs(ABC):
    """Records launches, and replays them on the same memory; Python code is not run again."""

    @abstractmethod
    def warmed(self, work: Callable[[], Done]) -> Done:
        """The result of ``work``, run normally: libraries are loaded and kernels compiled before recording."""

    @abstractmethod
    def recorded(self, work: Callable[[], None]) -> Callable[[], None]:
        """A function that replays everything that ``work`` launches; ``work`` itself is only recorded.

        Tensors that ``work`` creates and the caller keeps stay in place; the memory of others is shared by all
        recordings, so each replay may overwrite it.
        """


class CudaGraphs(Graphs):
    """CUDA graphs on a GPU, in one memory pool. ``device``: None, or one without a number, is the current one."""

    def __init__(self, device: torch.device | None = None) -> None:
        self.device = torch.device("cuda") if device is None else device
        with current(self.device):
            self.pool = torch.cuda.graph_pool_handle()
            self.stream = recording_stream(torch.cuda.current_device())

    def warmed(self, work: Callable[[], Done]) -> Done:
        """Runs on the recording stream, synchronised with the current one."""
        with current(self.device):
            before = torch.cuda.current_stream()
            self.stream.wait_stream(before)
            with torch.cuda.stream(self.stream):
                done = work()
            before.wait_stream(self.stream)
        return done

    def recorded(self, work: Callable[[], None]) -> Callable[[], None]:
        """Raises RuntimeError where ``work`` waits for the device."""
        graph = torch.cuda.CUDAGraph()
        # "thread_local": the thread that makes the next batches, and any that measures, may go on meanwhile
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
    """The one stream of this process for recordings on the GPU of this number: for each stream on which it has
    multiplied, cuBLAS keeps memory to the end of the process (``models/ground/device_memory.py``).
    """
    return torch.cuda.Stream(number)  # type: ignore[no-untyped-call]
