"""Encodes a point of a space as a row with one number for each axis, the input of models over all axes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from skipstack.data.basis.frozen import canonical_json
from skipstack.spaces.activity import owners
from skipstack.spaces.domains import Choice, Domain, Json, Range
from skipstack.spaces.paths import present, read
from skipstack.spaces.space import Point, Space

Numbers = NDArray[np.float64]

STEPS: Final = (0.003, 0.01, 0.03, 0.1, 0.3)
"""The distances by which a number is moved down and up to find a better value, as fractions of its range."""

LISTED: Final = 16
"""The maximum number of values of an ordered axis that are all tried. If an axis has more, only those at the distances
``STEPS`` from the present value are tried.
"""


@final
class Encoding:
    """Converts points of a space into rows of numbers, and rows into points.

    A row contains the coordinate of the value on each axis (``Domain.coordinate``): the index of a choice's value, or a
    number from 0 to 1 for any other value. It contains NaN for an inactive axis. Some methods take rows that have
    values on inactive axes as well. A spread row (``spread``) has one column for each number, and one column for each
    value of each choice.

    Shapes: N rows, D axes, E columns of a spread row.
    """

    def __init__(self, space: Space) -> None:
        self._space = space
        self._domains: list[Domain] = list(space.domains.values())
        self._chosen = np.array([not domain.ordered for domain in self._domains], dtype=bool)
        self._widths = np.array([1 if domain.ordered else len(domain.values) for domain in self._domains], dtype=int)
        self._steps = np.array([domain.steps for domain in self._domains], dtype=float)
        self._uneven = {
            axis: domain for axis, domain in enumerate(self._domains) if isinstance(domain, Range) and domain.is_uneven
        }
        self.starts = np.cumsum(self._widths) - self._widths
        """The first column of each axis in a spread row."""
        self.axes = np.repeat(np.arange(len(self._widths)), self._widths)
        """The axis of each column in a spread row."""
        asked = {
            axis: (self._conditions_on(owners(space, path)), self._conditions_on(space.conditions[path]))
            for axis, path in enumerate(space.domains)
        }
        self._asked = {axis: both for axis, both in asked.items() if any(both)}
        self.asked = {each.on for both in self._asked.values() for own in both for each in own}
        """The axes whose values decide whether other axes are active."""

    def row(self, point: Point) -> Numbers:
        """The row of a point, with NaN for inactive axes."""
        row = np.full(len(self._domains), np.nan)
        for axis, (path, domain) in enumerate(self._space.domains.items()):
            if path in point:
                row[axis] = domain.coordinate(point[path])
        return row

    def point(self, row: Numbers) -> Point:
        """The point of a row that has a value on every axis. Values on inactive axes are dropped."""
        numbers = dict(zip(self._space.domains, row, strict=True))
        return self._space.compose(lambda path, domain: domain.at(float(numbers[path])))

    def active(self, rows_ND: Numbers) -> NDArray[np.bool_]:
        """Whether each axis is active in each row. Each row must have a value on every axis. An axis is active if its
        config field exists and its conditions hold.

        A condition on an inactive axis is judged by the value in the space's base config, if the field exists. This is
        approximate, since a component of another kind than the base's has other defaults. ``point`` is exact, because
        the space decides there which axes are active.
        """
        exist_ND = np.ones(rows_ND.shape, dtype=bool)
        active_ND = np.ones(rows_ND.shape, dtype=bool)
        for axis, (kinds, conditions) in self._asked.items():
            for each in kinds:
                exist_ND[:, axis] &= each.holds(rows_ND, active_ND, exist_ND)
            active_ND[:, axis] = exist_ND[:, axis]
            for each in conditions:
                active_ND[:, axis] &= each.holds(rows_ND, active_ND, exist_ND)
        return active_ND

    def spread(self, rows_ND: Numbers) -> Numbers:
        """Spread rows out, so that each choice has one column per value. The squared distance is 1 between two values
        of a choice, and 1/2 between a value and an inactive choice. An inactive number is set to the middle of its
        range.
        """
        spread_NE = np.zeros((len(rows_ND), len(self.axes)))
        numbers_ND, chosen_ND = rows_ND[:, ~self._chosen], rows_ND[:, self._chosen]
        spread_NE[:, self.starts[~self._chosen]] = np.where(np.isnan(numbers_ND), 0.5, numbers_ND)
        rows, axes = np.nonzero(~np.isnan(chosen_ND))
        spread_NE[rows, self.starts[self._chosen][axes] + chosen_ND[rows, axes].astype(int)] = math.sqrt(0.5)
        return spread_NE

    def random(self, source: np.random.Generator, count: int) -> Numbers:
        """Draw ``count`` rows, with a value on every axis. Each value is drawn as the axis's domain says."""
        uniform_ND = source.random((count, len(self._domains)))
        chosen, whole = self._chosen, self._steps > 0
        uniform_ND[:, chosen] = np.floor(uniform_ND[:, chosen] * self._widths[chosen])
        uniform_ND[:, whole] = np.floor(uniform_ND[:, whole] * (self._steps[whole] + 1)) / self._steps[whole]
        for axis, domain in self._uneven.items():
            low, high = domain.span
            uniform_ND[:, axis] = domain.cells(low + (high - low) * uniform_ND[:, axis])[1]
        return uniform_ND

    def mutated(self, source: np.random.Generator, rows_ND: Numbers, axes: float) -> Numbers:
        """Mutate rows, and return rows with a value on every axis. In each row, all inactive axes get new values, and
        so do some axes that are chosen at random, ``axes`` of them on average. New values are drawn as in ``random``.
        """
        changed_ND = source.random(rows_ND.shape) < axes / len(self._domains)
        return np.where(changed_ND | np.isnan(rows_ND), self.random(source, len(rows_ND)), rows_ND)

    def moves(self, axis: int, rows_ND: Numbers) -> Numbers:
        """The values to try on one axis, for each of N rows: all values of a choice, or of any other axis with up to
        ``LISTED`` values. For other axes, the row's own value is moved down and up by each of ``STEPS``.
        """
        if (listed := self._listed[axis]) is not None:
            return np.broadcast_to(listed, (len(rows_ND), len(listed)))
        near_NV: Numbers = np.clip(rows_ND[:, axis, None] + _BOTH_WAYS, 0.0, 1.0)
        if steps := self._steps[axis]:
            near_NV = np.round(near_NV * steps) / steps
        elif axis in self._uneven:
            near_NV = self._uneven[axis].cells(near_NV)[1]
        return near_NV

    @cached_property
    def _listed(self) -> list[Numbers | None]:
        return [self._all(domain) if domain.finite else None for domain in self._domains]

    @staticmethod
    def _all(domain: Domain) -> Numbers | None:
        if not domain.ordered:
            return np.arange(len(domain.values), dtype=float)
        if not 1 < len(domain.values) <= LISTED:
            return None
        if domain.steps:
            return np.linspace(0.0, 1.0, domain.steps + 1)
        return np.array([domain.coordinate(value) for value in domain.values])

    def _conditions_on(self, asked: Mapping[str, Sequence[Json]]) -> list["_Condition"]:
        numbers = {path: axis for axis, path in enumerate(self._space.domains)}
        found = []
        for path, values in asked.items():
            domain = self._space.domains.get(path)
            if isinstance(domain, Choice):
                texts = [canonical_json(value) for value in values]
                allowed = np.array([canonical_json(value) in texts for value in domain.values])
                base = self._space.base
                otherwise = present(base, path) and canonical_json(read(base, path)) in texts
                found.append(_Condition(numbers[path], domain.steps or 1, allowed, otherwise))
        return found


@final
@dataclass(frozen=True, slots=True)
class _Condition:
    """A condition on the value of one axis, which is a choice. ``on``: the number of the axis. ``scale``: the index of
    a value divided by its coordinate. ``allowed``: whether each value of the choice meets the condition. ``otherwise``:
    whether the value in the base config meets the condition. This decides for rows in which the axis is inactive but
    its config field exists.
    """

    on: int
    scale: int
    allowed: NDArray[np.bool_]
    otherwise: bool

    def holds(self, rows_ND: Numbers, active_ND: NDArray[np.bool_], exist_ND: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Whether each row meets the condition."""
        chosen_N = self.allowed[np.rint(rows_ND[:, self.on] * self.scale).astype(int)]
        return np.where(active_ND[:, self.on], chosen_N, exist_ND[:, self.on] & self.otherwise)


_BOTH_WAYS: Final = np.array([sign * step for step in STEPS for sign in (-1, 1)])
