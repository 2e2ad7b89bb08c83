"""A greedy path through a space: each step tries each remaining change on every corpus, and adopts the change with the
highest mean score over the corpora.
"""

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
    """A change that the next step may adopt. ``axis``: the axis that changes. ``points``: for each start of the path,
    the point (a value for each axis) after the change.
    """

    axis: str
    points: tuple[Point, ...]

    def score(self, scores: Mapping[str, float | None]) -> float | None:
        """The mean score over the starts; None if a trial has none. ``scores``: as for ``steps``."""
        reached = [score for point in self.points if (score := scores.get(canonical_json(point))) is not None]
        return fmean(reached) if len(reached) == len(self.points) else None


def candidates(space: Space, config: PathConfig, taken: Mapping[str, Json]) -> list[NextChange]:
    """The changes that the next step may adopt, in the order of the axes. ``taken``: the changes of earlier steps, as
    the new value of each changed axis.

    Changes that the space does not allow are left out, as are changes without an effect, such as the change of an
    inactive axis. Axes that a change activates get values as in ``Space.moved``.
    """
    here = [space.completed({**start, **taken}) for start in config.starts]
    found = []
    for axis in (axis for axis in space.domains if axis in config.changes and axis not in taken):
        there = [space.completed({**start, **taken, axis: config.changes[axis]}) for start in config.starts]
        moved = all(canonical_json(point) != canonical_json(before) for point, before in zip(there, here, strict=True))
        if moved and all(map(space.allowed, there)):
            found.append(NextChange(axis, tuple(there)))
    return found


def steps(
    space: Space, config: PathConfig, scores: Mapping[str, float | None]
) -> Iterator[tuple[list[NextChange], NextChange | None]]:
    """Yields each step of the path so far, as its candidate changes and the adopted one. The adopted change is None in
    the last step if a candidate's trial has not ended yet, or if no candidate has a score for every start.

    ``scores``: the score of each ended trial, by the canonical JSON of its point; None for a trial without a score.
    """
    taken: dict[str, Json] = {}
    while found := candidates(space, config, taken):
        best = _best(found, scores)
        yield found, best
        if best is None:
            return
        taken[best.axis] = config.changes[best.axis]


def _best(found: Sequence[NextChange], scores: Mapping[str, float | None]) -> NextChange | None:
    """The candidate with the highest mean score over the starts; of equal candidates, the first. None if a candidate's
    trial has not ended, or if no candidate has a score for every start.
    """
    if any(canonical_json(point) not in scores for candidate in found for point in candidate.points):
        return None
    means = [(score, candidate) for candidate in found if (score := candidate.score(scores)) is not None]
    return max(means, key=lambda each: each[0])[1] if means else None


@final
class Path(Proposer):
    """Proposes the listed points and the starts, and then a greedy path. Each step of the path tries all candidate
    changes and adopts the one with the highest mean score. A step starts when the trials of the previous step have
    ended. The path ends when no candidate is left, or none has a score for every start.

    Raises UserError for a listed point or a start outside the space.
    """

    waits = True  # the next step is known only when the trials of the current step have ended

    def __init__(self, space: Space, config: PathConfig) -> None:
        self._space = space
        self._config = config
        self._listed = Listed(space, (*config.points, *config.starts))
        self._seen = ProposedPoints(space)
        self._points: dict[int, str] = {}
        self._scores: dict[str, float | None] = {}

    def ask(self, number: int) -> Point | None:
        """The next listed point or start; after these, the next new point of the current step. None at the end of the
        path, or while scores of the current step are missing.
        """
        if (listed := self._listed.ask(number)) is not None:
            return listed
        for found, _ in steps(self._space, self._config, self._scores):
            for candidate in found:
                for point in candidate.points:
                    if point not in self._seen:
                        return point
        return None

    def proposed(self, number: int, point: Point) -> None:
        """Record that trial ``number`` runs at ``point``."""
        self._listed.proposed(number, point)
        self._seen.add(point)
        self._points[number] = canonical_json(point)

    def ended(self, number: int, reason: Reason, curve: Curve, further: Vector = ()) -> None:
        """Record the best score of trial ``number``, or that it has none."""
        reached = [score for _, score in curve if math.isfinite(score)]
        self._scores[self._points[number]] = None if reason in SCORELESS else max(reached, default=None)
