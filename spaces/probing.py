"""Tests a study's own constraints before training: they must be computable, and some point must keep them."""

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
    """Raise SpaceError for a rule that is undecided at an extreme point, and if no point that keeps the rules is found.

    ``constraints``: the texts of all constraints of the space. Each rule is computed at random extreme points: any
    value of a choice, and an end of each range. A rule must be true or false there. If it is undecided at a point
    between the extremes, nothing is raised here; that point is refused when it is proposed.
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
    """Draw a value of a choice, or one of the two ends of a range of numbers."""
    if isinstance(domain, Choice):
        return domain.sample(source)
    return (domain.low, domain.high)[int(source.integers(2))]
