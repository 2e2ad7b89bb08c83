"""A stand-in for CUDA graphs on a CPU: the operations of torch that a step consists of, done again on the same memory.

As with a graph, nothing is computed while it is recorded, nothing of Python is repeated, and what a replay leaves
behind is gone before the next: so a number that Python knew, a tensor that the step was given, or one that was bound
anew shows up as a wrong number, and what reads memory that it did not write as no number.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from skipstack.models.training.captured import tensors
from skipstack.models.training.graphs import Graphs

Done = TypeVar("Done")

READS = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}
"""What an operation is tagged with by torch that gives the host a number, or as many as the numbers say."""
PLACES = {torch.ops.aten.index.Tensor, torch.ops.aten.index_put.default, torch.ops.aten.index_put_.default}
"""Operations at places, which do so where flags name the places."""
SPOILT = 77
"""A whole number where nobody may look; elsewhere there is none."""


class HostReadsError(RuntimeError):
    """A step asks for a number while it is recorded."""


@dataclass(frozen=True, slots=True, eq=False)
class Recorded:
    """An operation, and the tensors that it made: those that are no views of what it was given."""

    func: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    made: list[Tensor | None]

    def __call__(self) -> None:
        result = self.func(*self.args, **self.kwargs)
        again = [result] if isinstance(result, Tensor) else tensors(result)  # mostly it is one
        for into, value in zip(self.made, again, strict=True):
            if into is not None:
                spoil([into]) if self.func.__name__.startswith(("empty", "new_empty")) else into.copy_(value)


class Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Does what it records, and undoes it on leaving."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.recorded: list[Recorded] = []
        self.own: set[int] = set()
        self.before: dict[int, tuple[Tensor, Tensor]] = {}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if flags(args[1]) if func in PLACES else READS & set(func.tags):
            raise HostReadsError(f"{func} reads a number")
        given = tensors([list(args), list(kwargs.values())])
        for each in written(func, args, kwargs):
            self._keep(each)
        result = func(*args, **kwargs)
        places = {place(each) for each in given}
        made = [None if place(each) in places else each for each in tensors([result])]
        self.own |= {place(each) for each in made if each is not None}
        if not is_view(func):
            self.recorded.append(Recorded(func, args, kwargs, made))
        return result

    def _keep(self, written: Tensor) -> None:
        """All of what is written and was there before."""
        at = place(written)
        if at not in self.own and at not in self.before:
            whole = written.detach().as_strided((written.untyped_storage().nbytes() // written.itemsize,), (1,), 0)
            self.before[at] = whole, whole.clone()

    def undo(self) -> None:
        """What stood there before stands there again."""
        for whole, value in self.before.values():
            whole.copy_(value)

    @cached_property
    def made(self) -> list[Tensor]:
        """All that its operations made."""
        return [made for each in self.recorded for made in each.made if made is not None]

    def spoil(self) -> None:
        """Leave nothing of what was made here, but for what is still in use."""
        spoil(self.made)


class ReplayedOnCpu(Graphs):
    """What a test puts in the place of ``CudaGraphs``. ``replays``: how often anything was replayed."""

    def __init__(self) -> None:
        self.recorders: list[Recorder] = []
        self.replays = 0
        self._replayed: Recorder | None = None

    def warmed(self, work: Callable[[], Done]) -> Done:
        """As ever."""
        self._spoil()
        return work()

    def recorded(self, work: Callable[[], None]) -> Callable[[], None]:
        """Every operation in its order."""
        self._spoil()
        recorder = Recorder()
        with recorder:
            work()
        recorder.undo()
        self.recorders.append(recorder)
        recorder.spoil()

        def replay() -> None:
            self._spoil()
            self._replayed = recorder
            self.replays += 1
            with torch.no_grad():
                for each in recorder.recorded:
                    each()

        return replay

    def _spoil(self) -> None:
        """What the last replay made: all before it is spoilt."""
        if self._replayed is not None:
            self._replayed.spoil()
            self._replayed = None


def spoil(made: Sequence[Tensor]) -> None:
    """Numbers that nobody may read: thousands of small tensors, many times, so that those of floats go by one call."""
    with torch.no_grad():
        if floats := [each for each in made if each.is_floating_point()]:
            torch._foreach_mul_(floats, torch.nan)
        for each in made:
            if not each.is_floating_point():
                each.fill_(SPOILT)


def place(tensor: Tensor) -> int:
    """Of its memory."""
    return tensor.untyped_storage().data_ptr()


def flags(indices: list[Tensor | None]) -> bool:
    """Whether places are named by flags."""
    return any(each is not None and each.dtype == torch.bool for each in indices)


def is_view(func: Any) -> bool:
    """Whether all that it returns is a part of what it was given, as it is."""
    returns = func._schema.returns
    return bool(returns) and all(each.alias_info is not None and not each.alias_info.is_write for each in returns)


def written(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Tensor]:
    """What an operation writes of its arguments."""
    for number, argument in enumerate(func._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            value = args[number] if number < len(args) else kwargs.get(argument.name)
            yield from tensors([value])
