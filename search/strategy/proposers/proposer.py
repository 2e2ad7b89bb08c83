"""The interface of proposers, which choose the next point of the space. Also the proposers that do not learn from
trials, and the base of those that fit a model.

A proposer is a state machine without a clock or global randomness. The point that ``ask`` returns depends on the
study's seed, the trial's number and the history of the study. ``ask`` does not change the proposer. The other methods,
such as ``proposed`` and ``ended``, report the history. A driver and a replay of its ledger make the same calls, so a
proposer rebuilt from the ledger proposes the same next point.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import ClassVar, final

import numpy as np

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import canonical_json
from skipstack.data.basis.seeding import generator
from skipstack.search.ledger.events import Reason
from skipstack.search.strategy.objectives.pareto import Vector
from skipstack.search.strategy.proposers.costs import Costs
from skipstack.search.strategy.proposers.encoding import Encoding
from skipstack.spaces.space import Point, Space

Curve = Sequence[tuple[int, float]]
"""The reports of a trial: pairs of epoch and score, ascending by epoch. If a trial's seeds race, proposers get a single
pair instead: the number of trained seeds and their joint score.
"""

DRAWS = 100
"""The number of random draws without a new point after which a space counts as nearly exhausted."""


class Proposer(ABC):
    """Chooses the points (a value for each axis) of a space that a study tries, none of them twice.

    Call ``proposed`` with the point of each trial before calling ``ask`` for the next trial. Points that differ only in
    the order of their axes, as points from a ledger may, are the same.
    """

    waits: ClassVar[bool] = False
    """Whether ``ask`` can return None while trials run, but a point again after one of the trials has ended."""

    @abstractmethod
    def ask(self, number: int) -> Point | None:
        """The point for trial ``number``; None if the space is exhausted. Does not change the proposer."""

    @abstractmethod
    def proposed(self, number: int, point: Point) -> None:
        """Record that trial ``number`` runs at ``point``."""

    def ended(self, number: int, reason: Reason, curve: Curve, further: Vector = ()) -> None:  # noqa: B027 (many learn nothing)
        """Record that trial ``number``, which was running or paused, ended. Proposers that do not learn from trials
        ignore it.

        ``reason``: why it ended. ``curve``: its reports. ``further``: its values in the objectives other than the
        score; larger is better.
        """

    def left(self, most: int) -> int:
        """The number of points that the proposer may still propose, as far as is known, at most ``most``."""
        return most

    def took(self, number: int, seconds: float) -> None:  # noqa: B027 (most ignore the time)
        """Record that an epoch of trial ``number`` took ``seconds`` per seed."""

    def paused(self, number: int, curve: Curve, further: Vector = ()) -> None:  # noqa: B027 (most wait for the end)
        """Record that trial ``number`` paused at a rung after the reports ``curve``. It may stay paused for ever."""

    def promoted(self, number: int, point: Point) -> None:  # noqa: B027
        """Record that the paused trial ``number`` continues. ``point``: its point, as before."""

    def observed(self, point: Point, reason: Reason, curve: Curve, further: Vector = ()) -> None:  # noqa: B027
        """Learn from a trial of an earlier study, before the first ``ask``. Its point can be proposed again."""


class ProposedPoints:
    """The set of proposed points, so that none is proposed twice. Different points give different configs."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._texts: set[str] = set()

    def add(self, point: Point) -> None:
        """Add a proposed point."""
        self._texts.add(canonical_json(point))

    def __contains__(self, point: Point) -> bool:
        return canonical_json(point) in self._texts

    def unseen(self, source: np.random.Generator) -> Point | None:
        """A random allowed point that was not proposed; None if none is found.

        Up to ``DRAWS`` points are drawn. If none of them is new, a finite space is enumerated to find the remaining
        points. An infinite space counts as exhausted. Points with an active continuous axis are almost surely new, so
        the draws show that such points are rare.
        """
        for _ in range(DRAWS):
            point = self._space.sample(source)
            if point not in self:
                return point
        if not self._space.finite:
            return None
        rest = [point for point in self._space.enumerate() if point not in self]
        return rest[int(source.integers(len(rest)))] if rest else None


class Walk(Proposer):
    """Proposes the given points of a space, in order: all of them (``Space.enumerate``), or those that differ from the
    base on a single axis (``Space.one_at_a_time``), as papers ablate.
    """

    def __init__(self, space: Space, points: Iterator[Point]) -> None:
        self._seen = ProposedPoints(space)
        self._points = points
        self._next = next(self._points, None)
        self._ahead: deque[Point] = deque()
        """The points after ``_next`` that ``left`` took from ``_points`` to count them."""

    @final
    def ask(self, number: int) -> Point | None:
        """The first point that was not proposed; None if all points were."""
        return self._next

    @final
    def proposed(self, number: int, point: Point) -> None:
        """Record that ``point`` was proposed, and advance to the next new point."""
        self._seen.add(point)
        while self._next is not None and self._next in self._seen:
            self._next = self._ahead.popleft() if self._ahead else next(self._points, None)

    @final
    def left(self, most: int) -> int:
        """The number of points not proposed yet, at most ``most``."""
        self._ahead.extend(islice(self._points, max(0, most - len(self._ahead))))
        coming = [] if self._next is None else [self._next, *self._ahead]
        return min(most, sum(point not in self._seen for point in coming))


@final
class Listed(Walk):
    """Proposes the points that a study lists, in order. Raises UserError for a point outside the space."""

    def __init__(self, space: Space, points: Sequence[Point]) -> None:
        for point in points:
            if (refusal := space.refusal(point)) is not None:
                raise UserError(f"search.proposer.points: {refusal}")
        super().__init__(space, iter(points))


class ModelBased(Proposer):
    """A proposer that fits a model to the rows of trials (``encoding.py``), and may prefer points that cost less time.

    ``seed``: the study's seed. ``objectives``: the number of objectives. ``cooled``: the number of the first trial for
    which the predicted time of an epoch does not count; None means that it never counts.
    """

    def __init__(self, space: Space, seed: int, objectives: int, cooled: int | None) -> None:
        self._space = space
        self._seed = seed
        self._objectives = objectives
        self._cooled = cooled
        self._costs = Costs(space)
        self._seen = ProposedPoints(space)
        self._encoding = Encoding(space)

    @final
    def took(self, number: int, seconds: float) -> None:
        """Record that an epoch of trial ``number`` took ``seconds`` per seed, if the time counts."""
        if self._cooled is not None:
            self._costs.took(number, seconds)

    @final
    def proposed(self, number: int, point: Point) -> None:
        """Record that trial ``number`` runs at ``point``. It counts as running until it ends or pauses."""
        self._seen.add(point)
        if self._cooled is not None:
            self._costs.proposed(number, point)
        self.promoted(number, point)

    @final
    def paused(self, number: int, curve: Curve, further: Vector = ()) -> None:
        """Learn from the reports of trial ``number`` so far, as if it were stopped."""
        self.ended(number, "stopped", curve, further)


@final
class Random(Proposer):
    """Random search: draws points independently, and skips proposed ones. ``seed``: the study's seed."""

    def __init__(self, space: Space, seed: int) -> None:
        self._seen = ProposedPoints(space)
        self._seed = seed

    def ask(self, number: int) -> Point | None:
        """A random new point for trial ``number``; None if the space is exhausted."""
        return self._seen.unseen(generator(self._seed, "propose", number))

    def proposed(self, number: int, point: Point) -> None:
        """Record that ``point`` was proposed."""
        self._seen.add(point)
