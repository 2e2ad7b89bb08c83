"""What records the launches of a step, and replays them as one: CUDA graphs."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeVar

import torch

Done = TypeVar("Done")


class Graphs(ABC):
    """Records what is launched, to launch it again on the same memory: nothing that Python does is repeated."""

    @abstractmethod
    def warmed(self, work: Callable[[], Done]) -> Done:
        """What ``work`` gives, done as ever: libraries are loaded and kernels compiled before anything is recorded."""

    @abstractmethod
    def recorded(self, work: Callable[[], None]) -> Callable[[], None]:
        """What does all that ``work`` launches, as often as it is called; ``work`` itself is not done.

        Tensors that ``work`` makes and that are kept stay where they are; the memory of others is shared with all that
        is recorded, so that what one replay leaves there, another overwrites.
        """


class CudaGraphs(Graphs):
    """Those of the GPU that this thread computes on, in one pool of memory."""

    def __init__(self) -> None:
        self.pool = torch.cuda.graph_pool_handle()
        self.stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]

    def warmed(self, work: Callable[[], Done]) -> Done:
        """On the stream that records, before and after all that is on the current one."""
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
