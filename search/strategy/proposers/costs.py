"""Predicts the time of an epoch from a point by regression, so that a proposer can prefer cheap points."""

import math
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from skipstack.spaces.domains import Domain
from skipstack.spaces.space import Point, Space

PENALTY: Final = 0.01
"""The ridge penalty: the assumed ratio of the residual variance of the log seconds to the variance of the effects."""


@final
@dataclass(frozen=True, slots=True)
class AxisCost:
    """The effect of one axis on the logarithm of the seconds of an epoch.

    ``effects``: for values without an order, the effect of each. For ordered values, with the coordinate p from 0 to 1,
    the coefficients of p - 1/2 and (p - 1/2)².
    """

    domain: Domain
    effects: tuple[float, ...]

    def at(self, coordinates: Any) -> Any:
        """The effect at each coordinate (``Domain.coordinate``) of an array."""
        if not self.domain.ordered:
            return np.asarray(self.effects)[np.asarray(coordinates, dtype=int)]
        slope, bend = self.effects
        return slope * (coordinates - 0.5) + bend * (coordinates - 0.5) ** 2


class Costs:
    """Ridge regression of the logarithm of the seconds of an epoch on the active axes.

    Depth and width multiply the time, approximately, so their effects on its logarithm add up. (Snoek et al., 2012,
    model the same logarithm by a Gaussian process; Syne Tune has linear models.)
    """

    def __init__(self, space: Space) -> None:
        self._domains = space.domains
        self._points: dict[int, Point] = {}
        self._seconds: dict[int, list[float]] = {}

    def proposed(self, number: int, point: Point) -> None:
        """Record the point (a value for each axis) of trial ``number``."""
        self._points[number] = point

    def took(self, number: int, seconds: float) -> None:
        """Record that an epoch of trial ``number`` took ``seconds`` per seed."""
        if seconds > 0:
            self._seconds.setdefault(number, []).append(seconds)

    def by_axis(self) -> dict[str, AxisCost]:
        """The effect of each axis, by its path. The log seconds of a point are the sum of the effects of its axes, up
        to a constant. Empty before the first time is recorded.
        """
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

    def charged(self, number: int, cooled: int | None) -> "Charged | None":
        """The time penalty for the proposal of trial ``number``, to be subtracted from the logarithm of an acquisition
        value. This divides the acquisition value by t to the power of 1 - ``number`` / ``cooled``, where t is the
        predicted time of an epoch.

        ``cooled``: the number of the first trial for which the time does not count; None means that the time never
        counts. Returns None if the time does not count or no time is recorded.
        """
        weight = 0.0 if cooled is None else max(1 - number / cooled, 0.0)
        costs = self.by_axis() if weight else {}
        return Charged(tuple(costs.values()), weight) if costs else None


@final
@dataclass(frozen=True, slots=True)
class Charged:
    """A penalty for the predicted time of an epoch: ``weight`` times the sum of the effects of a point's axes.
    ``costs``: the effects of each axis, in the order of the axes.
    """

    costs: tuple[AxisCost, ...]
    weight: float

    def of(self, axis: int, coordinates: Any) -> Any:
        """The contribution of one axis to the penalty, for each of ``coordinates`` on it. ``axis``: its number."""
        return self.weight * self.costs[axis].at(coordinates)


def _features(domain: Domain, path: str, points: list[Point]) -> NDArray[np.float64]:
    """The regression's features for one axis, a row for each point; 0 where the axis is inactive. For V values without
    an order: a one-hot vector minus 1/V. For ordered values, with the coordinate p: p - 1/2 and (p - 1/2)².
    """
    rows = np.zeros((len(points), 2 if domain.ordered else len(domain.values)))
    for row, point in zip(rows, points, strict=True):
        if path not in point:
            continue
        coordinate = domain.coordinate(point[path])
        if domain.ordered:
            row[:] = coordinate - 0.5, (coordinate - 0.5) ** 2
        else:
            row -= 1 / len(row)
            row[int(coordinate)] += 1
    return rows
