"""Spaces: sets of possible trials. A space can be enumerated, sampled or searched axis by axis."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np
from pydantic import ValidationError

from skipstack.data.basis.errors import UserError, unknown
from skipstack.data.basis.explain import explain, shown
from skipstack.data.basis.frozen import canonical_json
from skipstack.data.basis.user_code.configs import known
from skipstack.spaces.belief import Belief
from skipstack.spaces.blocks import TRIES as TRIES_OF_A_BLOCK
from skipstack.spaces.blocks import Block, Point, blocks, composed, points
from skipstack.spaces.changes import differences
from skipstack.spaces.checks import Conditions, SpaceError, believed, checked, checked_rules
from skipstack.spaces.config import Axis, SpaceConfig
from skipstack.spaces.constraints import CONSTRAINTS
from skipstack.spaces.domains import Domain, Json
from skipstack.spaces.fields import fields_of
from skipstack.spaces.paths import present, read, text_at
from skipstack.spaces.rules import Rule, UndecidedError
from skipstack.spaces.subject import Subject
from skipstack.spaces.trees import Tree
from skipstack.spaces.trial import as_network, with_code

__all__ = ["Axis", "Point", "Space", "SpaceConfig"]

TRIES = 1000
"""After this many draws without an allowed point, ``sample`` stops drawing."""

SEARCHED = 10_000
"""The maximum number of points of a finite space that are checked one by one, to draw an allowed point or to show that
there is none."""


class Space:
    """The set of allowed points (values for the active axes) of a base config and its axes.

    A point is allowed if every active axis has a value of its domain, the config is valid, and every constraint holds.
    Different points give different configs: conditions depend only on earlier axes, so the first axis on which two
    points differ is active in both, and the config of each point has the point's value there.

    The constructor raises SpaceError, a UserError, for a mistake in ``config``. It also raises SpaceError if it finds
    that no point of a finite space is allowed.
    """

    def __init__(self, config: SpaceConfig) -> None:
        self.code = config.code
        """The files of users' code whose kinds the points may use."""
        self.base: Tree = with_code(config.base.model_dump(mode="json"), config.code)
        self.fields = fields_of(config, self.base)
        """The fields of the space's configs."""
        with known(config.code):
            domains, conditions = checked(config, self.base, self.fields)
            beliefs = believed(config, domains, self.base, self.fields)
            self.rules: Sequence[Rule] = checked_rules(config, self.base, self.fields)
            """The study's own constraints: expressions and Python functions."""
        self.domains: Mapping[str, Domain] = domains
        """The domain of each axis, with its values in the types of the config's fields."""
        self.beliefs: Mapping[str, Belief] = beliefs
        """The belief about good values of an axis, for each axis that has a belief."""
        self.conditions: Mapping[str, Conditions] = conditions
        """The conditions of each axis. A condition is a path with the values that the config may have there."""
        self._allowed_texts = {
            path: [(on, frozenset(map(canonical_json, values))) for on, values in each.items()]
            for path, each in conditions.items()
        }
        self.constraints = tuple(CONSTRAINTS[name] for name in config.constraints if name in CONSTRAINTS)
        """The built-in named constraints of the study."""
        self._judged = all(rule.decide is not None for rule in self.rules)
        self._blocks = blocks(self.rules if self._judged else (), domains, conditions, self)
        if self.finite and self._judged:
            self._check_not_empty()

    @property
    def finite(self) -> bool:
        """Whether no axis is continuous. A continuous axis counts even if its conditions never hold."""
        return all(domain.finite for domain in self.domains.values())

    def count(self) -> int | None:
        """Return the number of allowed points, found by enumerating them. None for an infinite space."""
        return sum(1 for _ in self.enumerate()) if self.finite else None

    def enumerate(self) -> Iterator[Point]:
        """Yield each allowed point once, in lexicographic axis order. Raises UserError for an infinite space."""
        self._check_finite()
        return (point for point in self.everything() if self.allowed(point))

    def one_at_a_time(self) -> Iterator[Point]:
        """Yield the base, then each other value of each axis with the other axes as in the base.

        Only allowed points are yielded, and none twice. An axis that a value activates gets its default (``usual``). In
        a base outside of the space, values that are not in their axis's domain are replaced by the default, too. Raises
        UserError for an infinite space.
        """
        self._check_finite()
        return self._one_at_a_time()

    def contains(self, config: Subject) -> bool:
        """Whether ``config`` is the config of an allowed point."""
        try:
            return self.allowed(self.point(config))
        except UserError:
            return False

    def compose(self, choose: Callable[[str, Domain], Json]) -> Point:
        """Build a point with values from ``choose(path, domain)``, in axis order. It may violate constraints."""
        return composed(self, self.domains, choose)[0]

    def completed(self, values: Point) -> Point:
        """Build a point with these values; each other active axis gets its default (``usual``). It may violate rules
        and constraints. Values on inactive axes are dropped.
        """
        return self.compose(lambda path, _: values[path] if path in values else self.usual(path))

    def draw(self, generator: np.random.Generator) -> Point:
        """Draw a random point that keeps the rules. Each axis is drawn as its domain says.

        The point may violate named constraints, and its config may be invalid. If the code of a rule is not loaded, all
        rules are ignored. Raises UserError if points that keep the rules are too rare to be found.
        """
        settled: Point = {}
        for block in self._blocks:
            if (found := block.draw(generator)) is None:
                raise UserError(self._rare(block))
            settled |= found
        return self.compose(lambda path, domain: settled[path] if path in settled else domain.sample(generator))

    def repaired(self, point: Point, generator: np.random.Generator) -> Point:
        """Return the point if it keeps the rules. Otherwise return a point near it that keeps them.

        Some of the axes that a broken rule names get other values. Axes that become active by this get random values.
        If no such values are found, all axes that rules tie to these are drawn at random. If that fails too, the rule
        stays broken.
        """
        settled: Point = {}
        for block in self._blocks:
            if not block.allows(point):
                settled |= block.near(point, generator) or {}
        if not settled:
            return point
        wanted = point | settled
        return self.compose(lambda path, domain: wanted[path] if path in wanted else domain.sample(generator))

    def sample(self, generator: np.random.Generator) -> Point:
        """Draw a random allowed point. Each axis is drawn as its domain says.

        Points that are not allowed are redrawn. After ``TRIES`` draws, an allowed point is drawn from the list of all
        points if the space is small and finite. Otherwise UserError is raised with the two most frequent reasons.
        """
        refused = Counter[str]()
        for _ in range(TRIES):
            point = self.draw(generator)
            if (why := self.refusal(point)) is None:
                return point
            refused[why] += 1
        everything = list(islice(self.everything(), SEARCHED)) if self.finite else []
        allowed = [point for point in everything if self.allowed(point)] if len(everything) < SEARCHED else []
        if allowed:
            return allowed[int(generator.integers(len(allowed)))]
        reasons = [f"{100 * count / TRIES:.0f} % are refused: {why}" for why, count in refused.most_common(2)]
        rare = f"none of {TRIES} points drawn is allowed: allowed ones are rarer than about 1 in {TRIES // 3}"
        raise UserError("; ".join([rare, *reasons]))

    def neighbours(self, point: Point, source: np.random.Generator | None = None) -> Iterator[Point]:
        """Yield every allowed point that differs from ``point`` by one change on one axis.

        The changes are in the order of the axes or, with ``source``, in a random order drawn from it. An axis whose
        values have no order changes to any other value, and other axes to the values on both sides
        (``Domain.neighbours``). An axis that the change activates gets its default (``usual``).
        """
        seen = {canonical_json(point)}
        active = [path for path in self.domains if path in point]
        changes = [(path, value) for path in active for value in self.domains[path].neighbours(point[path])]
        for place in range(len(changes)) if source is None else source.permutation(len(changes)):
            other = self.moved(point, *changes[place])
            if (text := canonical_json(other)) not in seen and self.allowed(other):
                seen.add(text)
                yield other

    def moved(self, point: Point, path: str, value: Json) -> Point:
        """Return the point with ``value`` on the axis ``path``. It may violate rules and constraints.

        Axes that the change activates get their defaults (``usual``), and axes that it deactivates are dropped.
        """
        return self.completed(point | {path: value})

    def config(self, point: Point) -> Subject:
        """Return a point's config. Raises UserError if the point does not fit the axes or the config is invalid."""
        return self._valid(self.tree(point))

    def tree(self, point: Point) -> Tree:
        """Return a point's config as a tree, even if invalid. Raises UserError if the point does not fit the axes."""
        tree = self.base
        active = []
        for path, domain in self.domains.items():
            if not self.active(path, tree):
                continue
            if path not in point:
                raise UserError(f"the point has no {path} (allowed: {domain})")
            if not domain.contains(point[path]):
                raise UserError(f"{path}: got {shown(point[path])} (allowed: {domain})")
            tree = self.fields.written(tree, path, point[path])
            active.append(path)
        for path in point:
            if path not in active:
                raise UserError(unknown("or inactive axis", path, active))
        return tree

    def _valid(self, tree: Tree) -> Subject:
        try:
            return self.fields.model.model_validate(tree)
        except ValidationError as error:
            with known(self.code):
                raise UserError(explain(error, self.fields.model)) from None

    def refusal(self, point: Point) -> str | None:
        """Return why a point is not allowed, in a line; None if it is allowed. Rules, the fastest check, come first."""
        try:
            tree = self.tree(point)
            if (why := next((why for rule in self.rules if (why := rule.refusal(tree, point))), None)) is not None:
                return why
            config = self._valid(tree)
        except UserError as error:
            return str(error)
        broken = next((each for each in self.constraints if not each.holds(as_network(config))), None)
        return f"constraint {broken.name}: {broken.reason}" if broken else None

    def allowed(self, point: Point) -> bool:
        """Whether the point fits the axes, gives a valid config, and meets every constraint."""
        return self.refusal(point) is None

    def point(self, config: Subject) -> Point:
        """Return the point whose config is ``config``. Raises UserError if there is none."""
        tree: Tree = config.model_dump(mode="json")
        point = self.compose(lambda path, domain: _within(tree, path, domain))
        if (nearest := self.config(point)) != config:
            path, ours, theirs = next(differences(nearest, config))
            raise UserError(f"{path}: got {shown(theirs)} (allowed: {shown(ours)}, since no axis varies it)")
        return point

    def base_point(self) -> Point:
        """Return the base's values on the axes that are active in the base, even those outside of the domains."""
        return {path: read(self.base, path) for path in self.domains if self.active(path, self.base)}

    @property
    def base_removed_by(self) -> str | None:
        """The constraint that removes the base from the space, in a line. None if none does.

        Also None if the base has values outside of the axes' domains, or if the code of a rule is not loaded.
        """
        point = self.base_point()
        inside = all(self.domains[path].contains(value) for path, value in point.items())
        return self.refusal(point) if self._judged and inside else None

    def active(self, path: str, tree: Tree) -> bool:
        """Whether an axis is active: its conditions hold, and ``tree``, with values of earlier axes, has its field."""
        return present(tree, path) and self.meets(path, tree)

    def written(self, tree: Tree, path: str, value: Json) -> Tree:
        """Return the tree with ``value`` on the axis ``path``. If ``value`` is another kind, its fields are added."""
        return self.fields.written(tree, path, value)

    def meets(self, path: str, tree: Tree) -> bool:
        """Whether the conditions of the axis at ``path`` hold in ``tree``, even if its field does not exist."""
        return all(text_at(tree, on) in texts for on, texts in self._allowed_texts[path])

    def everything(self) -> Iterator[Point]:
        """Yield every combination of values of active axes, allowed or not. Call this only for a finite space.

        If the combinations of a block are listed (``Block.listed``), those that break its rules are left out.
        """
        values = {path: domain.values for path, domain in self.domains.items()}

        def may_begin(path: str, point: Point) -> bool:
            return all(block.may_begin(point) for block in self._blocks if path in block.domains)

        return (point for point, _ in points(self, values, may_begin))

    def _one_at_a_time(self) -> Iterator[Point]:
        def changes() -> Iterator[Point]:
            yield {}
            for path, domain in self.domains.items():
                yield from ({path: value} for value in domain.values)

        seen: set[str] = set()
        for change in changes():
            point = self.completed(change)
            if (text := canonical_json(point)) not in seen and self.allowed(point):
                seen.add(text)
                yield point

    def _check_finite(self) -> None:
        if not self.finite:
            path, domain = next(item for item in self.domains.items() if not item[1].finite)
            raise UserError(
                f"the space is infinite: axis {path} has {domain} (allowed where all points are tried, as by proposer "
                "grid: choice, ordinal, randint, lograndint, and ranges with a step)"
            )

    def usual(self, path: str) -> Json:
        """Return an axis's default value: the base's value or, if the domain lacks that, the domain's first value."""
        if present(self.base, path) and self.domains[path].contains(own := read(self.base, path)):
            return own
        return self.domains[path].first

    def _check_not_empty(self) -> None:
        for block in self._blocks:
            if block.listed == []:
                raise SpaceError(self._rare(block), "constraints")
        first: Point | None = None
        for number, point in enumerate(self.everything()):
            if self.allowed(point):
                return
            first = point if first is None else first
            if number == SEARCHED:
                return
        assert first is not None
        raise SpaceError(f"no point of the space is allowed; {shown(first)}: {self.refusal(first)}", "axes")

    def _rare(self, block: Block) -> str:
        """Return why no values of a block keep its rules: a rule cannot be computed, or all tried values break one."""
        try:
            block.check()
        except UndecidedError as error:
            return str(error)
        texts = " and ".join(f"constraint {rule.text}" for rule in block.rules)
        if not block.domains:
            return f"{texts}: never holds, since no axis varies what it names"
        often = "no values" if block.listed == [] else f"none of {TRIES_OF_A_BLOCK:,} values drawn"
        return f"{texts}: {often} of {' and '.join(block.domains)} keep {'it' if len(block.rules) == 1 else 'them'}"


def _within(tree: Tree, path: str, domain: Domain) -> Json:
    if not present(tree, path) or not domain.contains(value := read(tree, path)):
        got = shown(read(tree, path)) if present(tree, path) else "nothing"
        raise UserError(f"{path}: got {got} (allowed: {domain})")
    return value
