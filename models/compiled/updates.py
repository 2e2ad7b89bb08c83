"""Updates of parameters, compiled: what ``models/training/optimisers.py`` defines, in one call for all parameters.

R lanes; P parameters, each of so many numbers a lane; N numbers of a lane, or of a row. K: a parameter and its slots,
none to two; one that the rule does not have stands for nothing. U rows of a table that have a gradient.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from skipstack.models.compiled.addresses import numbers_at
from skipstack.models.compiled.arithmetic import ONE
from skipstack.models.compiled.arrays import arrays, numbers
from skipstack.models.compiled.compiling import compiled, inlined
from skipstack.models.compiled.steps import Array, add

SGD, MOMENTUM, ADAGRAD, ADAM = range(4)
RULES: Final = {"sgd": SGD, "momentum": MOMENTUM, "adagrad": ADAGRAD, "adam": ADAM}
"""By the names that optimisers have for them."""


def update(
    rule: str, parts_P: Sequence[tuple[list[Tensor], Tensor]], rate_R: Tensor, constants: Sequence[float]
) -> None:
    """All of some parameters: each with the slots that the rule has, and with its gradient."""
    lanes, gradients = len(rate_R), [gradient.contiguous() for _, gradient in parts_P]  # which are held until the end
    addresses = [each.data_ptr() for parts in parts_P for each in parts[0]]
    of_gradients = [each.data_ptr() for each in gradients]
    sizes_P = [each.numel() // lanes for each in gradients]
    rates, addresses_PK = numbers(rate_R), np.array(addresses).reshape(len(gradients), -1)
    given = addresses_PK, np.array(of_gradients), np.array(sizes_P)
    all_numbers(RULES[rule], *given, rates, np.array(constants, rates.dtype))


def update_rows(
    rule: str, tensors: list[Tensor], rows: tuple[Tensor, ...], rate_R: Tensor, constants: Sequence[float]
) -> None:
    """Those rows of a table, given with its slots, that have a gradient: lane_U, row_U and gradient_UE."""
    table, first, second, lane_U, row_U, gradient_UE, rates = arrays(*filled(tensors), *rows, rate_R)
    some_rows(RULES[rule], table, first, second, lane_U, row_U, gradient_UE, rates, np.array(constants, rates.dtype))


def filled(tensors: list[Tensor]) -> list[Tensor]:
    """A parameter and two slots: itself for those that there are not."""
    return [*tensors, *[tensors[0]] * (3 - len(tensors))]


@compiled
def all_numbers(
    rule: int,
    addresses_PK: NDArray[np.int64],
    gradients_P: NDArray[np.int64],
    sizes_P: NDArray[np.int64],
    rate_R: Array,
    constants: Array,
) -> None:
    """Writes parameters and slots in place."""
    most = addresses_PK.shape[1] - 1
    for p in range(len(sizes_P)):
        size, addresses_K = sizes_P[p], addresses_PK[p]
        for r in range(len(rate_R)):
            parameter = numbers_at(addresses_K[0], r * size, size, rate_R)
            gradient = numbers_at(gradients_P[p], r * size, size, rate_R)
            first = numbers_at(addresses_K[min(1, most)], r * size, size, rate_R)
            second = numbers_at(addresses_K[min(2, most)], r * size, size, rate_R)
            move(rule, parameter, gradient, first, second, rate_R[r], constants)


@compiled
def some_rows(
    rule: int,
    table_RVE: Array,
    first_RVE: Array,
    second_RVE: Array,
    lane_U: NDArray[np.int64],
    row_U: NDArray[np.int64],
    gradient_UE: Array,
    rate_R: Array,
    constants: Array,
) -> None:
    """The same, of these rows."""
    for u in range(len(row_U)):
        r, v = lane_U[u], row_U[u]
        move(rule, table_RVE[r, v], gradient_UE[u], first_RVE[r, v], second_RVE[r, v], rate_R[r], constants)


@inlined
def move(
    rule: int, parameter_N: Array, gradient_N: Array, first_N: Array, second_N: Array, rate: float, constants: Array
) -> None:
    """One row of numbers; ``first`` and ``second`` are the slots in the order in which the optimiser names them.

    ``constants``: the factor of the velocity; epsilon; of Adam beta_1, beta_2, epsilon, and what corrects the averages.
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
        beta1, beta2, epsilon = constants[0], constants[1], constants[2]
        whole1, whole2 = constants[3], constants[4]
        for j in range(len(parameter_N)):
            first_N[j] = beta1 * first_N[j] + (ONE - beta1) * gradient_N[j]
        for j in range(len(parameter_N)):
            second_N[j] = beta2 * second_N[j] + (ONE - beta2) * gradient_N[j] * gradient_N[j]
        for j in range(len(parameter_N)):
            parameter_N[j] -= rate * (first_N[j] / whole1 / (np.sqrt(second_N[j] / whole2) + epsilon))
