"""Constraints that are Python functions given beside the objective, and how a study's record names them."""

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import JsonValue

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import Frozen, canonical_json
from skipstack.data.basis.user_code.files import parameters_of

LAMBDA: Final = "<lambda>"


class ConstraintFunction(Frozen):
    """A function in a study's record: its name, the name of its file, its parameters and its whole source.

    ``reads``: the values that it takes from around it (of enclosing functions, globals and defaults), as far as they
    are JSON. A function that differs in any of these is another constraint.
    """

    name: str
    file: str
    parameters: tuple[str, ...]
    source: str
    reads: dict[str, JsonValue]


_given: Final[dict[str, Callable[..., object]]] = {}
"""The functions that this process was given, by the canonical JSON of their records."""


def constraint_function(function: Callable[..., object]) -> ConstraintFunction:
    """The record of a function, which this process can call from now on. Raises UserError for one without a name or a
    source, and as ``parameters_of`` does.
    """
    name = str(getattr(function, "__name__", ""))
    if not inspect.isfunction(function) or not name.isidentifier():
        got = "a lambda" if name == LAMBDA else repr(function)
        raise UserError(f"constraints: got {got} (allowed: an expression as text, or a function that has a name)")
    try:
        source, file = inspect.getsource(function), Path(inspect.getsourcefile(function) or "").name
    except (OSError, TypeError):
        raise UserError(f"constraints: {name} has no source (allowed: a function from a file or a notebook)") from None
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
    """The function of a record, if this process was given it."""
    return _given.get(canonical_json(record))


def check_given(records: Sequence[ConstraintFunction]) -> None:
    """Raise UserError where this process was not given the function of one of the records."""
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
    """The value as JSON has it; nothing for one that is no JSON."""
    try:
        return [json.loads(canonical_json(value))]
    except (TypeError, ValueError, RecursionError):
        return []
