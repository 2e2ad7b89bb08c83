"""Checks the config of a space before anything is trained, and builds its domains, conditions, rules and beliefs."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from pydantic import ValidationError

from skipstack.data.basis.errors import UserError, unknown
from skipstack.data.basis.explain import explain, place, shown
from skipstack.data.basis.frozen import canonical_json
from skipstack.spaces.belief import Belief
from skipstack.spaces.config import Axis, SpaceConfig
from skipstack.spaces.constraints import CONSTRAINTS
from skipstack.spaces.domains import Choice, Domain, Integer, Json, Range
from skipstack.spaces.fields import Fields
from skipstack.spaces.paths import overlap, present, read, text_at
from skipstack.spaces.rules import Rule, functions_of, rules_of
from skipstack.spaces.trees import Tree
from skipstack.spaces.trial import TrialConfig

Conditions = Mapping[str, tuple[Json, ...]]


class SpaceError(UserError):
    """A mistake in a space's config. ``where``: the keys and indices that lead to it, as in ``("axes", path)``."""

    def __init__(self, message: str, *where: str | int) -> None:
        super().__init__(message)
        self.where = where


def mistake(path: str, message: str, *where: str | int) -> SpaceError:
    """Create the error for a mistake in the axis at ``path``. ``where``: the keys and indices below the axis."""
    return SpaceError(f"axis {path}: {message}", "axes", path, *where)


def in_order(axes: Mapping[str, Axis], fields: Fields) -> dict[str, Axis]:
    """Sort the axes so that each comes after the axes on which it depends.

    An axis depends on the axes that its conditions name, and on the axes that decide whether its field exists. If the
    order is right already, it does not change. Raises SpaceError for conditions that lead back to their own axis.
    """
    ordered: dict[str, Axis] = {}

    def add(path: str, waiting: tuple[str, ...]) -> None:
        if path in waiting:
            circle = " on ".join([*waiting[waiting.index(path) :], path])
            raise mistake(
                path,
                f"it depends on itself: {circle} (allowed: a condition on an axis that does not depend on "
                "it, or on the base)",
            )
        if path not in ordered:
            needed = fields.kinds_above(path)
            for other in axes:
                if other in needed or any(overlap(on, other) for on in axes[path].when):
                    add(other, (*waiting, path))
            ordered[path] = axes[path]

    for path in axes:
        add(path, ())
    return ordered


def checked(config: SpaceConfig, base: Tree, fields: Fields) -> tuple[dict[str, Domain], dict[str, Conditions]]:
    """Check the axes of a space and the names of its constraints. Returns the axes' domains and conditions.

    ``config``: the config of the space. ``base``: its base as a tree. ``fields``: the fields of its configs. Values in
    the result have the types of the fields. Raises SpaceError for the first mistake.
    """
    for number, name in enumerate(config.constraints):
        if name in config.constraints[:number]:
            times = config.constraints.count(name)
            raise SpaceError(f"constraint {name!r} is named {times} times (allowed: once)", "constraints", number)
        if name in CONSTRAINTS and not isinstance(config.base, TrialConfig):
            raise SpaceError(
                f"constraint {name} is a condition on networks (allowed for a function: expressions over its axes, and "
                "Python functions)",
                "constraints",
                number,
            )
    for path in config.axes:
        if not fields.has(path):
            raise SpaceError(fields.unknown("axis", path), "axes", path)
        if outer := next((other for other in config.axes if path.startswith(f"{other}.")), None):
            raise mistake(path, f"axis {outer} varies it too (allowed: one of the two, since one contains the other)")
    domains: dict[str, Domain] = {}
    conditions: dict[str, Conditions] = {}
    for path, axis in config.axes.items():
        conditions[path] = {
            on: _condition(path, on, values, domains, config, base, fields) for on, values in axis.when.items()
        }
        domains[path] = _domain(path, axis, fields)
        _check_kind(path, config.axes, base, fields)
        if not axis.when:
            _check_choices(path, domains[path], config.axes, base, fields)
    return domains, conditions


def checked_rules(config: SpaceConfig, base: Tree, fields: Fields) -> list[Rule]:
    """Return the rules of a space: the constraints that are not built in. Raises SpaceError for the first mistake."""
    for name in functions_of(config):
        if name in CONSTRAINTS:
            raise SpaceError(f"constraint {name} is built in (allowed: a function of another name)", "constraints")
    rules: list[Rule] = []
    for number, text in enumerate(config.constraints):
        try:
            rules += rules_of(text, config, base, fields.has)
        except UserError as error:
            raise SpaceError(str(error), "constraints", number) from None
    return rules


def believed(config: SpaceConfig, domains: Mapping[str, Domain], base: Tree, fields: Fields) -> dict[str, Belief]:
    """Return the belief about each axis. It is around the axis's prior or, without a prior, around the base's value.

    An axis without a prior has no belief if the base has no value for it, or a value outside of its domain. Raises
    SpaceError for a prior that is not a value of its axis.
    """
    beliefs = {}
    for path, domain in domains.items():
        prior = config.axes[path].prior
        if prior is not None:
            value = _prior(path, prior, domain, fields)
        elif present(base, path):
            value = read(base, path)
        else:
            continue
        if domain.contains(value):
            beliefs[path] = Belief(domain, value)
    return beliefs


def _prior(path: str, prior: Json, domain: Domain, fields: Fields) -> Json:
    """Return the value that a prior means. On an axis with named values, a prior is the name of a value."""
    if isinstance(domain, Choice) and domain.names:
        if prior not in domain.names:
            raise mistake(path, f"prior: {unknown('value', shown(prior), domain.names)}", "prior")
        return domain.values[domain.names.index(str(prior))]
    value = _typed(fields, path, prior, "prior")
    if not domain.contains(value):
        raise mistake(path, f"prior: got {shown(prior)} (allowed: {domain})", "prior")
    return value


def _domain(path: str, axis: Axis, fields: Fields) -> Domain:
    """Return the domain of an axis, with its values in the type of the field at ``path``.

    Raises SpaceError for an integer axis on a field of floats, and for an axis of other numbers on a field of integers.
    Also raises it for values that the field does not accept or that occur twice.
    """
    domain, kind = axis.domain, axis.kind
    if isinstance(domain, Choice):
        where: list[tuple[str, ...]] = [(kind, name) for name in domain.names] or [(kind,)] * len(domain.values)
        values = tuple(_typed(fields, path, value, *key) for value, key in zip(domain.values, where, strict=True))
        seen: set[str] = set()
        for number, text in enumerate(map(canonical_json, values)):
            if text in seen:
                raise mistake(path, f"value {text} occurs twice (allowed: once)", *where[number])
            seen.add(text)
        return replace(domain, values=values)
    if isinstance(domain, Integer):
        if not all(isinstance(_typed(fields, path, bound, kind), int) for bound in domain.ends):
            allowed = "choice, ordinal, uniform, loguniform, normal, lognormal"
            raise mistake(path, f"the field is not an integer (allowed: {allowed})", kind)
        return domain
    # A normal axis may exceed the bounds of its field, since the space refuses such points. Only its median is checked.
    ends = domain.ends if isinstance(domain, Range) else (domain.middle,)
    # Integer bounds fit a field of integers, but a continuous axis does not. So a value inside is checked too.
    low, *_ = (_typed(fields, path, value, kind) for value in ends)
    if isinstance(low, int):
        with suppress(ValueError):
            fields.typed(path, domain.inside)
            return domain
        raise mistake(
            path,
            f"got {kind}, any number between, for an integer (allowed: randint, lograndint, choice, ordinal)",
            kind,
        )
    _typed(fields, path, domain.inside, kind)
    return domain


def _typed(fields: Fields, path: str, value: Json, *where: str) -> Json:
    try:
        return fields.typed(path, value)
    except ValueError as error:
        raise mistake(path, str(error), *where) from None


def _condition(
    path: str,
    on: str,
    values: tuple[Json, ...],
    domains: Mapping[str, Domain],
    config: SpaceConfig,
    base: Tree,
    fields: Fields,
) -> tuple[Json, ...]:
    where = ("when", on)
    if not fields.has(on):
        raise mistake(path, f"when: {fields.unknown('path', on)}", *where)
    later = [other for other in config.axes if other not in domains and overlap(on, other)]
    if later:
        raise mistake(path, f"when names {later[0]} (allowed: axes declared before it, and the base)", *where)
    result = []
    for value in values:
        try:
            result.append(fields.typed(on, value))
        except ValueError as error:
            raise mistake(path, f"when {on}: {error}", *where) from None
        if on in domains and not may_be(on, result[-1], config.axes[on], domains[on], base):
            raise mistake(
                path, f"when {on} is {shown(value)}, which its axis never is (allowed: {domains[on]})", *where
            )
    return tuple(result)


def may_be(path: str, value: Json, axis: Axis, domain: Domain, base: Tree) -> bool:
    """Whether configs may have ``value`` at the ``path`` of an axis. If the axis may be inactive, this includes the
    base's value.

    ``domain``: the domain of ``axis``. ``value`` and the values of the domain have the types of the field at ``path``.
    """
    return domain.contains(value) or (bool(axis.when) and text_at(base, path) == canonical_json(value))


def _check_kind(path: str, axes: Mapping[str, Axis], base: Tree, fields: Fields) -> None:
    """Raise SpaceError if an axis's field depends on a kind, and the axis of this kind is declared later.

    Also raise it for an axis without conditions if the base's kind lacks the field and no earlier axis varies the kind.
    """
    tags = fields.kinds_above(path)
    earlier = list(axes)
    for tag in tags.intersection(earlier[earlier.index(path) + 1 :]):
        raise mistake(path, f"stands before {tag} (allowed: after it, which settles the fields)")
    if not axes[path].when and not present(base, path) and not tags.intersection(earlier):
        parent = path.rpartition(".")[0]
        raise mistake(path, f"the base is of another kind (allowed: {inside(base, parent)})")


def inside(base: Tree, path: str) -> str:
    """Return the fields of the base's mapping at ``path`` as text; if there is none, of the nearest mapping above."""
    while not (present(base, path) and isinstance(fields := read(base, path), dict)):
        path = path.rpartition(".")[0]
    return ", ".join(f"{path}.{name}" for name in fields)


def _check_choices(path: str, domain: Domain, axes: Mapping[str, Axis], base: Tree, fields: Fields) -> None:
    """Raise SpaceError if a value of a choice makes the base invalid in a field that no other axis varies."""
    if not isinstance(domain, Choice) or not present(base, path):
        return
    for value in domain.values:
        try:
            fields.model.model_validate(fields.written(base, path, value))
        except ValidationError as error:
            wrong = ".".join(map(str, place(error, fields.model)))
            if not any(overlap(wrong, other) for other in axes if other != path):
                message = explain(error, fields.model)
                raise mistake(path, f"value {shown(value)}: {message}", axes[path].kind) from None
