"""Makes a point from the values that a user typed. A point has a value for each active axis."""

from collections.abc import Mapping

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.user_code.configs import known
from skipstack.spaces.domains import Choice, Json
from skipstack.spaces.short_names import meant, names, only
from skipstack.spaces.space import Point, Space


def given_point(space: Space, given: Mapping[str, Json]) -> Point:
    """Return the point with the values ``given`` by a user.

    ``given``: maps the dotted path of an axis, or an unambiguous end of the path, to a value. A named value may be
    given by its name. An axis that is not given gets its default (``Space.usual``).

    Raises UserError for an axis that is not in the space, is given by two names, or is not active at the point. Also
    raises it for a value that does not fit, and for a point that the space does not allow.
    """
    values: Point = {}
    for name, value in given.items():
        path = only(name, meant(name, space.domains), names(space.domains))
        if path in values:
            raise UserError(f"{path}: the axis is given twice, by two names (allowed: once)")
        values[path] = _typed(space, path, value)
    point = space.completed(values)
    for path in values:
        if path not in point:
            raise UserError(f"{path}: the axis is not active at this point (allowed: {', '.join(point)})")
    if (refusal := space.refusal(point)) is not None:
        raise UserError(refusal)
    return point


def _typed(space: Space, path: str, value: Json) -> Json:
    """Return the value in the type of its field. The name of a value stands for that value."""
    domain = space.domains[path]
    if isinstance(domain, Choice) and isinstance(value, str) and value in domain.names:
        return domain.values[domain.names.index(value)]
    try:
        with known(space.code):
            return space.fields.typed(path, value)
    except ValueError as error:
        raise UserError(f"{path}: {error}") from None
