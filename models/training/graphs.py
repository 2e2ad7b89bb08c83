"""CUDA graphs: record the launches of a step, and replay them as one."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeVar

import torch

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
    """CUDA graphs on this thread's current GPU, in one memory pool."""

    def __init__(self) -> None:
        self.pool = torch.cuda.graph_pool_handle()
        self.stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]

    def warmed(self, work: Callable[[], Done]) -> Done:
        """Runs on the recording stream, synchronised with the current one."""
        current = torch.cuda.current_stream()
        self.stream.wait_stream(current)
        with torch.cuda.stream(self.stream):
            done = work()
        current.wait_stream(self.stream)
        return done

    def recorded(self, work: Callable[[], None]) -> Callable[[], None]:
        """Raises RuntimeError where ``work`` waits for the device."""
        graph = torch.cuda.CUDAGraph()
        # "thread_local": the thread that makes the next batches, and any that measures, may go on meanwhile
        with torch.cuda.graph(graph, pool=self.pool, stream=self.stream, capture_error_mode="thread_local"):
            work()
        return graph.replay
