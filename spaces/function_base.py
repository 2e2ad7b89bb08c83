"""Builds the base config of a study of a function: the user's fixed values, and a default for every other axis."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.explain import shown
from skipstack.spaces.config import Axis
from skipstack.spaces.domains import Choice, is_number
from skipstack.spaces.function import FUNCTION, RESERVED, FunctionConfig, FunctionSource
from skipstack.spaces.paths import present, read
from skipstack.spaces.trees import Tree, put


def function_base(source: FunctionSource, given: Mapping[str, Any], axes: Mapping[str, Axis]) -> FunctionConfig:
    """Build the base config of a study of a function.

    ``source``: the function. ``given``: the values that the user set, by name or dotted path. ``axes``: the axes. An
    axis that ``given`` lacks gets the middle of its range or its first choice (``Domain.middle``). Raises UserError for
    values that are not JSON, for names that are reserved or conflict, and if the value of a numeric axis is not a
    number.
    """
    tree: Tree = {}
    for path, value in given.items():
        tree = _put(tree, path, value)
    for path, axis in axes.items():
        domain = axis.domain
        value = domain.typed(read(tree, path)) if present(tree, path) else domain.middle
        if not isinstance(domain, Choice) and not is_number(value):
            raise UserError(f"base: {path}: got {shown(value)} (allowed: a number, since its axis has {domain})")
        tree = _put(tree, path, value)
    try:
        return FunctionConfig.model_validate({**tree, FUNCTION: source})
    except ValidationError as error:
        first = error.errors()[0]
        place, got = ".".join(str(each) for each in first["loc"][:1]), shown(first["input"])
        raise UserError(f"base: {place}: got {got} (allowed: JSON values with finite numbers)") from None


def _put(tree: Tree, path: str, value: Any) -> Tree:
    """Return the tree with ``value`` at ``path`` (``put``). Raises UserError also for a reserved or invalid name."""
    names = path.split(".")
    if names[0] in RESERVED:
        raise UserError(f"got a value called {path!r} (allowed: names other than {' and '.join(RESERVED)})")
    if not all(name.isprintable() and name.strip() for name in names):
        raise UserError(f"got a value called {path!r} (allowed: names joined by dots)")
    return put(tree, path, value)
