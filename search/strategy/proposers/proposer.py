"""The interface of proposers, which choose the next point of the space, and the proposers that learn nothing.

A proposer is a state machine without clock or global randomness. ``ask`` depends on the study's seed, the trial's
number and the history, and changes nothing; ``proposed`` and ``ended`` are the history. A driver and a replay of its
ledger make the same calls, so a proposer rebuilt from the ledger gives the same next answer.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import final

import numpy as np

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import canonical_json
from skipstack.data.basis.seeding import generator
from skipstack.search.ledger.events import Reason
from skipstack.search.strategy.objectives.pareto import Vector
from skipstack.spaces.space import Point, Space

Curve = Sequence[tuple[int, float]]
"""The reports of a trial: (epoch, score), ascending by epoch."""

DRAWS = 100
"""Number of points that are drawn at random before the space counts as nearly exhausted."""


class Proposer(ABC):
    """Chooses points of a space, none of them twice.

    Each answer of ``ask`` is confirmed by ``proposed`` before the next ``ask``. Points from a ledger may have their
    axes in another order; that makes no difference.
    """

    @abstractmethod
    def ask(self, number: int) -> Point | None:
        """The point for trial ``number``; None if the space is exhausted. Changes nothing."""

    @abstractmethod
    def proposed(self, number: int, point: Point) -> None:
        """Trial ``number`` runs at ``point``."""

    @abstractmethod
    def ended(self, number: int, reason: Reason, curve: Curve, further: Vector = ()) -> None:
        """Trial ``number`` ended for ``reason`` after reporting ``curve``; a paused one may end, too.

        ``further``: its values in the objectives after the score, the larger the better.
        """

    def left(self, most: int) -> int:
        """The number of further points that it may give, as far as it knows, at most ``most``."""
        return most

    @property
    def waits(self) -> bool:
        """Whether ``ask`` may give a point again after None, once a running trial has ended."""
        return False

    def took(self, number: int, seconds: float) -> None:  # noqa: B027 (most ignore the time)
        """An epoch of trial ``number`` took so many seconds per seed."""

    def paused(self, number: int, curve: Curve, further: Vector = ()) -> None:  # noqa: B027 (most wait for the end)
        """Trial ``number`` paused at a rung after reporting ``curve``. Most paused trials wait until the study ends."""

    def promoted(self, number: int, point: Point) -> None:  # noqa: B027
        """The paused trial ``number`` goes on at ``point``."""

    def observed(self, point: Point, reason: Reason, curve: Curve, further: Vector = ()) -> None:  # noqa: B027
        """Learn from a trial of an earlier study at ``point``; called before the first ask. The point may be proposed
        again.
        """


class ProposedPoints:
    """The points that were proposed. Different points of a space give different configs."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._texts: set[str] = set()

    def add(self, point: Point) -> None:
        """Remember ``point``."""
        self._texts.add(canonical_json(point))

    def __contains__(self, point: Point) -> bool:
        return canonical_json(point) in self._texts

    def unseen(self, source: np.random.Generator) -> Point | None:
        """A random allowed point not yet proposed; None if there is none.

        Up to ``DRAWS`` points are drawn. If none is new, a finite space is nearly used up and is enumerated; an
        infinite one counts as exhausted, since its continuous axes are active in less than about 1 of ``DRAWS`` / 3
        draws.
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
    """The points of a finite space, or some of them, in a fixed order."""

    def __init__(self, space: Space, points: Iterator[Point]) -> None:
        self._seen = ProposedPoints(space)
        self._points = points
        self._next = next(self._points, None)
        self._ahead: deque[Point] = deque()
        """Points after the next one that were generated for counting them (``left``)."""

    @final
    def ask(self, number: int) -> Point | None:
        """The first point that was not proposed."""
        return self._next

    @final
    def proposed(self, number: int, point: Point) -> None:
        """Remember ``point`` and skip all proposed points."""
        self._seen.add(point)
        while self._next is not None and self._next in self._seen:
            self._next = self._ahead.popleft() if self._ahead else next(self._points, None)

    @final
    def left(self, most: int) -> int:
        """The number of points that were not proposed, at most ``most``."""
        self._ahead.extend(islice(self._points, max(0, most - len(self._ahead))))
        coming = [] if self._next is None else [self._next, *self._ahead]
        return min(most, sum(point not in self._seen for point in coming))

    @final
    def ended(self, number: int, reason: Reason, curve: Curve, further: Vector = ()) -> None:
        """Learn nothing."""


@final
class Grid(Walk):
    """Every point of a finite space, in the order of enumeration: the last axis varies fastest.

    Raises UserError on a space with a continuous axis.
    """

    def __init__(self, space: Space) -> None:
        super().__init__(space, space.enumerate())


@final
class Listed(Walk):
    """The points that a study lists, in order. Raises UserError for a point outside its space."""

    def __init__(self, space: Space, points: Sequence[Point]) -> None:
        for point in points:
            if (refusal := space.refusal(point)) is not None:
                raise UserError(f"search.proposer.points: {refusal}")
        super().__init__(space, iter(points))


@final
class OneAtATime(Walk):
    """The base, then each other value of each axis with the other axes at the base (``Space.one_at_a_time``).

    Papers ablate in this way: every difference to the base is due to one axis, and the number of trials is the sum of
    the axes' values instead of their product. Raises UserError on a space with a continuous axis.
    """

    def __init__(self, space: Space) -> None:
        super().__init__(space, space.one_at_a_time())


@final
class Random(Proposer):
    """Points drawn independently from the space, without those already proposed.

    Trial ``number`` draws from the stream ("propose", ``number``) of ``seed``.
    """

    def __init__(self, space: Space, seed: int) -> None:
        self._seen = ProposedPoints(space)
        self._seed = seed

    def ask(self, number: int) -> Point | None:
        """A point not proposed before, at random."""
        return self._seen.unseen(generator(self._seed, "propose", number))

    def proposed(self, number: int, point: Point) -> None:
        """Remember ``point``."""
        self._seen.add(point)

    def ended(self, number: int, reason: Reason, curve: Curve, further: Vector = ()) -> None:
        """Learn nothing."""
