"""A greedy path through a space: at each step it takes the change that helps most."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import final

from skipstack.data.basis.frozen import canonical_json
from skipstack.search.ledger.events import SCORELESS, Reason
from skipstack.search.strategy.objectives.pareto import Vector
from skipstack.search.strategy.proposers.config import PathConfig
from skipstack.search.strategy.proposers.proposer import Curve, Listed, ProposedPoints, Proposer
from skipstack.spaces.domains import Json
from skipstack.spaces.space import Point, Space


@dataclass(frozen=True, slots=True)
class NextChange:
    """A possible next change, and the points after it, one for each start."""

    axis: str
    points: tuple[Point, ...]


def candidates(space: Space, config: PathConfig, taken: Mapping[str, Json]) -> list[NextChange]:
    """The candidates for the next step after the changes in ``taken``, in the order of the axes.

    Changes without an effect, since their axis is inactive, and changes that the space does not allow are left out.
    Axes that a change activates get values as in ``Space.moved``.
    """
    here = [_at(space, start, taken) for start in config.starts]
    found = []
    for axis in (axis for axis in space.domains if axis in config.changes and axis not in taken):
        there = [_at(space, start, {**taken, axis: config.changes[axis]}) for start in config.starts]
        moved = all(canonical_json(point) != canonical_json(before) for point, before in zip(there, here, strict=True))
        if moved and all(map(space.allowed, there)):
            found.append(NextChange(axis, tuple(there)))
    return found


def steps(
    space: Space, config: PathConfig, scores: Mapping[str, float | None]
) -> Iterator[tuple[list[NextChange], NextChange | None]]:
    """The steps so far: the candidates, and the one taken; None if a score is missing, or no candidate has one.

    ``scores``: of the ended trials, by the canonical JSON of their points; None: a trial without a score.
    """
    taken: dict[str, Json] = {}
    while found := candidates(space, config, taken):
        best = _best(found, scores)
        yield found, best
        if best is None:
            return
        taken[best.axis] = config.changes[best.axis]


def _best(found: Sequence[NextChange], scores: Mapping[str, float | None]) -> NextChange | None:
    """The candidate with the highest mean score over the starts, the first of equals."""
    means: list[tuple[float, NextChange]] = []
    for candidate in found:
        texts = [canonical_json(point) for point in candidate.points]
        if any(text not in scores for text in texts):
            return None
        reached = [score for text in texts if (score := scores[text]) is not None]
        if len(reached) == len(texts):
            means.append((fmean(reached), candidate))
    return max(means, key=lambda each: each[0])[1] if means else None


def _at(space: Space, start: Point, taken: Mapping[str, Json]) -> Point:
    values = {**start, **taken}
    return space.compose(lambda path, _: values[path] if path in values else space.usual(path))


@final
class Path(Proposer):
    """The listed points, then a greedy path: each step tries all candidate changes and takes the one with the highest
    score, until no change is left. A step starts when all candidates of the previous one have ended.

    Raises UserError for a listed point outside the space.
    """

    def __init__(self, space: Space, config: PathConfig) -> None:
        self._space = space
        self._config = config
        self._listed = Listed(space, (*config.points, *config.starts))
        self._seen = ProposedPoints(space)
        self._points: dict[int, str] = {}
        self._scores: dict[str, float | None] = {}

    @property
    def waits(self) -> bool:
        """True: the next step is known once the trials of this one have ended."""
        return True

    def ask(self, number: int) -> Point | None:
        """The next listed point; then a candidate of the current step, None while its scores are awaited."""
        if (listed := self._listed.ask(number)) is not None:
            return listed
        for found, _ in steps(self._space, self._config, self._scores):
            for candidate in found:
                for point in candidate.points:
                    if point not in self._seen:
                        return point
        return None

    def proposed(self, number: int, point: Point) -> None:
        """Remember ``point``."""
        self._listed.proposed(number, point)
        self._seen.add(point)
        self._points[number] = canonical_json(point)

    def ended(self, number: int, reason: Reason, curve: Curve, further: Vector = ()) -> None:
        """Note the best score of the trial."""
        reached = [score for _, score in curve if math.isfinite(score)]
        self._scores[self._points[number]] = None if reason in SCORELESS else max(reached, default=None)
