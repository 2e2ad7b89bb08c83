"""The stand-in for CUDA graphs shows what a graph would do to a step that is not made for it."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from tests.models.training.standin import HostReadsError, ReplayedOnCpu


def replayed(work: Callable[[], Tensor], change: Callable[[], object], times: int = 2) -> list[float]:
    """What ``work`` gives in some replays, with ``change`` before each."""
    graphs, kept = ReplayedOnCpu(), list[Tensor]()
    replay = graphs.recorded(lambda: kept.append(work()))
    found = []
    for _ in range(times):
        change()
        replay()
        found.append(float(kept[0]))
    return found


def test_nothing_is_done_while_it_is_recorded_and_all_of_it_in_each_replay() -> None:
    x, total = torch.tensor([1.0, 2.0], requires_grad=True), torch.zeros(2)

    def work() -> Tensor:
        x.grad = None
        y = (x * x).sum()
        y.backward()  # type: ignore[no-untyped-call]
        assert x.grad is not None
        with torch.no_grad():
            x.sub_(0.25 * x.grad)
            total.view(1, 2)[0].add_(x)
        return y.detach()

    ReplayedOnCpu().recorded(work)
    assert (x.tolist(), total.tolist()) == ([1, 2], [0, 0])
    assert replayed(work, lambda: None, 3) == [5, 1.25, 0.3125]
    assert total.tolist() == [0.5 + 0.25 + 0.125, 1.75]


def test_a_number_of_python_is_a_constant_and_one_in_a_tensor_is_none() -> None:
    count, counted = [0], torch.tensor(0.0)

    def further() -> None:
        count[0] += 1
        counted.add_(1)

    assert replayed(lambda: torch.zeros(()) + count[0], further) == [0, 0]
    assert replayed(lambda: torch.zeros(()) + counted, further) == [3, 4]


def test_a_tensor_that_takes_the_place_of_another_is_not_read() -> None:
    held = [torch.tensor(1.0)]

    def rebound() -> None:
        held[0] = held[0] + 1

    assert replayed(lambda: held[0] * 2, rebound) == [2, 2]


def test_what_a_step_left_for_the_next_is_no_number() -> None:
    made = list[Tensor]()

    def work() -> Tensor:
        made.append(torch.zeros(()) if not made else made[-1] + 1)
        return made[-1].clone()

    graphs = ReplayedOnCpu()
    graphs.recorded(work)
    second = graphs.recorded(work)
    second()
    assert made[1].isnan()


def test_memory_that_nothing_was_written_to_holds_no_number() -> None:
    assert replayed(lambda: torch.empty(3).sum().isnan().float(), lambda: None) == [1, 1]


@pytest.mark.parametrize(
    "read",
    [
        lambda x: x.sum().item(),
        lambda x: x[x > 0],
        lambda x: x.nonzero(),
        lambda x: torch.unique(x),
        lambda x: x.index_put((x > 0,), x.new_zeros(())),
    ],
)
def test_a_read_on_the_host_is_an_error(read: Callable[[Tensor], object]) -> None:
    x = torch.ones(3)
    with pytest.raises(HostReadsError, match="reads a number"):
        ReplayedOnCpu().recorded(lambda: [read(x)].clear())
