"""A step on a GPU adds no more than two numbers in whatever order its threads come to them.

The operations of a GPU are done on a CPU here, where it is seen which places they read and write.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from skipstack.models.configs.training import LazyAdam
from skipstack.models.kernels import ordered
from skipstack.search.study.study_files.document import presets
from tests.models.kernels.chosen import chosen
from tests.models.test_golden import training
from tests.models.training.test_captured import network

aten = torch.ops.aten
STEPS = 2
SOME = ("chen2017/default", "collins/parser", "dinarelli2016/atis", "gui2019/imdb", "gui2019/k-lambda", "gui2019/ner")
"""Presets whose steps have, between them, every such operation that any preset's has."""

ADDS = (aten.scatter_add, aten.scatter_add_, aten.index_add, aten.index_add_)
WRITES = (aten.scatter, aten.scatter_, aten.index_copy, aten.index_copy_)
ELSEWHERE = {
    "put", "put_", "scatter_reduce", "scatter_reduce_", "bincount", "histc", "median", "kthvalue", "index_reduce",
    "index_reduce_", "_embedding_bag_backward", "_embedding_bag_dense_backward", "max_unpool2d", "nll_loss2d_forward",
}  # fmt: skip
"""Others of which torch says that a GPU has no order in them."""


class Unordered(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes operations that give other bits whenever a GPU comes to their numbers in another order."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.found: set[str] = set()
        self.adds = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func.overloadpacket in ADDS:
            self.adds += 1
            into, dim, at = args[:3]
            most = 2 if not into.any() else 1  # of two, the sum is the same either way
            self._expect(func, meeting(into, dim, at) <= most)
        elif func.overloadpacket in WRITES:
            self._expect(func, meeting(*args[:3]) <= 1)
        elif func.overloadpacket in (aten.index_put, aten.index_put_) and not (len(args) > 3 and args[3]):
            self._expect(func, met(args[0], args[1]) <= 1)
        elif func.overloadpacket is aten.cumsum and args[0].is_floating_point():
            self._expect(func, args[0].numel() > args[0].shape[args[1]])  # else by blocks that wait for one another
        elif func.overloadpacket._qualified_op_name.removeprefix("aten::") in ELSEWHERE:
            self._expect(func, False)
        return func(*args, **(kwargs or {}))

    def _expect(self, func: Any, right: Any) -> None:
        if not right:
            self.found.add(str(func))


def meeting(into: Tensor, dim: int, at: Tensor) -> int:
    """How many numbers come to one place at most."""
    counts = torch.zeros(into.shape, dtype=torch.int64)
    if at.dim() != into.dim():
        shape = [1] * into.dim()
        shape[dim] = -1
        at = at.view(shape).expand(
            *(len(at) if axis == dim % into.dim() else size for axis, size in enumerate(into.shape))
        )
    return int(counts.scatter_add(dim, at, torch.ones_like(at)).max()) if at.numel() else 0


def met(into: Tensor, places: list[Tensor | None]) -> int:
    """The same of an ``index_put``."""
    if any(each is None or each.dtype == torch.bool for each in places):
        return 1
    counts = torch.zeros(into.shape, dtype=torch.int64)
    return int(counts.index_put_(tuple(places), torch.ones((), dtype=torch.int64), accumulate=True).max())  # type: ignore[arg-type]


@pytest.fixture
def as_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(ordered, "has_order", lambda like: False)
    with chosen("reference"):
        yield


@pytest.mark.usefixtures("as_on_a_gpu")
@pytest.mark.parametrize(
    "preset", [each if each in SOME else pytest.param(each, marks=pytest.mark.slow) for each in presets()]
)
def test_no_step_of_any_presets_base_depends_on_the_order_in_which_a_gpu_adds(preset: str, tmp_path: Path) -> None:
    run, watch = training(preset, tmp_path), Unordered()
    run.model.train()
    with watch:
        for batch in islice(run.batches(), STEPS):
            run.step(batch)
    assert watch.found == set()


@pytest.mark.usefixtures("as_on_a_gpu")
def test_nor_does_an_update_by_rows() -> None:
    run, watch = network(optimiser=LazyAdam()), Unordered()
    run.model.train()
    with watch:
        run.step(next(run.batches()))
    assert watch.found == set()


def test_what_depends_on_it_is_seen() -> None:
    numbers, at = torch.rand(5, requires_grad=True), torch.tensor([0, 1, 1, 1, 4])
    for seen in (lambda: numbers.gather(0, at), lambda: numbers.index_select(0, at)):
        watch = Unordered()
        with watch:
            seen().sum().backward()
        assert watch.found


def both(work: Callable[[Tensor], Tensor], numbers: Tensor, monkeypatch: pytest.MonkeyPatch) -> list[list[Tensor]]:
    """The result and the gradient, by the operations of a CPU and by those of a GPU."""
    found = []
    for cpu in (True, False):
        monkeypatch.setattr(ordered, "has_order", lambda like, cpu=cpu: cpu)
        given = numbers.clone().requires_grad_()
        made = work(given)
        (made * torch.linspace(1, 2, made.numel(), dtype=made.dtype).view(made.shape)).sum().backward()
        assert given.grad is not None
        found.append([made.detach(), given.grad])
    return found


def test_what_is_picked_is_what_gather_picks_and_so_is_its_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = torch.rand(3, 7, dtype=torch.float64)
    at = torch.randint(7, (3, 40), generator=torch.Generator().manual_seed(1))
    for ours, expected in zip(*both(lambda x: ordered.picked(x, at), numbers, monkeypatch), strict=True):
        assert torch.allclose(ours, expected, rtol=0, atol=1e-12)
    steps = torch.rand(2, 5, 4, 3, dtype=torch.float64)
    heads = torch.randint(5, (2, 9, 4), generator=torch.Generator().manual_seed(2))
    for ours, expected in zip(*both(lambda x: ordered.picked_steps(x, heads), steps, monkeypatch), strict=True):
        assert torch.allclose(ours, expected, rtol=0, atol=1e-12)


def test_what_is_added_up_is_what_scatter_add_adds_up(monkeypatch: pytest.MonkeyPatch) -> None:
    values, at = (
        torch.rand(50, dtype=torch.float64),
        torch.randint(6, (50,), generator=torch.Generator().manual_seed(3)),
    )
    for cpu in (True, False):
        monkeypatch.setattr(ordered, "has_order", lambda like, cpu=cpu: cpu)
        sums = ordered.added_up(values, at, 6)
        expected = [float(values[at == place].sum()) for place in range(6)]
        assert sums.tolist() == pytest.approx(expected, rel=1e-12)
