"""Converts the values of axes to the types of their fields, for the record of a space.

Later readers of the record may not have the users' code of a space. So they could not know that 8 in a field of floats
means 8.0. A value of several fields, such as a whole stack, is recorded with the defaults at the time of recording.
"""

from collections.abc import Mapping, Sequence

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.user_code.configs import known
from skipstack.spaces.config import Axis
from skipstack.spaces.domains import Choice, Domain, Json
from skipstack.spaces.function import FUNCTION
from skipstack.spaces.paths import typed
from skipstack.spaces.space import Space


def typed_axes(space: Space, axes: Mapping[str, Axis]) -> dict[str, Axis]:
    """Return the axes with the values and priors of choices, and conditions, in the types of their fields.

    In a space without users' code, only axes that have a mapping among their values are changed.
    """
    return {
        path: _typed_axis(space, path, axis) if space.code or _has_parts(space.domains[path]) else axis
        for path, axis in axes.items()
    }


def _has_parts(domain: Domain | None) -> bool:
    return isinstance(domain, Choice) and any(isinstance(value, dict) for value in domain.values)


def _typed_axis(space: Space, path: str, axis: Axis) -> Axis:
    domain, when = space.domains[path], dict(space.conditions[path])
    if not isinstance(domain, Choice):
        return axis.model_copy(update={"when": when})
    if domain.names:  # its prior is a name
        named = dict(zip(domain.names, domain.values, strict=True))
        return Axis.model_validate({axis.kind: named, "prior": axis.prior, "when": when})
    with known(space.code):
        prior = None if axis.prior is None else typed(path, axis.prior)
    return Axis.model_validate({axis.kind: domain.values, "prior": prior, "when": when})


def typed_choices(space: Space, choices: Mapping[str, Sequence[Json]]) -> dict[str, list[Json]]:
    """Return values that are to be added to axes, in the types of their fields. In a space without users' code, this
    changes only axes that have a mapping among their values.

    ``choices``: the values by axis. On an axis with named values, each is a mapping of one name to its value. Raises
    UserError for a value that no field accepts, if the value is to be converted.
    """
    networks = FUNCTION not in space.base
    with known(space.code):
        return {
            path: [_choice(space, path, value) for value in values]
            if networks and (space.code or _has_parts(space.domains.get(path)))
            else list(values)
            for path, values in choices.items()
        }


def _choice(space: Space, path: str, value: Json) -> Json:
    domain = space.domains.get(path)
    if domain is None:  # an unknown axis, for which other code raises an error
        return value
    if isinstance(domain, Choice) and domain.names and isinstance(value, dict):
        return {name: _typed(path, own) for name, own in value.items()}
    return _typed(path, value)


def _typed(path: str, value: Json) -> Json:
    try:
        return typed(path, value)
    except ValueError as error:
        raise UserError(f"--axis {path}: {error}") from None
