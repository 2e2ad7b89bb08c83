"""Constraints that are Python functions of the user's own: how a file marks them, and which values they take."""

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any, Final, TypeVar

from skipstack.data.basis.errors import UserError

Function = TypeVar("Function", bound=Callable[..., object])

MARK: Final = "is_constraint_of_skipstack"


def constraint(function: Function) -> Function:
    """Mark a function in a file of own code as a constraint, which studies may name.

    Its parameters are the axes that it reads, by their unambiguous short names, ``__`` for a dot; it returns whether
    their values may be tried together::

        @constraint
        def fits(hidden: int, optimiser__learning_rate: float) -> bool:
            return hidden * optimiser__learning_rate < 4
    """
    setattr(function, MARK, True)
    return function


def is_constraint(value: object) -> bool:
    """Whether a value was marked by ``constraint``."""
    return callable(value) and getattr(value, MARK, False) is True


def parameters_of(function: Callable[..., object], where: str) -> tuple[str, ...]:
    """The axes that a constraint reads, as its parameters name them. Parameters with a default are no axes.

    Raises UserError, which begins with ``where``, for a function without one, and for ``*args``, ``**kwargs`` and
    parameters that have no name in a call.
    """
    try:
        found: list[Any] = list(signature(function).parameters.values())
    except (TypeError, ValueError):
        found = []
    named = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    if wrong := next((each for each in found if each.kind not in named), None):
        raise UserError(f"{where}: got a parameter {wrong} (allowed: parameters with the names of axes)")
    axes = tuple(each.name for each in found if each.default is Parameter.empty)
    if not axes:
        raise UserError(f"{where}: got no parameter (allowed: a function whose parameters have the names of axes)")
    return axes
