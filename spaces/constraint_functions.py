"""Constraints that are Python functions, passed in beside the objective. A study's record has an entry for each."""

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import CellType
from typing import Any, Final

from pydantic import JsonValue

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import Frozen, canonical_json
from skipstack.data.basis.user_code.files import parameters_of

LAMBDA: Final = "<lambda>"


class ConstraintFunction(Frozen):
    """The entry of a Python function in a study's record. Functions with different entries are different constraints.

    ``name``, ``file``: the function's name, and the name of its file. ``parameters``: the names of its parameters.
    ``source``: its whole source. ``reads``: the values that the function reads from enclosing functions, globals and
    its defaults, as far as they can be written as JSON.
    """

    name: str
    file: str
    parameters: tuple[str, ...]
    source: str
    reads: dict[str, JsonValue]


_given: Final[dict[str, Callable[..., object]]] = {}
"""The functions that this process can call, by their entries as canonical JSON."""


def constraint_function(function: Callable[..., object]) -> ConstraintFunction:
    """Register a function, so that this process can call it as a constraint. Returns its entry for the record.

    Raises UserError for a function without a name or a source, for one that reads a variable which has no value yet,
    and for parameters that ``parameters_of`` refuses.
    """
    name = str(getattr(function, "__name__", ""))
    if not inspect.isfunction(function) or not name.isidentifier():
        got = "a lambda" if name == LAMBDA else repr(function)
        raise UserError(f"constraints: got {got} (allowed: an expression as text, or a function that has a name)")
    try:
        source, file = inspect.getsource(function), Path(inspect.getsourcefile(function) or "").name
    except (OSError, TypeError):
        raise UserError(f"constraints: {name} has no source (allowed: a function from a file or a notebook)") from None
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    if unset := [variable for variable, cell in cells if cell == CellType()]:
        raise UserError(
            f"constraints: {name} reads {', '.join(unset)} before it has a value (allowed: once it has one)"
        )
    record = ConstraintFunction(
        name=name,
        file=file,
        parameters=parameters_of(function, f"constraint {name}"),
        source=source,
        reads=_reads(function),
    )
    _given[canonical_json(record)] = function
    return record


def given_function(record: ConstraintFunction) -> Callable[..., object] | None:
    """Return the function of an entry. None if it was not registered in this process."""
    return _given.get(canonical_json(record))


def check_given(records: Sequence[ConstraintFunction]) -> None:
    """Raise UserError if the function of an entry was not registered in this process."""
    for record in records:
        if given_function(record) is None:
            raise UserError(
                f"constraint {record.name} is a function of {record.file or 'a Python session'}, which only Python can "
                f"call (allowed: constraints=[{record.name}], with the source and the values that the study began with)"
            )


def _reads(function: Callable[..., object]) -> dict[str, Any]:
    variables = inspect.getclosurevars(function)
    defaults = {
        name: each.default
        for name, each in inspect.signature(function).parameters.items()
        if each.default is not inspect.Parameter.empty
    }
    around: Mapping[str, Any] = {**variables.globals, **variables.nonlocals, **defaults}
    return {name: plain for name, value in sorted(around.items()) for plain in _plain(value)}


def _plain(value: object) -> list[Any]:
    """Return a list with the value as JSON. The list is empty if the value cannot be written as JSON."""
    try:
        return [json.loads(canonical_json(value))]
    except (TypeError, ValueError, RecursionError):
        return []
