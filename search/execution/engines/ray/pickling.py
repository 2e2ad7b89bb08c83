"""Checks, before a study begins, that a user's function can be sent to the workers' processes."""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ray import cloudpickle

from skipstack.data.basis.errors import UserError, one_line


def check_can_be_sent(function: Callable[..., object]) -> None:
    """Raise UserError, with the variable that is to blame, if Ray cannot send ``function`` to other processes."""
    if (why := _refusal(function)) is None:
        return
    name, inner = _variable(function)
    blamed = f"variable {name}: " if name else ""
    raise UserError(
        f"objective: {blamed}{_refusal(inner) or why}, so Ray cannot send the function to its workers (allowed: to "
        f'make {name or "such objects"} inside of the function, or engine="serial")'
    )


def _refusal(value: object) -> str | None:
    """The reason why a value cannot be pickled; None if it can."""
    try:
        cloudpickle.dumps(value)
    except Exception as error:  # noqa: BLE001 (an object's own code may raise anything)
        return one_line(error).removeprefix("TypeError: ")
    return None


def _variable(function: object, around: tuple[object, ...] = ()) -> tuple[str, object]:
    """The name and the value of the innermost variable of ``function`` that cannot be pickled; an empty name if none of
    its variables is to blame. ``around``: the objects in which ``function`` was found. They are not searched again: a
    function that calls itself is its own variable.
    """
    around = (*around, function)
    others = ((name, each) for name, each in _variables(function).items() if not any(each is one for one in around))
    name, value = next(((name, each) for name, each in others if _refusal(each)), ("", function))
    if not name:
        return name, value
    inner, to_blame = _variable(value, around)
    return (f"{name}.{inner}", to_blame) if inner else (name, value)


def _variables(function: object) -> Mapping[str, Any]:
    """The variables, by name, that a function takes from enclosing scopes and from its module. For a partial, its
    function and arguments; for a method, also its object; for another callable object, its attributes.
    """
    if isinstance(function, partial):
        by_position = {f"args[{at}]": each for at, each in enumerate(function.args)}
        return {"func": function.func, **by_position, **function.keywords}
    if inspect.ismethod(function):
        return {"self": function.__self__, **_variables(function.__func__)}
    if inspect.isfunction(function):
        around = inspect.getclosurevars(function)
        return {**around.nonlocals, **around.globals}
    return getattr(function, "__dict__", {})
