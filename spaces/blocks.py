"""Blocks: groups of axes that rules tie together. Rules are a study's own constraints. Blocks make random draws fast.

A point has a value for each axis. If rules allow one combination in a hundred, drawing points until the rules hold
takes about a hundred draws of all axes. With blocks, only the axes of a block are redrawn until its rules hold. If the
block has few combinations, the allowed combinations are listed once instead. Axes outside of blocks are drawn without
regard to the rules. The distribution is the same, since the rules of a block depend on nothing outside of it.
"""

from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, islice
from math import prod
from typing import Final, Protocol, final

import numpy as np

from skipstack.data.basis.frozen import canonical_json
from skipstack.spaces.domains import Domain, Json
from skipstack.spaces.paths import changes
from skipstack.spaces.rules import Rule
from skipstack.spaces.trees import Tree

LISTED: Final = 4096
"""A block with at most this many combinations lists the allowed ones instead of drawing them."""

TRIES: Final = 20_000
"""The maximum number of draws of a block in search of an allowed combination."""

NEAR, NEAR_TRIES = 4, 200
"""``Block.near`` draws up to ``NEAR_TRIES`` combinations until ``NEAR`` are allowed. It takes the nearest of these."""

Point = dict[str, Json]
"""A point of a space: the value of each active axis by its dotted path. Axes are in the order of the space."""


class Around(Protocol):
    """Protocol of a space, with the members that its blocks use."""

    base: Tree

    def active(self, path: str, tree: Tree) -> bool:
        """Whether the axis at ``path`` is active in ``tree``. ``tree``: a config with the values of earlier axes."""

    def written(self, tree: Tree, path: str, value: Json) -> Tree:
        """Return the config ``tree`` with ``value`` on the axis at ``path``."""


def composed(space: Around, domains: Mapping[str, Domain], choose: Callable[[str, Domain], Json]) -> tuple[Point, Tree]:
    """Build a point with values from ``choose(path, domain)`` on the active axes among ``domains``, in their order.
    Returns the point and its config.
    """
    point: Point = {}
    tree = space.base
    for path, domain in domains.items():
        if space.active(path, tree):
            point[path] = choose(path, domain)
            tree = space.written(tree, path, point[path])
    return point, tree


def points(
    space: Around, values: Mapping[str, Sequence[Json]], may: Callable[[str, Point], bool] = lambda path, point: True
) -> Iterator[tuple[Point, Tree]]:
    """Yield every combination of ``values`` of the active axes, in lexicographic order, and its config.

    ``values``: the values of each axis. ``may``: whether a point may be extended, whose last value is on the axis at a
    path.
    """

    def extended(point: Point, tree: Tree, paths: Sequence[str]) -> Iterator[tuple[Point, Tree]]:
        if not paths:
            yield point, tree
            return
        path, *rest = paths
        if not space.active(path, tree):
            yield from extended(point, tree, rest)
            return
        for value in values[path]:
            longer = {**point, path: value}
            if may(path, longer):
                yield from extended(longer, space.written(tree, path, value), rest)

    return extended({}, space.base, list(values))


@final
class Block:
    """A group of axes that rules tie together. Lists or draws their allowed combinations of values.

    ``domains``: the domains of the axes, in the order of the space. These are the axes that ``rules`` name, and the
    axes that decide whether those are active. ``rules``: the rules of the block. ``space``: the space.
    """

    def __init__(self, domains: Mapping[str, Domain], rules: Sequence[Rule], space: Around) -> None:
        self.domains = domains
        self.rules = rules
        self._space = space

    @cached_property
    def listed(self) -> Sequence[Point] | None:
        """The allowed combinations of the block, in order. None if there are too many to list, or infinitely many."""
        if any(not domain.finite for domain in self.domains.values()):
            return None
        if prod(len(domain.values) for domain in self.domains.values()) > LISTED:
            return None
        values = {path: domain.values for path, domain in self.domains.items()}
        return [point for point, tree in points(self._space, values) if self._keeps(point, tree)]

    @cached_property
    def _beginnings(self) -> frozenset[str]:
        """Every beginning of a listed combination, from no axis to all axes, as JSON."""
        assert self.listed is not None, "only listed combinations are known"
        found = (dict(list(point.items())[:length]) for point in self.listed for length in range(len(point) + 1))
        return frozenset(map(canonical_json, found))

    def may_begin(self, point: Point) -> bool:
        """Return whether ``point``, which has values of the block's first axes, can be extended to an allowed
        combination. True if combinations are not listed, since it is then unknown.
        """
        if self.listed is None:
            return True
        return canonical_json({path: point[path] for path in self.domains if path in point}) in self._beginnings

    def check(self) -> None:
        """Raise UndecidedError if a rule is undecided at the point that has the first value of every axis."""
        point, tree = self._composed(lambda path, domain: domain.first)
        for rule in self.rules:
            rule.holds(tree, point)

    def allows(self, point: Point) -> bool:
        """Whether the block's rules hold for the values of ``point`` on the block's axes."""
        return self._keeps(*self._composed(lambda path, domain: point[path]))

    def draw(self, generator: np.random.Generator) -> Point | None:
        """Draw values of the block's active axes such that the rules hold. None if no such values are found."""
        if self.listed is not None:
            return self._from_list(self.listed, generator)
        return next(self._drawn(lambda path, domain: domain.sample(generator), TRIES), None)

    def near(self, wanted: Point, generator: np.random.Generator) -> Point | None:
        """Find values that keep the rules, near the values ``wanted``, which break a rule.

        In each draw, every axis that a broken rule names is redrawn with probability 1/2. The nearest of ``NEAR``
        allowed combinations is returned. If there is none, all values are drawn at random (``draw``), which may return
        None.
        """
        own, tree = self._composed(lambda path, domain: wanted[path])
        broken = [rule for rule in self.rules if rule.refusal(tree, own) is not None]
        named = {axis for rule in broken for axis in rule.axes} or set(self.domains)

        def half(path: str, domain: Domain) -> Json:
            kept = path in wanted and (path not in named or generator.random() < 0.5)
            return wanted[path] if kept else domain.sample(generator)

        found = list(islice(self._drawn(half, NEAR_TRIES), NEAR))
        return min(found, key=lambda point: self._distance(point, wanted)) if found else self.draw(generator)

    def _drawn(self, choose: Callable[[str, Domain], Json], tries: int) -> Iterator[Point]:
        """Draw ``tries`` combinations with ``choose`` and yield those that keep the rules."""
        for _ in range(tries):
            point, tree = self._composed(choose)
            if self._keeps(point, tree):
                yield point

    def _composed(self, choose: Callable[[str, Domain], Json]) -> tuple[Point, Tree]:
        return composed(self._space, self.domains, choose)

    def _keeps(self, point: Point, tree: Tree) -> bool:
        return all(rule.refusal(tree, point) is None for rule in self.rules)

    def _from_list(self, listed: Sequence[Point], generator: np.random.Generator) -> Point | None:
        if not listed:
            return None
        return listed[bisect(self._odds, float(generator.random()) * self._odds[-1], hi=len(listed) - 1)]

    @cached_property
    def _odds(self) -> Sequence[float]:
        """The cumulative sums of the listed combinations' probabilities, if the axes are drawn in turn."""
        assert self.listed is not None, "only listed combinations have them"
        return list(accumulate(prod(self._odd(*each) for each in point.items()) for point in self.listed))

    def _odd(self, path: str, value: Json) -> float:
        return self.domains[path].weight(value) / len(self.domains[path].values)

    def _distance(self, one: Point, other: Point) -> float:
        return sum(
            domain.distance(one[path], other[path])
            if path in one and path in other
            else float(path in one or path in other)
            for path, domain in self.domains.items()
        )


def blocks(
    rules: Sequence[Rule], domains: Mapping[str, Domain], conditions: Mapping[str, Iterable[str]], space: Around
) -> list[Block]:
    """Return the blocks of a space. Rules that share an axis share a block, so no two blocks share an axis.

    ``rules``, ``domains``: the space's rules, and the domains of its axes. ``conditions``: the paths that the
    conditions of each axis name.
    """
    found: list[tuple[set[str], list[Rule]]] = []
    for rule in rules:
        axes, own = _tied(rule.paths.values(), domains, conditions), [rule]
        for block in [block for block in found if block[0] & axes]:
            found.remove(block)
            axes, own = axes | block[0], [*block[1], *own]
        found.append((axes, own))
    return [Block({path: domains[path] for path in domains if path in axes}, own, space) for axes, own in found]


def _tied(paths: Iterable[str], domains: Iterable[str], conditions: Mapping[str, Iterable[str]]) -> set[str]:
    """Return the axes that can change the values at ``paths``, and the axes that decide whether those are active."""
    found: set[str] = set()
    left = list(paths)
    while left:
        path = left.pop()
        for axis in domains:
            if axis not in found and changes(axis, path):
                found.add(axis)
                left += [axis, *conditions[axis]]
    return found
