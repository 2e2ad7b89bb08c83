"""Compiled updates of all parameters in one call, by the rules of ``models/training/optimisers.py``.

A parameter's slots are its arrays of optimiser state: none, one or two. Axes: R lanes (a lane is one seed's copy of the
network); P parameters; N numbers of a lane, or of a row; K arrays, a parameter and then its slots; U rows of a table
that have a gradient; E entries of a row.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numba import carray, types
from numba.extending import intrinsic
from numpy.typing import NDArray
from torch import Tensor

from skipstack.models.kernels.compiled.arrays import arrays, numbers
from skipstack.models.kernels.compiled.rowwise import Array, add
from skipstack.models.kernels.compiling import compiled, inlined

SGD, MOMENTUM, ADAGRAD, ADAM = range(4)
RULES: Final = {"sgd": SGD, "momentum": MOMENTUM, "adagrad": ADAGRAD, "adam": ADAM}
"""The rules, by the names that optimisers use."""


class Update:
    """Updates parameters and their slots in one call: all their numbers, or some rows of a single table.

    The object keeps writing to the tensors' original memory, so other code must change tensors only in place.
    """

    def __init__(self, rule: str, tensors_P: Sequence[list[Tensor]]) -> None:
        self.rule = RULES[rule]
        self.held = [[each.detach() for each in tensors] for tensors in tensors_P]
        self.addresses_PK = np.array([[each.data_ptr() for each in tensors] for tensors in tensors_P])
        self.sizes_P = np.array([tensors[0][0].numel() for tensors in tensors_P])

    def __call__(self, gradients_P: Sequence[Tensor], rate_R: Tensor, constants: Sequence[float]) -> None:
        """Updates all parameters. ``rate_R``: each lane's learning rate. ``constants``: see ``move``."""
        gradients_P = [each.contiguous() for each in gradients_P]  # the copies must live until the end of this call
        rates, addresses_P = numbers(rate_R), np.array([each.data_ptr() for each in gradients_P])
        known = self.rule, self.addresses_PK, addresses_P, self.sizes_P
        all_numbers(*known, rates, np.array(constants, rates.dtype))

    def rows(self, places_2U: Tensor, gradient_UE: Tensor, rate_R: Tensor, constants: Sequence[float]) -> None:
        """Updates the rows ``places_2U`` (lane, index) of the only table. ``constants``: see ``move``."""
        gradient, places, rates = arrays(gradient_UE, places_2U, rate_R)
        some_rows(
            self.rule, self.addresses_PK[0], places, self.sizes_P[0], gradient, rates, np.array(constants, rates.dtype)
        )


@compiled
def all_numbers(
    rule: int,
    addresses_PK: NDArray[np.int64],
    gradients_P: NDArray[np.int64],
    sizes_P: NDArray[np.int64],
    rate_R: Array,
    constants: Array,
) -> None:
    """Updates all numbers of parameters and slots in place. ``addresses_PK``: the addresses of their memory.
    ``gradients_P``: the addresses of the gradients. ``sizes_P``: the count of each parameter's numbers in a lane.
    """
    for p in range(len(sizes_P)):
        size = sizes_P[p]
        for r in range(len(rate_R)):
            gradient = numbers_at(gradients_P[p], r * size, size, rate_R)
            move_at(rule, addresses_PK[p], r * size, gradient, rate_R[r], constants)


@compiled
def some_rows(
    rule: int,
    addresses_K: NDArray[np.int64],
    places_2U: NDArray[np.int64],
    size: int,
    gradient_UE: Array,
    rate_R: Array,
    constants: Array,
) -> None:
    """Updates the rows ``places_2U`` of a table and of its slots in place. ``addresses_K``: the addresses of their
    memory. ``size``: the count of numbers in a lane's table.
    """
    for u in range(len(gradient_UE)):
        lane, row = places_2U[0, u], places_2U[1, u]
        first = lane * size + row * gradient_UE.shape[1]
        move_at(rule, addresses_K, first, gradient_UE[u], rate_R[lane], constants)


@inlined
def move_at(
    rule: int, addresses_K: NDArray[np.int64], first: int, gradient_N: Array, rate: float, constants: Array
) -> None:
    """Calls ``move`` on the parameter and the slots at these addresses, from number ``first`` on."""
    count, most = len(gradient_N), len(addresses_K) - 1
    parameter = numbers_at(addresses_K[0], first, count, gradient_N)
    one = numbers_at(addresses_K[min(1, most)], first, count, gradient_N)
    other = numbers_at(addresses_K[min(2, most)], first, count, gradient_N)
    move(rule, parameter, gradient_N, one, other, rate, constants)


@inlined
def move(
    rule: int, parameter_N: Array, gradient_N: Array, first_N: Array, second_N: Array, rate: float, constants: Array
) -> None:
    """Updates N numbers of a parameter. ``first_N``, ``second_N``: the rule's slots, if any, in the optimiser's order.

    ``constants``: for momentum, the factor of the velocity. For Adagrad, epsilon. For Adam, beta_1, 1 - beta_1,
    beta_2, 1 - beta_2, epsilon, and the divisors that correct the averages of the gradients and of their squares. In
    float32, 1 - beta_2 would have few right digits if it were computed from beta_2.
    """
    if rule == SGD:
        for j in range(len(parameter_N)):
            parameter_N[j] -= rate * gradient_N[j]
    elif rule == MOMENTUM:
        for j in range(len(parameter_N)):
            first_N[j] *= constants[0]
        add(first_N, gradient_N)
        for j in range(len(parameter_N)):
            parameter_N[j] -= rate * first_N[j]
    elif rule == ADAGRAD:
        for j in range(len(parameter_N)):
            first_N[j] += gradient_N[j] * gradient_N[j]
        for j in range(len(parameter_N)):
            parameter_N[j] -= rate * (gradient_N[j] / (np.sqrt(first_N[j]) + constants[0]))
    elif rule == ADAM:
        beta1, new1, beta2, new2 = constants[0], constants[1], constants[2], constants[3]
        epsilon, whole1, whole2 = constants[4], constants[5], constants[6]
        for j in range(len(parameter_N)):
            first_N[j] = beta1 * first_N[j] + new1 * gradient_N[j]
        for j in range(len(parameter_N)):
            second_N[j] = beta2 * second_N[j] + new2 * gradient_N[j] * gradient_N[j]
        for j in range(len(parameter_N)):
            parameter_N[j] -= rate * (first_N[j] / whole1 / (np.sqrt(second_N[j] / whole2) + epsilon))


@intrinsic  # type: ignore[untyped-decorator]
def pointer(typing: Any, address: Any) -> Any:
    """Returns an address as a pointer from which numba can read."""

    def build(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.inttoptr(given[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.int64), build


@inlined
def numbers_at(address: int, first: int, count: int, like: Array) -> Array:
    """Returns the ``count`` numbers at ``address``, from number ``first`` on, as an array of the type of ``like``."""
    numbers: Array = carray(pointer(np.int64(address + first * like.itemsize)), count, like.dtype)
    return numbers
