"""Blocks: the axes that rules tie together. Other axes can be drawn and listed without regard to the rules.

Where rules allow one combination in a hundred, drawing whole points until they hold would take a hundred of them. Only
the axes of a block are drawn so, or, if their combinations are few, listed once. The result has the same distribution:
given that its rules hold, a block depends on nothing outside of it.
"""

from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, islice
from math import prod
from typing import Any, Final, Protocol, final

import numpy as np

from skipstack.data.basis.frozen import canonical_json
from skipstack.spaces.domains import Choice, Domain, Integer, Json, Log
from skipstack.spaces.paths import Tree, changes
from skipstack.spaces.rules import Rule

LISTED: Final = 4096
"""The maximum number of combinations of a block that are listed."""

TRIES: Final = 20_000
"""The number of draws of a block after which rules count as too rare."""

NEAR, NEAR_TRIES = 4, 200
"""The number of allowed combinations of which the nearest to a wanted one is taken, and of draws to find them."""

Point = dict[str, Json]


class Around(Protocol):
    """The members of a space that its blocks use."""

    base: Tree

    def active(self, path: str, tree: Tree) -> bool:
        """Whether an axis is active, given a tree with the values of the axes before it."""

    def written(self, tree: Tree, path: str, value: Json) -> Tree:
        """A tree with a value of an axis."""


@final
class Block:
    """Axes in the order of the space, with all on which their activity depends, and the rules that name them."""

    def __init__(self, domains: Mapping[str, Domain], rules: Sequence[Rule], space: Around) -> None:
        self.domains = domains
        self.rules = rules
        self._space = space

    @cached_property
    def listed(self) -> Sequence[Point] | None:
        """The allowed combinations of the block, in order; None if there are too many to list."""
        if any(not domain.finite for domain in self.domains.values()):
            return None
        if prod(len(_values(domain)) for domain in self.domains.values()) > LISTED:
            return None
        return list(self._allowed({}, self._space.base, list(self.domains)))

    @cached_property
    def _beginnings(self) -> frozenset[str]:
        """The beginnings of the listed combinations, as JSON."""
        assert self.listed is not None, "only listed combinations are known"
        found = (dict(list(point.items())[:length]) for point in self.listed for length in range(len(point) + 1))
        return frozenset(map(canonical_json, found))

    def may_begin(self, point: Point) -> bool:
        """Whether an allowed combination begins with the values that a point has of its first axes."""
        if self.listed is None:
            return True
        return canonical_json({path: point[path] for path in self.domains if path in point}) in self._beginnings

    def check(self) -> None:
        """Raise UndecidedError if a rule cannot be computed at the first values of the axes."""
        point, tree = self._composed(lambda path, domain: domain.first)
        for rule in self.rules:
            rule.holds(tree, point)

    def allows(self, point: Point) -> bool:
        """Whether the rules hold for values of its axes."""
        return self._keeps(*self._composed(lambda path, domain: point[path]))

    def draw(self, generator: np.random.Generator) -> Point | None:
        """Values of its active axes, drawn until the rules hold; None if they never do."""
        if self.listed is not None:
            return self._from_list(self.listed, generator)
        return next(self._drawn(lambda path, domain: domain.sample(generator), TRIES), None)

    def near(self, wanted: Point, generator: np.random.Generator) -> Point | None:
        """Allowed values near the ``wanted`` ones, which break a rule: the nearest of ``NEAR`` combinations in which
        each axis that a broken rule names is redrawn with probability 1/2. None if no allowed ones are found.
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
        """Yields the allowed ones of ``tries`` combinations."""
        for _ in range(tries):
            point, tree = self._composed(choose)
            if self._keeps(point, tree):
                yield point

    def _composed(self, choose: Callable[[str, Domain], Json]) -> tuple[Point, Tree]:
        point: Point = {}
        tree = self._space.base
        for path, domain in self.domains.items():
            if self._space.active(path, tree):
                point[path] = choose(path, domain)
                tree = self._space.written(tree, path, point[path])
        return point, tree

    def _keeps(self, point: Point, tree: Tree) -> bool:
        return all(rule.refusal(tree, point) is None for rule in self.rules)

    def _from_list(self, listed: Sequence[Point], generator: np.random.Generator) -> Point | None:
        if not listed:
            return None
        return listed[bisect(self._odds, float(generator.random()) * self._odds[-1], hi=len(listed) - 1)]

    @cached_property
    def _odds(self) -> Sequence[float]:
        """The running sums of the probabilities of its allowed combinations, in a draw axis by axis."""
        assert self.listed is not None, "only listed combinations have them"
        return list(accumulate(prod(1 / len(_values(self.domains[path])) for path in point) for point in self.listed))

    def _allowed(self, point: Point, tree: Tree, paths: Sequence[str]) -> Iterator[Point]:
        """Every allowed combination of values of the ``paths`` that are active, in lexicographic order."""
        if not paths:
            if self._keeps(point, tree):
                yield point
            return
        path, *rest = paths
        if not self._space.active(path, tree):
            yield from self._allowed(point, tree, rest)
            return
        for value in _values(self.domains[path]):
            yield from self._allowed({**point, path: value}, self._space.written(tree, path, value), rest)

    def _distance(self, one: Point, other: Point) -> float:
        return sum(
            _apart(domain, one[path], other[path])
            if path in one and path in other
            else float(path in one or path in other)
            for path, domain in self.domains.items()
        )


def blocks(
    rules: Sequence[Rule], domains: Mapping[str, Domain], conditions: Mapping[str, Iterable[str]], space: Around
) -> list[Block]:
    """The blocks of a space, no two of which share an axis. ``conditions``: the paths in each axis's conditions."""
    found: list[tuple[set[str], list[Rule]]] = []
    for rule in rules:
        axes, own = _tied(rule.paths.values(), domains, conditions), [rule]
        for block in [block for block in found if block[0] & axes]:
            found.remove(block)
            axes, own = axes | block[0], [*block[1], *own]
        found.append((axes, own))
    return [Block({path: domains[path] for path in domains if path in axes}, own, space) for axes, own in found]


def _tied(paths: Iterable[str], domains: Iterable[str], conditions: Mapping[str, Iterable[str]]) -> set[str]:
    """The axes that may change the values at these paths, or whether one of these axes is active."""
    found: set[str] = set()
    left = list(paths)
    while left:
        path = left.pop()
        for axis in domains:
            if axis not in found and changes(axis, path):
                found.add(axis)
                left += [axis, *conditions[axis]]
    return found


def _values(domain: Domain) -> Sequence[Json]:
    assert isinstance(domain, Choice | Integer), "a list is of finite axes"
    return domain.values


def _apart(domain: Domain, one: Any, other: Any) -> float:
    """The distance of two values of an axis: 0 or 1 for a choice, else a share of its range."""
    match domain:
        case Choice():
            return float(canonical_json(one) != canonical_json(other))
        case Log(low, high):
            return float(abs(np.log(one / other) / np.log(high / low)))
        case _:
            return float(abs(one - other) / (domain.high - domain.low))
