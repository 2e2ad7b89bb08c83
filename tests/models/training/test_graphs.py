"""On which GPU streams, graphs and kernels are asked for: torch's calls are stand-ins that write it down."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from skipstack.models.kernels import fused
from skipstack.models.kernels.fused import operators
from skipstack.models.training import graphs

SECOND = torch.device("cuda", 1)


class Gpus:
    """GPUs of which one is current; ``asked``: what was asked for, and which was current then."""

    def __init__(self) -> None:
        self.current = 0
        self.asked: list[tuple[str, int]] = []

    @contextmanager
    def device(self, device: torch.device) -> Iterator[None]:
        """As ``torch.cuda.device``."""
        before, self.current = self.current, self.current if device.index is None else device.index
        try:
            yield
        finally:
            self.current = before

    def ask(self, what: str, result: Any = None) -> Any:
        """Of a call, whatever it is given."""

        def call(*_: Any, **__: Any) -> Any:
            self.asked.append((what, self.current))
            return self.current if result is None else result

        return call


class Stream:
    """Of a GPU by its number."""

    def __init__(self, number: int) -> None:
        self.number = number

    def wait_stream(self, _: Any) -> None:
        """Nothing to wait for."""


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gpus]:
    there = Gpus()

    @contextmanager
    def capturing(*_: Any, **__: Any) -> Iterator[None]:
        there.ask("capture")()
        yield

    class Graph:
        replay = staticmethod(there.ask("replay"))

    for name, stands_in in {
        "device": there.device,
        "current_device": lambda: there.current,
        "graph_pool_handle": there.ask("pool"),
        "Stream": Stream,
        "stream": capturing,
        "current_stream": lambda: Stream(there.current),
        "CUDAGraph": Graph,
        "graph": capturing,
    }.items():
        monkeypatch.setattr(torch.cuda, name, stands_in)
    graphs.recording_stream.cache_clear()
    yield there
    graphs.recording_stream.cache_clear()


@pytest.mark.parametrize(("device", "number"), [(SECOND, 1), (torch.device("cuda"), 0), (None, 0)])
def test_graphs_are_recorded_and_replayed_on_the_gpu_that_they_are_for(
    device: torch.device | None, number: int, gpus: Gpus
) -> None:
    subject = graphs.CudaGraphs(device)
    assert subject.stream.number == number  # type: ignore[attr-defined]
    subject.warmed(gpus.ask("step"))
    subject.recorded(gpus.ask("step"))()
    assert [what for what, _ in gpus.asked] == ["pool", "capture", "step", "capture", "step", "replay"]
    assert {where for _, where in gpus.asked} == {number}
    assert gpus.current == 0


def test_a_process_records_on_one_stream_of_each_gpu_however_many_trials_it_trains(gpus: Gpus) -> None:
    """For every stream on which it has multiplied cuBLAS keeps 32 MiB."""
    assert gpus.current == 0
    assert graphs.CudaGraphs(SECOND).stream is graphs.CudaGraphs(SECOND).stream
    assert graphs.CudaGraphs(SECOND).stream is not graphs.CudaGraphs().stream


@pytest.mark.first(1)
@pytest.mark.parametrize("name", sorted(operators.IMPLEMENTED))
def test_tritons_kernels_are_launched_on_the_gpu_that_has_their_numbers(
    name: str, gpus: Gpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = ModuleType("kernels")
    setattr(module, name, _Grid(gpus.ask(name)))
    monkeypatch.setitem(sys.modules, "skipstack.models.kernels.fused.kernels", module)
    monkeypatch.setattr(fused, "kernels", module, raising=False)
    with FakeTensorMode():
        numbers = torch.empty(2, 3, 8, device=SECOND)
        if name == "uniform":
            keys = torch.empty(3, device=SECOND, dtype=torch.int64)
            operators.IMPLEMENTED[name](keys, 1, None, torch.empty(3, 8, device=SECOND))
        else:
            schema = getattr(operators.OPERATIONS, name).default._schema
            named = {each.name: False for each in schema.arguments if each.kwarg_only}
            operators.IMPLEMENTED[name](*[numbers] * (len(schema.arguments) - len(named)), **named)
    assert gpus.asked == [(name, 1)]
    assert gpus.current == 0


class _Grid:
    """What a kernel is called through: ``kernel[grid](...)``."""

    def __init__(self, call: Any) -> None:
        self.call = call

    def __getitem__(self, grid: Any) -> Any:
        return self.call
