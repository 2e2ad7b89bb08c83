"""What is written over between a forward and a backward pass gives an error, as in torch, and no wrong gradient.

Every function with a backward pass of its own has a case here.
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import pytest
import torch
from torch import Tensor

from skipstack import models
from skipstack.models.configs.training import Adagrad, Adam, AdamW, LazyAdam, Sgd
from skipstack.models.ground.once import Once
from skipstack.models.kernels.compiled.arrays import sparse
from skipstack.models.layers.recurrence import Recurrence
from skipstack.models.training.lane_optimiser import MANY_ROWS
from skipstack.models.training.optimisers import optimiser
from tests.models.kernels.chosen import chosen
from tests.models.kernels.fused.interpreting import interpreting

MESSAGE = "modified by an inplace operation"
REFUSED = "has been modified inplace with grad mode enabled"
"""What torch says at once of a view that a function without gradients has made."""
GENERATOR = torch.Generator().manual_seed(0)


def numbers(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=GENERATOR, dtype=torch.float64)


def places(below: int, *shape: int) -> Tensor:
    return torch.randint(below, shape, generator=GENERATOR)


@dataclass(frozen=True)
class Case:
    """How a function is called; ``hidden``: tensors that it reads and is not given as such."""

    given: tuple[Any, ...]
    hidden: tuple[Tensor, ...] = ()
    called: Callable[..., Any] | None = field(default=None)

    @property
    def read(self) -> list[Tensor]:
        return [each for each in (*self.given, *self.hidden) if isinstance(each, Tensor)]


LENGTHS_RB = torch.tensor([[3, 2]])
PARTS = numbers(2, 3, 2, 2), numbers(2, 3, 2, 2), numbers(2, 3, 2, 2)
LSTM, BLOCK, GRU = ((numbers(1, 2, 3, 2 * n), numbers(1, 2, 2 * n), numbers(1, 2, 2, 2 * n)) for n in (4, 3, 3))
FACTORS, PREVIOUS = numbers(1, 3, 2, 2), numbers(2, 2, 2)


def tapped(x_GTBX: Tensor, weight_GFX: Tensor, previous_GBF: Tensor) -> Tensor:
    """Of a loop of one step."""
    recurrence = Recurrence(weight_GFX, x_GTBX)
    return recurrence.pre(0, previous_GBF)


CASES = {
    "CompiledLstm": Case((numbers(2, 3, 2, 3), *LSTM, *PARTS, numbers(2, 2, 4), True)),
    "CompiledBlock": Case((numbers(2, 3, 2, 3), *BLOCK, *PARTS, numbers(2, 2, 2))),
    "CompiledGru": Case((numbers(2, 3, 2, 3), *GRU, numbers(1, 2, 2), numbers(2, 2, 2))),
    "CompiledMinimal": Case((numbers(2, 3, 2, 3), numbers(1, 2, 3, 6), numbers(1, 2, 6), 2, numbers(2, 2, 2))),
    "LinearScan": Case((numbers(2, 5, 2, 2), numbers(2, 5, 2, 2), numbers(2, 2, 2))),
    "CompiledBothWays": Case(("lstm", numbers(1, 3, 2, 3), LENGTHS_RB, PARTS[0], *LSTM)),
    "FusedLstm": Case((numbers(2, 3, 2, 8), numbers(2, 2, 8), *PARTS, numbers(2, 2, 4), True)),
    "FusedBlock": Case((numbers(2, 3, 2, 6), numbers(2, 2, 6), *PARTS, numbers(2, 2, 2))),
    "SkipLoop": Case(
        (
            numbers(2, 3, 2, 8),
            numbers(2, 2, 8),
            numbers(2, 2, 2, 4),
            numbers(2),
            lambda t, _: places(2, 2, 2) * 0 + t % 2,
        )
    ),
    "_Tap": Case((numbers(2, 1, 2, 8), numbers(2, 2, 8), PREVIOUS), called=tapped),
    "Moved": Case((numbers(2, 3, 2, 2), LENGTHS_RB, "together", PARTS[0])),
    "CompiledProduct": Case((numbers(2, 3, 4), numbers(2, 4, 2), numbers(2, 1, 2), False)),
    "_ByItself": Case((numbers(2, 3, 4), numbers(2, 4, 2), numbers(2, 1, 2))),
    "_Sigmoid": Case((numbers(2, 3, 4),)),
    "_Product": Case((numbers(2, 3, 4), numbers(2, 4, 2), numbers(2, 1, 2), torch.float64)),
    "CompiledLogLoss": Case((numbers(1, 3, 2, 3), numbers(1, 3, 4), numbers(1, 1, 4), places(4, 1, 3, 2))),
    "CompiledCharacterCnn": Case((places(5, 1, 3, 4), 0, numbers(1, 5, 2), numbers(1, 6, 3), numbers(1, 1, 3))),
    "SideBySide": Case((1, lambda _: FACTORS, (False,), numbers(1, 5, 2), places(5, 1, 3, 2, 1)), (FACTORS,)),
    "LookUp": Case((numbers(1, 5, 2), places(5, 1, 3))),
    "_LargestSum": Case((numbers(5, 2), places(5, 3, 2, 2))),
    "_MatrixLogPartition": Case(
        (numbers(1, 3, 2, 3), numbers(1, 3), -numbers(1, 3, 3).abs(), numbers(1, 3), LENGTHS_RB, True)
    ),
    "_LogProduct": Case((numbers(1, 2, 3), numbers(1, 3, 3), torch.empty(1, 2, 3, 3, dtype=torch.float64))),
}
"""By the names of the functions."""


def functions() -> dict[str, Any]:
    for module in pkgutil.walk_packages(models.__path__, "skipstack.models."):
        if module.name != "skipstack.models.kernels.fused.kernels" and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    left, found = [torch.autograd.Function], dict[str, Any]()
    while left:
        for each in left.pop().__subclasses__():
            left.append(each)
            if each.__module__.startswith("skipstack.") and each is not Once:
                found[each.__name__] = each
    return found


FUNCTIONS = functions()


def test_every_function_has_a_case() -> None:
    assert set(FUNCTIONS) == set(CASES)


def after(name: str, change: Callable[[list[Tensor]], None]) -> list[Tensor]:
    """The gradients where ``change`` writes into what the function read, or put out, in between."""
    case = CASES[name]
    copies = {id(each): each.clone().requires_grad_(each.is_floating_point()) for each in case.read}
    given = [copies[id(each)] if isinstance(each, Tensor) else each for each in case.given]
    if case.hidden:
        given[1] = lambda _: copies[id(FACTORS)]
    with chosen("reference"), interpreting() if name.startswith("Fused") else nullcontext():
        out = (case.called or FUNCTIONS[name].apply)(*given)
        outputs = [out] if isinstance(out, Tensor) else [*out]
        read = [copies[id(each)] for each in case.read]
        with torch.no_grad():
            change([*read, *outputs])
        above = torch.linspace(1, 2, outputs[0].numel(), dtype=torch.float64).view(outputs[0].shape)
        asked = [each for each in read if each.requires_grad]
        found = torch.autograd.grad(outputs[0], asked, above, allow_unused=True)
    return [each.to_dense() for each in found if each is not None]


def write_over(tensor: Tensor) -> None:
    """Other numbers, as valid as those before."""
    if tensor.is_floating_point():
        tensor.mul_(0.5).sub_(0.25)
    else:
        tensor.copy_(tensor.flatten().roll(1).view(tensor.shape))


def written() -> Iterator[Any]:
    for name, case in CASES.items():
        for number in range(len(case.read) + 2):
            yield pytest.param(name, number, id=f"{name}-{number}")


@pytest.mark.first(4)
@pytest.mark.parametrize(("name", "number"), [*written()])
def test_what_is_written_over_in_between_is_an_error_or_changes_nothing(name: str, number: int) -> None:
    if name.startswith("Fused") and find_spec("triton") is None:
        pytest.skip("Triton is not installed: this system has none")

    def change(tensors: list[Tensor]) -> None:
        for tensor in tensors[number : number + 1]:
            write_over(tensor)

    exact = after(name, lambda _: None)
    assert exact, "there are gradients"
    said = ""
    try:
        found = after(name, change)
    except RuntimeError as error:
        said, found = str(error), exact
    assert said == "" or MESSAGE in said or REFUSED in said
    assert all(torch.equal(*each) for each in zip(exact, found, strict=True))


@pytest.mark.parametrize("kernels", ["reference", "compiled"])
@pytest.mark.parametrize("by_row", [False, True])
@pytest.mark.parametrize("config", [Sgd(), Sgd(momentum=0.5), Adagrad(), Adam(), AdamW(), LazyAdam()])
def test_an_update_of_weights_in_between_is_an_error(config: Any, by_row: bool, kernels: Any) -> None:
    """As one by an optimiser of torch is, whoever writes the numbers."""
    table = torch.nn.Parameter(numbers(1, MANY_ROWS, 2).float())
    with chosen(kernels):
        stepping = optimiser(config, {"table": table}, biases=True)
        if by_row and not stepping.by_row(table):
            pytest.skip("this one has no updates by rows")
        loss = (table * table).sum()
        table.grad = torch.ones_like(table)
        if by_row:
            table.grad = sparse(torch.tensor([[0, 0], [1, 3]]), torch.ones(2, 2), table.shape)
        stepping.step(torch.ones(1))
        with pytest.raises(RuntimeError, match=MESSAGE):
            loss.backward()
