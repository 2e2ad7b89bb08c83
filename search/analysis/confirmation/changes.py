"""Parts of a study that enumerates its space: its base as a point (a value for each axis), and each axis's values."""

from collections.abc import Sequence

from skipstack.search.study.record.domain_parts import value_text
from skipstack.spaces.domains import Choice, Domain, Integer, Json
from skipstack.spaces.space import Point, Space


def base_of(space: Space) -> Point:
    """Return the base as a point. An axis whose domain lacks the base's value gets its default, ``Space.usual``.

    The proposer ``one_at_a_time`` starts from the same point.
    """
    point = space.base_point()
    for axis in tuple(point):
        point = space.moved(point, axis, space.usual(axis))
    return point


def values_of(domain: Domain) -> Sequence[Json]:
    """Return the values of an axis, in order. The domain must be finite: a choice or integers."""
    assert isinstance(domain, Choice | Integer), "a grid is finite"
    return domain.values


def name_of(domain: Domain, value: Json) -> str:
    """Return the text for ``value`` in tables: its name if it has one, otherwise the value itself."""
    name = domain.name(value) if isinstance(domain, Choice) else None
    return name or value_text(value)
