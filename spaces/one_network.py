"""Finds different points (values for the axes) that give the same network, and the axes that have no effect on it.

Different points give different configs, but some fields have an effect only together with others. For example, a gate
needs a layer with a shortcut. ``models/configs/unread.py`` decides which fields a network does not read.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Final

import numpy as np

from skipstack.data.basis.frozen import canonical_json, identity
from skipstack.models.configs.unread import without_unread
from skipstack.spaces.domains import Choice, Json
from skipstack.spaces.space import Point, Space
from skipstack.spaces.subject import Subject
from skipstack.spaces.trial import TrialConfig

LISTED: Final = 400
"""A space with at most this many points is compared completely."""

DRAWN: Final = 30
"""The number of points that are drawn and compared in a space with more than ``LISTED`` points."""

CREDIBLE: Final = 4
"""The minimum number of drawn points that must support a condition."""

VALUES: Final = 12
"""The maximum number of values of an axis that are compared. If an axis has more, the first ones are taken."""

READ_LATER: Final = ("model.", "training.pretraining.")
"""The beginnings of the paths of fields that are checked for whether a network reads them. All other fields count as
read, although a few are not, such as ``training.window`` for corpora of sentences."""


def network_identity(subject: Subject) -> str:
    """Return an identity that is equal for configs that differ only in fields that the network does not read."""
    if not isinstance(subject, TrialConfig):
        return subject.identity
    training, data = subject.training, subject.data
    pretrained = training.pretraining is not None
    vectors = isinstance(data.vectors, str) or pretrained
    read = without_unread(subject.model, vectors=vectors, pretrained=pretrained)
    return identity(subject.model_copy(update={"model": read}))


def apart(point: Point) -> str:
    """Return the point's values on axes that count as read by every network (``READ_LATER``), as JSON. If two points
    differ in them, their networks count as different.
    """
    return canonical_json({path: value for path, value in point.items() if not _read_later(path)})


def _read_later(path: str) -> bool:
    return f"{path}.".startswith(READ_LATER)


Condition = tuple[tuple[str, tuple[Json, ...]], ...]
"""A condition on a point: some axes, each with its allowed values."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OneNetwork:
    """Values of an axis that give the same network if all other axes are equal.

    ``axis``, ``values``: the axis and these values.
    ``whole``: whether these are all values of the axis that were compared. If so, the axis seems to have no effect.
    ``always``: whether they give the same network at all compared points at which the axis is active.
    ``where``: if not ``always``, conditions under which they give the same network. Each is on the values of one or two
    axes. Empty if too few points support a condition.
    """

    axis: str
    values: tuple[Json, ...]
    whole: bool
    always: bool
    where: tuple[Condition, ...] = ()


def alike(space: Space, points: Mapping[int, Point]) -> list[tuple[int, ...]]:
    """Group the ``points`` that give the same network. Returns the points' numbers for each group of two or more."""
    rest: dict[str, list[int]] = defaultdict(list)
    for number, point in points.items():
        rest[apart(point)].append(number)
    found: dict[tuple[str, str], list[int]] = defaultdict(list)
    for text, numbers in rest.items():
        for number in numbers if len(numbers) > 1 else ():
            found[text, network_identity(space.config(points[number]))].append(number)
    return [tuple(group) for group in found.values() if len(group) > 1]


def one_networks(space: Space, generator: np.random.Generator) -> list[OneNetwork]:
    """Return the groups of values that give the same network, axis by axis. All points of the space are compared. If
    there are too many, a random sample is compared.
    """
    known: dict[str, str] = {}

    def network(point: Point) -> str:
        text = canonical_json(point)
        if text not in known:
            known[text] = network_identity(space.config(point))
        return known[text]

    points, fewest = _looked_at(space, generator)
    axes = [axis for axis in space.domains if _read_later(axis)]
    return [found for axis in axes for found in _of_axis(space, axis, points, network, fewest)]


def _looked_at(space: Space, generator: np.random.Generator) -> tuple[list[Point], int]:
    """Return the points to compare, and the minimum number of points that must support a condition."""
    if space.finite:
        listed = list(islice(space.everything(), LISTED + 1))
        if len(listed) <= LISTED:
            return [point for point in listed if space.allowed(point)], 1
    return [space.sample(generator) for _ in range(DRAWN)], CREDIBLE


def _values(space: Space, axis: str) -> Sequence[Json]:
    domain = space.domains[axis]
    return tuple(islice(domain.values if domain.finite else domain.ends, VALUES))


def _of_axis(
    space: Space, axis: str, points: Sequence[Point], network: Callable[[Point], str], fewest: int
) -> Iterator[OneNetwork]:
    """Yield each group of values of ``axis`` that give the same network at some points, with its conditions.

    ``network``: returns the network identity of a point. ``fewest``: how many points must support a condition.
    """
    values, contexts = _values(space, axis), _contexts(points, axis)
    classes: dict[tuple[str, ...], list[Point]] = defaultdict(list)
    texts = {canonical_json(value): value for value in values}
    seen: list[tuple[Point, frozenset[frozenset[str]]]] = []
    for context in contexts:
        groups: dict[str, list[str]] = defaultdict(list)
        for text, value in texts.items():
            moved = space.moved(context, axis, value)
            if space.allowed(moved):
                groups[network(moved)].append(text)
        alike = [tuple(group) for group in groups.values() if len(group) > 1]
        seen.append((context, frozenset(map(frozenset, alike))))
        for group in alike:
            classes[group].append(context)
    for group, idle in classes.items():
        busy = [context for context, groups in seen if not any(set(group) <= each for each in groups)]
        yield OneNetwork(
            axis=axis,
            values=tuple(texts[text] for text in group),
            whole=len(group) == len(texts),
            always=not busy,
            where=tuple(_conditions(idle, busy, _nearest(space, axis), fewest)),
        )


def _nearest(space: Space, axis: str) -> list[str]:
    """Return the choice axes that may explain why ``axis`` is not read. Axes that share more of its path come first."""
    own = axis.split(".")

    def distance(path: str) -> int:
        shared = next((place for place, (a, b) in enumerate(zip(own, path.split("."), strict=False)) if a != b), 0)
        return -shared

    few = [path for path, domain in space.domains.items() if isinstance(domain, Choice) and _read_later(path)]
    return sorted((path for path in few if path != axis), key=distance)


def _contexts(points: Sequence[Point], axis: str) -> list[Point]:
    """Return the ``points`` in which the axis is active. Of points that differ only on the axis, one is returned."""
    found = {canonical_json({**point, axis: None}): point for point in points if axis in point}
    return list(found.values())


def _conditions(idle: Sequence[Point], busy: Sequence[Point], paths: Sequence[str], fewest: int) -> Iterator[Condition]:
    """Yield conditions, on one or two of ``paths``, that some ``idle`` points meet and no ``busy`` point meets.

    ``idle``: points at which the values of an axis give the same network. ``busy``: the other points. Conditions on one
    axis are tried first. Conditions are chosen greedily, as long as each covers at least ``fewest`` further idle
    points.
    """
    left = list(idle) if busy else []
    for size in (1, 2):
        while left:
            covers = [(chosen, _covered(left, busy, chosen)) for chosen in combinations(paths, size)]
            chosen, covered = max(covers, key=lambda each: len(each[1]), default=((), []))
            if len(covered) < fewest:
                break
            yield from _as_conditions(chosen, [tuple(point[path] for path in chosen) for point in covered])
            left = [point for point in left if point not in covered]


def _covered(idle: Sequence[Point], busy: Sequence[Point], chosen: Sequence[str]) -> list[Point]:
    """Return the idle points whose values on the axes ``chosen`` occur in no busy point."""
    taken = {_text(point, chosen) for point in busy}
    there = [point for point in idle if all(path in point for path in chosen)]
    return [point for point in there if _text(point, chosen) not in taken]


def _as_conditions(chosen: tuple[str, ...], hits: Sequence[tuple[Json, ...]]) -> Iterator[Condition]:
    """Yield a condition for each group of ``hits`` that differ only on the last axis. ``chosen``: the axes of a hit."""
    by_first: dict[str, list[tuple[Json, ...]]] = defaultdict(list)
    for hit in hits:
        by_first[canonical_json(hit[:-1])].append(hit)
    for group in by_first.values():
        first = tuple((path, (value,)) for path, value in zip(chosen[:-1], group[0][:-1], strict=True))
        last = {canonical_json(hit[-1]): hit[-1] for hit in group}
        yield (*first, (chosen[-1], tuple(last.values())))


def _text(point: Mapping[str, Json], paths: Sequence[str]) -> str:
    return canonical_json([point.get(path) if path in point else ["inactive"] for path in paths])
