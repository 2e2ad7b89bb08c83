"""The device that is not there: what its tensors are, what may not be done with them, what is counted."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from skipstack.models.conformance.accelerator.simulated import Accelerator, DevicesMixError, HostReadsError
from skipstack.models.conformance.accelerator.work import Work
from skipstack.models.kernels.fused.loops import FusedBlock, FusedLstm
from tests.pages import ROOT


@pytest.fixture
def accelerator() -> Iterator[Accelerator]:
    with Accelerator() as entered:
        yield entered


def there(accelerator: Accelerator, *shape: int) -> Tensor:
    return torch.empty(shape, device=accelerator.device)


@pytest.mark.parametrize(
    "read",
    [
        lambda x: float(x.sum()),
        lambda x: bool((x > 0).any()),
        lambda x: x[x > 0],
        lambda x: x.nonzero(),
        lambda x: torch.unique(x),
        lambda x: x.masked_select(x > 0),
        lambda x: x.index_put_((x > 0,), x.new_ones(1)),
        lambda x: x.sum().tolist(),
    ],
)
def test_what_depends_on_a_number_of_the_device_is_an_error(
    read: Callable[[Tensor], object], accelerator: Accelerator
) -> None:
    with pytest.raises(HostReadsError, match="reads a number of the device"):
        read(there(accelerator, 3, 4))


@pytest.mark.slow
def test_a_scan_over_time_launches_a_few_operations_for_each_doubling_of_the_steps() -> None:
    """Forward and backward: less than a loop, in short sentences and far more so in long texts."""
    command = [sys.executable, "-m", "tests.models.conformance.accelerator.scan"]
    counted = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)
    short, twice, long = counted["scan"]
    assert long - short == 6 * (twice - short)
    assert counted["waits"] == 0
    assert short < counted["loop"][0]
    assert 30 * long < counted["loop"][2]


@pytest.mark.parametrize(
    "mixed",
    [
        lambda x: x + torch.ones(3, 4),
        lambda x: x.add_(torch.ones(3, 4)),
        lambda x: x[torch.tensor([0, 1])],
        lambda x: torch.cat([x, torch.ones(3, 4)]),
        lambda x: torch.mul(x, x, out=torch.ones(3, 4)),
    ],
)
def test_devices_do_not_mix(mixed: Callable[[Tensor], object], accelerator: Accelerator) -> None:
    with pytest.raises(DevicesMixError):
        mixed(there(accelerator, 3, 4))


def test_the_host_computes_as_ever_and_is_not_counted(accelerator: Accelerator) -> None:
    assert (torch.ones(3) * 2).tolist() == [2, 2, 2]
    assert accelerator.work == Work()


def test_a_single_number_of_the_host_goes_along_with_an_operation(accelerator: Accelerator) -> None:
    assert (there(accelerator, 3) * torch.tensor(2.0)).device == accelerator.device
    assert accelerator.work.waits == 0


def test_operations_are_launched_once_each_and_views_not_at_all(accelerator: Accelerator) -> None:
    x, y = there(accelerator, 3, 4), there(accelerator, 3, 4)
    x.t().unsqueeze(0).expand(7, 4, 3).unbind()
    assert accelerator.work == Work()
    torch.addcmul(x, x, y, out=y)  # reads three of 48 bytes, writes one of them
    assert accelerator.work == Work(launches=1, moved=5 * 48)
    (x @ y.t()).sigmoid_()
    assert accelerator.work.launches == 3
    before = accelerator.work.moved
    x.index_select(0, torch.zeros(1, dtype=torch.long).to(accelerator.device))
    assert accelerator.work.moved - before == 16 + 8 + 16  # a row, its number, and the row again


def test_a_product_that_is_added_to_something_is_two_launches_and_one_into_a_place_of_its_own_is_one(
    accelerator: Accelerator,
) -> None:
    x, y = there(accelerator, 2, 3, 3), there(accelerator, 2, 3, 3)
    torch.bmm(x, y, out=torch.empty_like(x))
    assert accelerator.work.launches == 1
    torch.baddbmm(x, x, y)
    torch.baddbmm(x, x, y, out=torch.empty_like(x))
    assert accelerator.work.launches == 1 + 2 + 2
    x.baddbmm_(x, y)
    assert accelerator.work.launches == 1 + 2 + 2 + 1


class Context:
    """What a function keeps for its backward pass, which is called without autograd's threads here."""

    saved_tensors: tuple[Tensor, ...] = ()

    def save_for_backward(self, *tensors: Tensor) -> None:
        self.saved_tensors = tensors

    def mark_non_differentiable(self, *_: Tensor) -> None:
        pass


@pytest.mark.parametrize(("layer", "gates"), [(FusedLstm, 4), (FusedBlock, 3)])
def test_a_step_through_time_is_two_launches_forward_and_two_back(
    layer: Any, gates: int, accelerator: Accelerator
) -> None:
    def launches(steps: int) -> list[int]:
        context, start = Context(), accelerator.work.launches
        x_GTBX, weight_GHX = there(accelerator, 2, steps, 3, 4 * gates), there(accelerator, 2, 4, 4 * gates)
        updated = [False] if gates == 4 else []
        found = layer.forward(context, x_GTBX, weight_GHX, None, None, None, None, *updated)
        between = accelerator.work.launches
        layer.backward(context, *(torch.empty_like(each) for each in (found if gates == 4 else [found])))
        return [between - start, accelerator.work.launches - between]

    few, more = launches(4), launches(9)
    assert [after - before for before, after in zip(few, more, strict=True)] == [2 * 5, 2 * 5]


def test_copies_wait_but_those_from_pinned_memory_that_are_asked_not_to(accelerator: Accelerator) -> None:
    array, work = np.ones((3, 4), dtype=np.float32), accelerator.work
    torch.as_tensor(array, device=accelerator.device)
    torch.tensor([1.0, 2.0], device=accelerator.device)
    there(accelerator, 2).new_tensor([1.0, 2.0])
    there(accelerator, 3, 4).copy_(torch.from_numpy(array))
    assert (work.waits, work.sent) == (4, 2 * 48 + 2 * 8)
    torch.from_numpy(array).to(accelerator.device, non_blocking=True)
    assert work.waits == 5
    pinned = torch.from_numpy(array).pin_memory()
    pinned.to(accelerator.device)
    assert work.waits == 6
    pinned[1:].to(accelerator.device, non_blocking=True)
    assert work.waits == 6
    back = there(accelerator, 3, 4).cpu()
    assert (work.waits, work.returned) == (7, 48)
    assert back.tolist() == np.zeros((3, 4)).tolist()
