"""Counts the configurations of a space, even if they are too many to list.

A combination has a value for each active axis. Combinations that fit the conditions of axes are counted axis by axis,
by dynamic programming. Partial combinations that make no difference to later axes are counted together. Constraints and
invalid configs cannot be counted in this way. So if there are few combinations, or few that keep the study's own rules,
they are listed and checked one by one. If there are many, the share of allowed ones is estimated from uniform draws,
with a standard error. Continuous axes that a rule names are drawn as well.
"""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise

import numpy as np

from skipstack.data.basis.frozen import canonical_json
from skipstack.spaces.blocks import points
from skipstack.spaces.domains import Choice, Domain, Json
from skipstack.spaces.paths import changes, present, text_at
from skipstack.spaces.space import Point, Space
from skipstack.spaces.trees import Tree

LISTED = 4_000
"""The maximum number of combinations that are listed and checked one by one."""

DRAWN = 2_000
"""The number of combinations that are drawn if there are too many to list, or if a rule names a continuous axis."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SpaceCount:
    """The size of a space.

    ``combinations``: the number of combinations that fit the conditions of axes, before constraints. A continuous axis
    counts as if it had a single value inside its range.
    ``allowed``: the number of combinations that are allowed; None if they were drawn instead of listed.
    ``continuous``: the continuous axes that are active in some combination.
    ``idle``: the axes that are active in no combination. Their conditions never hold, or their field never exists.
    ``drawn``, ``drawn_allowed``: the number of combinations drawn, and how many of these are allowed. Both are 0 if all
    combinations were checked.
    """

    combinations: int
    allowed: int | None
    continuous: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()
    drawn: int = 0
    drawn_allowed: int = 0

    @property
    def share(self) -> float:
        """The share of combinations that are allowed, in [0, 1]. It is exact or estimated."""
        return self.drawn_allowed / self.drawn if self.allowed is None else self.allowed / self.combinations

    @property
    def standard_error(self) -> float | None:
        """The standard error of ``share``; None if the share is exact.

        It is sqrt(p (1 - p) / (n + 4)) with p = (k + 2) / (n + 4) for k allowed of n drawn combinations (Agresti and
        Coull, 1998). So it is above 0 even for estimates of 0 or 1.
        """
        if self.allowed is not None:
            return None
        shrunk = (self.drawn_allowed + 2) / (self.drawn + 4)
        return math.sqrt(shrunk * (1 - shrunk) / (self.drawn + 4))

    @property
    def estimate(self) -> int:
        """The number of configurations, exact or estimated. It is an integer that may be too large for a float."""
        return self.combinations * self.drawn_allowed // self.drawn if self.allowed is None else self.allowed


def count(space: Space, generator: np.random.Generator, *, listed: int = LISTED, drawn: int = DRAWN) -> SpaceCount:
    """Count the configurations of a space.

    The count is exact if at most ``listed`` combinations have to be checked and no rule names a continuous axis.
    Otherwise it is estimated from ``drawn`` combinations, which ``generator`` draws.
    """
    combinations = Combinations(space)
    varying = combinations.varying
    counted = SpaceCount(
        combinations=combinations.number,
        allowed=None,
        continuous=tuple(path for path in space.domains if path in varying and not space.domains[path].finite),
        idle=tuple(path for path in space.domains if path not in varying),
    )
    named = {path for rule in space.rules for path in rule.axes}
    ruled = [path for path, domain in space.domains.items() if path in named and not domain.finite]
    if combinations.number <= listed and not ruled:
        return replace(counted, allowed=sum(map(space.allowed, combinations)))
    if space.rules and space.finite and len(rest := list(islice(space.everything(), listed + 1))) <= listed:
        return replace(counted, allowed=sum(map(space.allowed, rest)))
    found = 0
    for _ in range(drawn):
        point = combinations.draw(generator)
        found += space.allowed(point | {path: space.domains[path].sample(generator) for path in ruled if path in point})
    return replace(counted, drawn=drawn, drawn_allowed=found)


_AlikeValues = Sequence[Json]
"""Values of one axis that make no difference to later axes, and are counted together for that reason."""


@dataclass(frozen=True, slots=True)
class _View:
    """The facts about a partial config that determine how an axis and all later axes can extend it. ``of`` finds them.

    ``paths``: the axis and all later axes. The facts are which of their fields exist. ``settled``: the conditions on
    paths that none of these axes changes, each as its path and the texts of its allowed values. The facts are which of
    the conditions hold. ``open``: the paths of kinds among these axes, and the paths of conditions that these axes may
    change. The facts are the values at these paths.
    """

    paths: tuple[str, ...]
    settled: tuple[tuple[str, frozenset[str]], ...]
    open: tuple[str, ...]

    def of(self, tree: Tree) -> tuple[object, ...]:
        there = tuple(present(tree, path) for path in self.paths)
        held = tuple(text_at(tree, on) in texts for on, texts in self.settled)
        return there, held, tuple(text_at(tree, path) for path in self.open)


class Combinations:
    """The combinations of a space: the points that fit the axes and their conditions.

    Constraints, or the checks of configs, may exclude some of them. Iterating yields the combinations in lexicographic
    order of the axes.
    """

    def __init__(self, space: Space) -> None:
        self._space = space
        self._paths = list(space.domains)
        self._views = [self._view(place) for place in range(len(self._paths))]
        self._groups = [self._grouped(place) for place in range(len(self._paths))]
        self._ways: dict[tuple[object, ...], int] = {}
        self._shares: dict[tuple[object, ...], list[float]] = {}
        self.met: set[str] = set()
        """The axes whose conditions hold in some combination, even if their field does not exist in it."""
        self.varying: set[str] = set()
        """The axes that are active in some combination."""
        self.number = self._count(0, space.base)
        """The number of combinations."""

    def draw(self, generator: np.random.Generator) -> Point:
        """Draw a random combination. All are equally likely."""
        point: Point = {}
        tree = self._space.base
        for place, path in enumerate(self._paths):
            if not self._space.active(path, tree):
                continue
            groups = self._groups[place]
            group = groups[int(generator.choice(len(groups), p=self._odds(place, tree)))] if groups[1:] else groups[0]
            point[path] = group[int(generator.integers(len(group)))]
            tree = self._space.fields.written(tree, path, point[path])
        return point

    def __iter__(self) -> Iterator[Point]:
        values = {path: _values(domain) for path, domain in self._space.domains.items()}
        return (point for point, _ in points(self._space, values))

    def _count(self, place: int, tree: Tree) -> int:
        """Return the number of combinations that extend ``tree``, the config with the values of the first ``place``
        axes, by values of all later axes.
        """
        if place == len(self._paths):
            return 1
        seen = (place, *self._views[place].of(tree))
        if seen not in self._ways:
            path = self._paths[place]
            if active := self._space.active(path, tree):
                self.varying.add(path)
            if self._space.meets(path, tree):
                self.met.add(path)
            self._ways[seen] = sum(self._by_group(place, tree)) if active else self._count(place + 1, tree)
        return self._ways[seen]

    def _by_group(self, place: int, tree: Tree) -> list[int]:
        path, groups = self._paths[place], self._groups[place]
        return [
            len(group) * self._count(place + 1, self._space.fields.written(tree, path, group[0])) for group in groups
        ]

    def _odds(self, place: int, tree: Tree) -> list[float]:
        """Return, for each group of values of axis ``place``, its share of the combinations that extend ``tree``."""
        seen = (place, *self._views[place].of(tree))
        if seen not in self._shares:
            ways = self._by_group(place, tree)
            total = sum(ways)  # an integer that may be too large for a float
            self._shares[seen] = [each / total for each in ways]
        return self._shares[seen]

    def _view(self, place: int) -> _View:
        later = self._paths[place:]
        settled: dict[tuple[str, frozenset[str]], None] = {}
        still_open = {path: None for path in later if path.endswith(".kind")}
        for path in later:
            for on, values in self._space.conditions[path].items():
                if any(changes(other, on) for other in later):
                    still_open[on] = None
                else:
                    settled[on, frozenset(map(canonical_json, values))] = None
        return _View(tuple(later), tuple(settled), tuple(still_open))

    def _grouped(self, place: int) -> list[_AlikeValues]:
        """Return the values of axis ``place`` in groups. A value that matters to a later axis is a group of its own."""
        path = self._paths[place]
        domain = self._space.domains[path]
        values = _values(domain)
        named: set[str] = set()
        for later in self._paths[place + 1 :]:
            conditions = self._space.conditions[later]
            named.update(canonical_json(value) for value in conditions.get(path, ()))
            if any(changes(path, other) for other in (later, *conditions) if other != path):
                return [(value,) for value in values]
        return _alone(domain, values, named)


def _alone(domain: Domain, values: Sequence[Json], named: set[str]) -> list[_AlikeValues]:
    """Return each of the ``named`` values as a group of its own, and all other values in few groups.

    ``named``: the values that conditions of later axes name, as JSON. Numbers are grouped without listing them.
    """
    if domain.finite and not isinstance(domain, Choice):
        cuts = sorted(domain.index(value) for value in map(json.loads, named) if domain.contains(value))
        bounds = [0, *(bound for cut in cuts for bound in (cut, cut + 1)), len(values)]
        return [values[start:end] for start, end in pairwise(bounds) if start < end]
    alone: list[_AlikeValues] = [(value,) for value in values if canonical_json(value) in named]
    rest = [value for value in values if canonical_json(value) not in named]
    return [*alone, rest] if rest else alone


def _values(domain: Domain) -> Sequence[Json]:
    return domain.values if domain.finite else (domain.inside,)
