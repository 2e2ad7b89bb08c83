"""The rows of an ablation, each of which is a config to train.

The first rows are the base, the winners (the best configs of the search), and the best configs of other searches. Next
come each winner without each of its changes, the base with each change alone, and each winner without several changes
at once. A change is an axis on which a winner differs from the base. Making or taking back a change may activate or
deactivate other axes (``Space.moved``). An activated axis gets the base's value or, if its domain lacks this value, the
domain's first value. A deactivated axis is dropped.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from skipstack.data.basis.frozen import canonical_json
from skipstack.search.ledger.events import LeftOut, ListedRow, Role
from skipstack.spaces.activity import condition
from skipstack.spaces.config import Axis, SpaceConfig
from skipstack.spaces.domains import Choice, Domain, Json
from skipstack.spaces.paths import inside
from skipstack.spaces.short_names import value_text
from skipstack.spaces.space import Point, Space
from skipstack.spaces.trial import as_network


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of an ablation in the order of their training, and the rows left out, each with the reason."""

    rows: tuple[ListedRow, ...]
    left_out: tuple[LeftOut, ...]


def space_of_rows(config: SpaceConfig, points: Iterable[Point]) -> SpaceConfig:
    """Reduce the space of the search to one that contains the rows of an ablation, and return its config.

    ``points``: the winners and the configs compared with them. Each axis becomes a choice of the base's value, its
    values in ``points``, and its values in the conditions of other axes. If the axis is inactive in the base, the value
    that it gets when activated replaces the base's. All conditions are kept. Constraints that the base breaks are
    dropped, so that the base is always allowed.
    """
    space = Space(config)
    base, found = space.base_point(), tuple(points)
    conditions = [(on, value) for each in space.conditions.values() for on, values in each.items() for value in values]
    axes = {}
    for path, domain in space.domains.items():
        values = [base[path] if path in base else space.usual(path)]
        values += [point[path] for point in found if path in point]
        values += [value for on, value in conditions if on == path]
        axes[path] = _axis(domain, values, config.axes[path].when)
    broken = {each.name for each in space.constraints if not each.holds(as_network(config.base))}
    broken |= {rule.text for rule in space.rules if rule.refusal(space.base, base) is not None}
    met = tuple(text for text in config.constraints if text not in broken)
    return config.model_copy(update={"axes": axes, "constraints": met})


def changed(space: Space, winner: Point) -> tuple[str, ...]:
    """Return the changes of a winner: the axes on which it differs from the base.

    An axis that another change activates is a change only if its value differs from the value that activation gives it.
    """
    before = _before(space, winner)
    return tuple(path for path in before if canonical_json(before[path]) != canonical_json(winner[path]))


def rows(
    space: Space,
    winners: Mapping[int, Point],
    beside: Iterable[tuple[Role, Point]] = (),
    without: Iterable[str] = (),
    *,
    parts: bool = True,
) -> Rows:
    """Return the rows of an ablation.

    ``space``: from ``space_of_rows``. ``winners``: the winners' points by trial number. ``beside``: the best configs of
    other searches, each with its role. ``without``, ``parts``: as in ``AblationOptions``.
    """
    found: dict[str, tuple[Point, list[Role]]] = {}
    left_out = []
    whole = [(Role(kind="base"), space.base_point(), None)]
    whole += [(Role(kind="winner", winner=number), winner, None) for number, winner in winners.items()]
    whole += [(role, point, None) for role, point in beside]
    several = [(role, point, None) for text in without for role, point in _without_several(space, winners, text)]
    for role, point, why in (*whole, *(_parts(space, winners) if parts else ()), *several):
        if why is None:
            why = space.refusal(point)
        if why is None:
            found.setdefault(canonical_json(point), (point, []))[1].append(role)
        else:
            left_out.append(LeftOut(role=role, why=why))
    listed = (ListedRow(roles=tuple(roles), point=point) for point, roles in found.values())
    return Rows(tuple(listed), tuple(left_out))


def joined_paths(text: str) -> tuple[str, ...]:
    """Split a text at its commas into paths."""
    return tuple(path.strip() for path in text.split(","))


def changed_within(space: Space, winner: Point, paths: Iterable[str]) -> tuple[str, ...]:
    """Return the winner's changes (``changed``) at or inside one of the ``paths``."""
    wanted = tuple(paths)
    return tuple(axis for axis in changed(space, winner) if any(inside(axis, path) for path in wanted))


def _without_several(space: Space, winners: Mapping[int, Point], text: str) -> Iterator[tuple[Role, Point]]:
    for number, winner in winners.items():
        before, point = _before(space, winner), winner
        if not (axes := changed_within(space, winner, joined_paths(text))):
            continue
        for axis in axes:
            if axis in point:  # taking back an earlier change may have deactivated this axis
                point = space.moved(point, axis, before[axis])
        yield Role(kind="without_several", winner=number, axis=text), point


def _parts(space: Space, winners: Mapping[int, Point]) -> Iterator[tuple[Role, Point, str | None]]:
    """Yield the rows of single changes: first each change taken back, then each change alone.

    A row is yielded as its role, its point, and the reason why it is impossible, such as a change on an axis that is
    inactive in the base. The reason is None if the row is possible.
    """
    base = space.base_point()
    for number, winner in winners.items():
        before = _before(space, winner)
        for axis in changed(space, winner):
            yield Role(kind="without", winner=number, axis=axis), space.moved(winner, axis, before[axis]), None
    for number, winner in winners.items():
        for axis in changed(space, winner):
            point = space.moved(base, axis, winner[axis])
            why = None if axis in point else f"{axis} varies only where {condition(space, axis)}"
            yield Role(kind="alone", winner=number, axis=axis), point, why


def _before(space: Space, winner: Point) -> Point:
    """Return the base's values on the winner's axes; for an axis that is inactive in the base, its default."""
    base = space.base_point()
    return {path: base[path] if path in base else space.usual(path) for path in space.domains if path in winner}


def _axis(domain: Domain, values: Sequence[Json], when: Mapping[str, tuple[Json, ...]]) -> Axis:
    """Return an axis that is a choice of the distinct ``values``, with their names if ``domain`` has names."""
    once = tuple({canonical_json(value): value for value in values}.values())
    if not isinstance(domain, Choice) or not domain.names:
        return Axis(choice=once, when=dict(when))
    return Axis(named={domain.name(value) or value_text(value): value for value in once}, when=dict(when))
