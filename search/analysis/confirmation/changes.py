"""The points around the base of a grid or of a walk: the values of an axis, their names, and the base itself."""

from skipstack.search.study.record.domain_parts import value_text
from skipstack.spaces.domains import Choice, Domain, Integer, Json
from skipstack.spaces.space import Point, Space


def base_of(space: Space) -> Point:
    """The base as a point; an axis without the base's value gets its usual one, as in ``one_at_a_time``."""
    point = space.base_point()
    for axis in tuple(point):
        point = space.moved(point, axis, space.usual(axis))
    return point


def values_of(domain: Domain) -> tuple[Json, ...]:
    """The values of an axis, in order."""
    assert isinstance(domain, Choice | Integer), "a grid is finite"
    return tuple(domain.values)


def name_of(domain: Domain, value: Json) -> str:
    """The value as tables print it: by its name, where it has one."""
    name = domain.name(value) if isinstance(domain, Choice) else None
    return name or value_text(value)
