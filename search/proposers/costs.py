"""What an epoch costs at a point of a space, as far as trials tell, so that a proposer can prefer what is cheap."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from skipstack.data.basis.frozen import canonical_json
from skipstack.spaces.domains import Choice, Domain, Integer, Log, Real
from skipstack.spaces.space import Point, Space

PENALTY: Final = 0.01
"""Of the squares of the effects: the variance of a trial's logarithm of seconds around them, over that of effects."""


@final
@dataclass(frozen=True, slots=True)
class AxisCost:
    """What an axis adds to the logarithm of the seconds of an epoch.

    ``effects``: of a choice, of each value; of a number at place p of its range, of p - 1/2 and of its square.
    """

    domain: Domain
    effects: tuple[float, ...]

    def of(self, numbers: Any) -> Any:
        """At numbers of the axis, or of its values where it is a choice: an array, and so is the answer."""
        if isinstance(self.domain, Choice):
            return np.asarray(self.effects)[np.asarray(numbers, dtype=int)]
        return self.at(places(self.domain, numbers))

    def at(self, place: Any) -> Any:
        """At places in the range of a number, of whatever kind of array."""
        slope, bend = self.effects
        return slope * (place - 0.5) + bend * (place - 0.5) ** 2


class Costs:
    """The logarithm of the seconds of an epoch, as a sum over the active axes: ridge regression.

    A network twice as deep and twice as wide takes about the product of what each alone takes, so the logarithm is
    additive. (Snoek et al., 2012, model the same logarithm by a Gaussian process; Syne Tune has linear models.)
    """

    def __init__(self, space: Space) -> None:
        self._domains = space.domains
        self._points: dict[int, Point] = {}
        self._seconds: dict[int, list[float]] = {}

    def proposed(self, number: int, point: Point) -> None:
        """Trial ``number`` runs at ``point``."""
        self._points[number] = point

    def took(self, number: int, seconds: float) -> None:
        """An epoch of trial ``number`` took so long, for each seed that it trained."""
        if seconds > 0:
            self._seconds.setdefault(number, []).append(seconds)

    def by_axis(self) -> dict[str, AxisCost]:
        """What each axis adds, against the mean of all trials; nothing as long as none has reported."""
        if not self._seconds:
            return {}
        points = [self._points[number] for number in self._seconds]
        columns = {path: _features(domain, path, points) for path, domain in self._domains.items()}
        design = np.concatenate(list(columns.values()), axis=1)
        logarithms = np.array([math.log(sum(each) / len(each)) for each in self._seconds.values()])
        design -= design.mean(axis=0)
        logarithms -= logarithms.mean()
        penalty = PENALTY * np.eye(design.shape[1])
        effects = np.linalg.solve(design.T @ design + penalty, design.T @ logarithms)
        ends = np.cumsum([each.shape[1] for each in columns.values()])[:-1]
        return {
            path: AxisCost(self._domains[path], tuple(own.tolist()))
            for path, own in zip(columns, np.split(effects, ends), strict=True)
        }


@final
@dataclass(frozen=True, slots=True)
class Charged:
    """What is charged for the costs of a point: ``weight`` times what its axes add."""

    costs: Mapping[str, AxisCost]
    weight: float

    def of(self, numbers: Mapping[str, Any]) -> Any:
        """For arrays of numbers, by axis; of a choice, the numbers of its values."""
        return self.weight * sum(self.costs[path].of(own) for path, own in numbers.items() if path in self.costs)


def places(domain: Domain, numbers: Any) -> Any:
    """Where numbers lie in the range of an axis: from 0 to 1."""
    match domain:
        case Log(low, high):
            return np.log(np.asarray(numbers) / low) / (math.log(high / low) or 1.0)
        case Integer(low, high) | Real(low, high):
            return (np.asarray(numbers, dtype=float) - low) / (high - low or 1.0)
        case Choice():
            raise TypeError("the values of a choice have no order")


def _features(domain: Domain, path: str, points: list[Point]) -> NDArray[np.float64]:
    """What the cost is linear in, a row for each point: of the active ones; their sum says nothing of how many are."""
    if isinstance(domain, Choice):
        texts = {canonical_json(value): number for number, value in enumerate(domain.values)}
        rows = np.zeros((len(points), len(texts)))
        for row, point in zip(rows, points, strict=True):
            if path in point:
                row -= 1 / len(texts)
                row[texts[canonical_json(point[path])]] += 1
        return rows
    rows = np.zeros((len(points), 2))
    for row, point in zip(rows, points, strict=True):
        if path in point:
            place = float(places(domain, float(str(point[path])))) - 0.5
            row[:] = place, place**2
    return rows
