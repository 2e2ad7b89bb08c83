"""The base class of optimisers, which update each lane (one seed's copy of the network) independently.

Every parameter, gradient and slot (an optimiser's state for a parameter, such as its momentum) has the lane axis first.
Axes: R lanes, U rows of a table that a batch looked up, E numbers of a row.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.autograd.graph import increment_version

from skipstack.models.kernels.bounds import in_range
from skipstack.models.kernels.choice import choose
from skipstack.models.kernels.rows import gradient_rows

if TYPE_CHECKING:
    from skipstack.models.kernels.compiled.updates import Update

Named = Mapping[str, Tensor]

MANY_ROWS = 2_000
"""The minimum number of rows with which a table on a CPU is updated by rows. Updating smaller tables whole is as fast.
The number affects speed only."""


class LaneOptimiser(ABC):
    """Updates parameters in place from their gradients. Slots have names of the form ``slot.parameter``.

    The gradient of a table of vectors may have only the rows that were looked up (``models/kernels/rows.py``). Other
    rows are then not updated. On a CPU, updating all rows can take longer than the rest of a step. So tables of at
    least ``MANY_ROWS`` rows are updated by rows if the result is bit-identical to an update of the whole table. The
    result would differ if rows without a gradient move: by momentum, by Adam's averages, or by an L2 penalty. Without
    an L2 penalty, ``LaneLazyAdam`` updates tables of any size by rows, although the result differs.

    ``slots``: the names of the slots. ``rule``: the name of the compiled kernel
    (``models/kernels/compiled/updates.py``).
    """

    def __init__(self, parameters: Named, slots: tuple[str, ...], rule: str) -> None:
        self.parameters, self.rule = dict(parameters), rule
        self.slots = {
            f"{slot}.{name}": torch.zeros_like(parameter, requires_grad=False)
            for slot in slots
            for name, parameter in self.parameters.items()
        }
        self.tensors = {
            name: [parameter, *(self.slots[f"{slot}.{name}"] for slot in slots)]
            for name, parameter in self.parameters.items()
        }
        assert all(part.is_contiguous() for parts in self.tensors.values() for part in parts), "kernels read memory"
        self.steps: int | Tensor = 0
        self._compiled = cache(self._update)

    @torch.no_grad()
    def step(self, learning_rate_R: Tensor) -> None:
        """Update every parameter that has a gradient, with each lane's learning rate."""
        self.steps += 1
        gradients = {name: each.grad for name, each in self.parameters.items() if each.grad is not None}
        by_row = [name for name, each in gradients.items() if each.is_sparse]
        if whole := {name: each for name, each in gradients.items() if name not in by_row}:
            self.update(whole, learning_rate_R)
        for name in by_row:
            self.update_rows(name, learning_rate_R)
        # Torch does not know that kernels have overwritten memory. With the new version number, torch raises an error
        # if a later backward pass needs the old values.
        increment_version([self.parameters[name] for name in gradients])

    def update(self, gradients: Named, learning_rate_R: Tensor) -> None:
        """Subtract the learning rate times the ``direction`` from each parameter named in ``gradients``."""
        if choose("updates", learning_rate_R) == "compiled":
            self._compiled(tuple(gradients))(list(gradients.values()), learning_rate_R, self.constants())
            return
        for name, gradient in gradients.items():
            rate = learning_rate_R.view(-1, *[1] * (gradient.dim() - 1))
            self._move(self.tensors[name], gradient, rate)

    def update_rows(self, name: str, learning_rate_R: Tensor) -> None:
        """Update the rows of the table ``name`` that have a gradient."""
        places_2U, gradient_UE = gradient_rows(self.parameters[name])
        if choose("updates", learning_rate_R) == "compiled":
            lanes, size, _ = self.parameters[name].shape
            assert in_range(places_2U[0], 0, lanes), "a lane of the table"
            assert in_range(places_2U[1], 0, size), "a row of the table"
            self._compiled((name,)).rows(places_2U, gradient_UE, learning_rate_R, self.constants())
            return
        lane_U, row_U = places_2U
        at_U = lane_U * self.parameters[name].shape[1] + row_U
        tables = [each.flatten(0, 1) for each in self.tensors[name]]
        rows = [table.index_select(0, at_U) for table in tables]
        self._move(rows, gradient_UE, learning_rate_R[lane_U].unsqueeze(1))
        for table, row_UE in zip(tables, rows, strict=True):
            table.index_copy_(0, at_U, row_UE)

    def _update(self, names: tuple[str, ...]) -> "Update":
        from skipstack.models.kernels.compiled.updates import Update  # numba takes a quarter of a second to load

        return Update(self.rule, [self.tensors[name] for name in names])

    def _move(self, tensors: Sequence[Tensor], gradient: Tensor, rate: Tensor) -> None:
        parameter, *slots = tensors
        parameter.addcmul_(rate, self.direction(gradient, slots), value=-1)

    @abstractmethod
    def direction(self, gradient: Tensor, slots: Sequence[Tensor]) -> Tensor:
        """Update the slots of a parameter, or of some rows, with the gradient; return the direction of the update."""

    @abstractmethod
    def constants(self) -> tuple[float, ...]:
        """Return the arguments of the compiled kernel besides the learning rate."""

    def by_row(self, table: Tensor) -> bool:
        """Whether the gradient of a table should have only the rows that were looked up; by default False."""
        return False

    def count_on(self, device: torch.device) -> None:
        """Count steps in a tensor on ``device`` from now on, so that replays of captured steps update the count."""
        self.steps = torch.as_tensor(self.steps).to(device)

    def state(self) -> dict[str, Tensor]:
        """Return the slots and the number of steps so far. The slots are not copied."""
        return {**self.slots, "steps": torch.as_tensor(self.steps).clone()}

    def load(self, state: Named) -> None:
        """Restore the slots and the number of steps from a result of ``state``."""
        for name, tensor in self.slots.items():
            tensor.copy_(state[name])
        if isinstance(self.steps, int):
            self.steps = int(state["steps"])
        else:
            self.steps.copy_(state["steps"])


def many_rows(table: Tensor) -> bool:
    """Whether updating a table by rows saves time: on a CPU, with at least ``MANY_ROWS`` rows."""
    return table.shape[1] >= MANY_ROWS and table.device.type == "cpu"
