"""Tries a study's own constraints before anything is trained: whether they can be computed, and kept."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.seeding import generator
from skipstack.spaces.checks import SpaceError
from skipstack.spaces.domains import Choice, Domain, Json
from skipstack.spaces.rules import UndecidedError
from skipstack.spaces.space import Space

PROBES: Final = 64
"""The number of points at which each rule is computed."""


def check_rules(space: Space, constraints: Sequence[str]) -> None:
    """Raise SpaceError for a rule that cannot be computed at some ends of its axes, and for rules that no point keeps.

    A rule must be true or false wherever its axes lead; between the ends, a point at which it is neither is refused.
    """
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
    """A value of a choice, or an end of a range of numbers."""
    if isinstance(domain, Choice):
        return domain.sample(source)
    return (domain.low, domain.high)[int(source.integers(2))]
