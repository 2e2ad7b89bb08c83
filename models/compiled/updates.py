"""Updates of parameters, compiled: what ``models/training/optimisers.py`` defines, in one call for all parameters.

R lanes; P parameters, each of so many numbers a lane; N numbers of a lane, or of a row. 4: a parameter, its gradient
and two slots; one that the rule does not have is the parameter again. U rows of a table that have a gradient.
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
    contiguous = [gradient.contiguous() for _, gradient in parts_P]
    addresses_P4 = []
    for (tensors, _), gradient in zip(parts_P, contiguous, strict=True):
        parameter, first, second = (each.data_ptr() for each in filled(tensors))
        addresses_P4.append((parameter, gradient.data_ptr(), first, second))
    sizes_P = [gradient.numel() // len(rate_R) for gradient in contiguous]
    rates = numbers(rate_R)
    all_numbers(RULES[rule], np.array(addresses_P4), np.array(sizes_P), rates, np.array(constants, rates.dtype))


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
    rule: int, addresses_P4: NDArray[np.int64], sizes_P: NDArray[np.int64], rate_R: Array, constants: Array
) -> None:
    """Writes parameters and slots in place."""
    for p in range(len(sizes_P)):
        size = sizes_P[p]
        for r in range(len(rate_R)):
            parameter = numbers_at(addresses_P4[p, 0], r * size, size, rate_R)
            gradient = numbers_at(addresses_P4[p, 1], r * size, size, rate_R)
            first = numbers_at(addresses_P4[p, 2], r * size, size, rate_R)
            second = numbers_at(addresses_P4[p, 3], r * size, size, rate_R)
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
