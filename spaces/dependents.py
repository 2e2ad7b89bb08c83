"""Removes the axes of a study that can no longer be active, since an axis on which they depend was fixed or replaced.

An axis depends on the paths that its conditions (``when``) name, and on the kinds that decide whether its field exists.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from contextlib import suppress

from skipstack.data.basis.errors import UserError
from skipstack.spaces.checks import may_be
from skipstack.spaces.config import Axis, SpaceConfig
from skipstack.spaces.counting import Combinations
from skipstack.spaces.domains import Choice, Json
from skipstack.spaces.fields import Fields
from skipstack.spaces.paths import changes, overlap, present
from skipstack.spaces.rules import Rule, in_full, rules_of
from skipstack.spaces.space import Space
from skipstack.spaces.trees import Tree

Changed = Mapping[str, Collection[str]]
"""Maps each axis to the paths that later parts of the study have changed: the fields that they fixed, and the axes that
they replaced or removed. A study file is later than its preset, a scale later than the file, and a setting later than
all of these. The conditions of an axis were written before these changes, so they may name values that are no longer
possible.
"""


def without_dependents(
    config: SpaceConfig, base: Tree, fields: Fields, changed: Changed
) -> tuple[SpaceConfig, dict[str, tuple[str, ...]]]:
    """Remove the axes that later changes have left without effect. Returns the new config, and the removed axes and
    constraints by the changed path on which they depend.

    ``config``: a config in which each axis comes after the axes on which it depends. ``base``: its base as a tree.
    ``fields``: the fields of its configs. In the result, the conditions of axes no longer name values that a replaced
    axis has lost, nor paths that are fixed. Constraints that name a removed axis are removed, too: a constraint holds
    wherever an axis that it names is inactive. An axis that depends on no changed path is never removed, so a mistake
    in its condition is still found. Raises SpaceError for a mistake.
    """
    if not any(changed.values()):
        return config, {}
    removed: dict[str, str] = {}

    def cause(path: str) -> str | None:
        """Return the changed path on which the axis at ``path`` depends, directly or through removed axes."""
        kinds = sorted(fields.kinds_above(path), key=len, reverse=True)  # the nearest first
        for on in (*config.axes[path].when, *kinds):
            for other in (*changed.get(path, ()), *removed):
                if overlap(on, other):
                    return removed.get(other, other)
        return None

    constraints = _in_full(config, base, fields, changed)
    axes: dict[str, Axis] = {}
    for path, axis in config.axes.items():
        axes[path] = axis.model_copy(update={"when": _possible(path, axis, axes, base, fields, changed)})
        nowhere = not axis.when and not present(base, path) and not fields.kinds_above(path) & axes.keys()
        if (nowhere or not all(axes[path].when.values())) and (why := cause(path)):
            removed[path] = why
            del axes[path]

    def left() -> SpaceConfig:
        kept = (text for text, paths in constraints.items() if not any(path in removed for path in paths))
        return config.model_copy(update={"axes": axes, "constraints": tuple(kept)})

    varying = Combinations(Space(left())).varying
    for path in [path for path in axes if path not in varying]:
        if why := cause(path):
            removed[path] = why
            del axes[path]
    settled = {*removed, *(path for paths in changed.values() for path in paths)} - axes.keys()
    for path, axis in axes.items():
        when = {on: values for on, values in axis.when.items() if not _is_settled(on, settled, axes)}
        axes[path] = axis.model_copy(update={"when": when})
    found: dict[str, list[str]] = defaultdict(list)
    for path, why in removed.items():
        found[why].append(path)
    for text, paths in constraints.items():
        if why := next((removed[path] for path in paths if path in removed), None):
            found[why].append(f"constraint {text}")
    return left(), {why: tuple(names) for why, names in found.items()}


def _possible(
    path: str, axis: Axis, axes: Mapping[str, Axis], base: Tree, fields: Fields, changed: Changed
) -> dict[str, tuple[Json, ...]]:
    """Return the conditions of an axis, leaving out values that a replaced axis no longer has. ``axes``: the axes
    before this one. Values of a wrong type stay, since the checks of the space refuse them.
    """

    def may(on: str, value: Json) -> bool:
        with suppress(ValueError):
            domain = axes[on].domain
            if isinstance(domain, Choice):
                domain = Choice(tuple(fields.typed(on, each) for each in domain.values))
            return may_be(on, fields.typed(on, value), axes[on], domain, base)
        return True

    later = axes.keys() & changed.get(path, ())
    return {
        on: tuple(value for value in values if may(on, value)) if on in later else values
        for on, values in axis.when.items()
    }


def _in_full(config: SpaceConfig, base: Tree, fields: Fields, changed: Changed) -> dict[str, tuple[str, ...]]:
    """Return the texts of the constraints, with the paths that each names.

    A short name in a constraint may mean any axis that the study ever had. An expression that names a removed axis is
    rewritten with whole paths, so that it keeps its meaning. A constraint with a mistake names no paths.
    """
    ever = config.model_copy(update={"axes": {**dict.fromkeys(changed), **config.axes}})
    found: dict[str, tuple[str, ...]] = {}
    for text in config.constraints:
        rules: list[Rule] = []
        with suppress(UserError):
            rules = rules_of(text, ever, base, fields.has)
        paths = tuple(path for rule in rules for path in rule.paths.values())
        gone = any(path in changed and path not in config.axes for path in paths)
        found[in_full(rules, [text])[0] if gone else text] = paths
    return found


def _is_settled(on: str, settled: Collection[str], axes: Collection[str]) -> bool:
    """Whether ``on``, the path of a condition, overlaps a ``settled`` (fixed) path, and no axis changes ``on``."""
    return any(overlap(on, each) for each in settled) and not any(changes(axis, on) for axis in axes)
