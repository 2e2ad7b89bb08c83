"""Tests a study's own constraints before training.

The constraints must be computable, some point must keep them, and the values in their comparisons must be possible.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from skipstack.data.basis.errors import UserError, unknown
from skipstack.data.basis.explain import shown
from skipstack.data.basis.seeding import generator
from skipstack.data.basis.user_code.configs import known
from skipstack.spaces.checks import SpaceError
from skipstack.spaces.domains import Choice, Domain, Json, Range
from skipstack.spaces.expressions import Comparison, comparisons
from skipstack.spaces.rules import Rule, UndecidedError
from skipstack.spaces.space import Space
from skipstack.spaces.trial import TrialConfig

PROBES: Final = 64
"""The number of points at which each rule is computed."""


def check_rules(space: Space, constraints: Sequence[str]) -> None:
    """Raise SpaceError for a rule that compares with an impossible value or is undecided at an extreme point. Also
    raise it if no point that keeps the rules is found.

    ``constraints``: the texts of all constraints of the space. Each rule is computed at random extreme points: any
    value of a choice, and an end of each range. A rule must be true or false there. Other points at which a rule is
    undecided are refused when they are proposed.
    """
    for rule in space.rules:
        if rule.function is None and (why := _senseless(space, rule)):
            raise SpaceError(f"constraint {rule.text}: {why}", "constraints", constraints.index(rule.text))
    source = generator(0, "rules")
    points = [space.compose(lambda path, domain: _end(domain, source)) for _ in range(PROBES if space.rules else 0)]
    for rule in space.rules:
        for point in points:
            try:
                rule.holds(space.tree(point), point)
            except UndecidedError as error:
                raise SpaceError(str(error), "constraints", constraints.index(rule.text)) from None
    try:
        if space.rules:
            space.draw(source)
    except UserError as error:
        raise SpaceError(str(error), "constraints") from None


def _end(domain: Domain, source: np.random.Generator) -> Json:
    """Draw a value of a choice, or one of the two ends of a range of numbers."""
    return domain.ends[int(source.integers(len(domain.ends)))]


def _senseless(space: Space, rule: Rule) -> str:
    """Return why a comparison in an expression makes no sense, in one line. Empty if all comparisons make sense.

    A comparison makes no sense if ``_impossible`` refuses the compared value. With ``<``, ``<=``, ``>`` and ``>=``,
    such a value is accepted if the comparison holds for an end of the axis, as in ``dropout < 1``.
    """
    for each in comparisons(rule.text):
        path = rule.paths[each.name]
        for value in each.values:
            if (why := _impossible(space, path, value)) and not (each.ordered and _holds_somewhere(space, path, each)):
                return f"{each.name}: {why}"
    return ""


def _impossible(space: Space, path: str, value: Json) -> str:
    """Return why the field at ``path`` cannot have ``value``, in one line. Empty if no test shows this.

    Of a network's field, only the type is tested. Of a function's axis, a choice is tested for the value. A range may
    have any number between its ends, whatever its step. Fixed values of a function are not tested.
    """
    domain = space.domains.get(path)
    if space.fields.model is TrialConfig:
        return _not_of_type(space, path, value)
    if domain is None:
        return ""
    if isinstance(domain, Choice):
        texts = [own for own in domain.values if isinstance(own, str)]
        if value in domain.values:
            return ""
        if len(texts) == len(domain.values):
            return unknown("value", value, texts)
    elif domain.contains(value) or (isinstance(domain, Range) and _is_between(domain, value)):
        return ""
    return f"got {shown(value)} (allowed: {domain})"


def _is_between(domain: Range, value: Json) -> bool:
    return isinstance(value, int | float) and domain.low <= value <= domain.high


def _not_of_type(space: Space, path: str, value: Json) -> str:
    whole = isinstance(value, float) and value.is_integer()
    try:
        with known(space.code):
            typed = space.fields.typed(path, int(value) if whole and isinstance(value, float) else value)
    except ValueError as error:
        return str(error)
    return "" if typed == value else f"got {shown(value)} (allowed: {shown(typed)}, as configs have it)"


def _holds_somewhere(space: Space, path: str, comparison: Comparison) -> bool:
    """Whether a comparison holds for an end of the axis at ``path`` or, if the axis is a choice, for any value. Also
    True without an axis, and if the comparison cannot be computed.
    """
    domain = space.domains.get(path)
    if domain is None:
        return True
    try:
        return any(comparison.holds(end) for end in domain.ends)
    except TypeError:
        return True
