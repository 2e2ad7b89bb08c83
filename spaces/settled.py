"""Axes as they are recorded where code of one's own is read: every value as its field has it.

Whoever reads the record later may not have the code, and could not tell that the slope 8 is the number 8.0.
"""

from collections.abc import Mapping, Sequence

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.own_code import known
from skipstack.spaces.config import Axis
from skipstack.spaces.domains import Choice, Json
from skipstack.spaces.paths import typed
from skipstack.spaces.space import Space


def settled(space: Space, axes: Mapping[str, Axis]) -> dict[str, Axis]:
    """The axes of a space that has code of its own; those of another as they are."""
    return {path: _settled(space, path, axis) for path, axis in axes.items()} if space.code else dict(axes)


def _settled(space: Space, path: str, axis: Axis) -> Axis:
    domain, when = space.domains[path], dict(space.conditions[path])
    if not isinstance(domain, Choice):
        return axis.model_copy(update={"when": when})
    if domain.names:
        return Axis(named=dict(zip(domain.names, domain.values, strict=True)), when=when)
    return Axis(choice=domain.values, when=when)


def settled_choices(space: Space, choices: Mapping[str, Sequence[Json]]) -> dict[str, list[Json]]:
    """Values to add to the axes of a space, likewise; those of axes with names are mappings from a name to its value.

    Raises UserError, where the space has code of its own, for a value that no field takes.
    """
    if not space.code:
        return {path: list(values) for path, values in choices.items()}
    with known(space.code):
        return {path: [_choice(space, path, value) for value in values] for path, values in choices.items()}


def _choice(space: Space, path: str, value: Json) -> Json:
    domain = space.domains.get(path)
    if domain is None:  # which is refused by its name
        return value
    if isinstance(domain, Choice) and domain.names and isinstance(value, dict):
        return {name: _typed(path, own) for name, own in value.items()}
    return _typed(path, value)


def _typed(path: str, value: Json) -> Json:
    try:
        return typed(path, value)
    except ValueError as error:
        raise UserError(f"--axis {path}: {error}") from None
