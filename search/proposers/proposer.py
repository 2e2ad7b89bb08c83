"""Proposers: which point of the space is tried next. The interface, and those that learn nothing.

A proposer is a state machine without clock or global randomness. ``ask`` is a function of the
study's seed, the trial's number and the history, and changes nothing; ``proposed`` and ``ended``
are the history. A driver and a replay of its ledger call them alike, so a proposer rebuilt from
the ledger gives the same next answer, and replaying proposes nothing anew.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import final

import numpy as np

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import canonical_json
from skipstack.data.basis.seeding import generator
from skipstack.search.ledger.events import Reason
from skipstack.search.objectives.pareto import Vector
from skipstack.spaces.space import Point, Space

Curve = Sequence[tuple[int, float]]
"""What a trial reported: (epoch, score), ascending by epoch."""

DRAWS = 100
"""How often a point is drawn at random before the space is taken to be nearly exhausted."""


class Proposer(ABC):
    """Chooses points of a space, none of them twice.

    Each answer of ``ask`` is confirmed by ``proposed`` before the next ``ask``. Points that come from
    a ledger have their axes in another order; that makes no difference.
    """

    @abstractmethod
    def ask(self, number: int) -> Point | None:
        """The point for trial ``number``; None where the space is exhausted. Changes nothing."""

    @abstractmethod
    def proposed(self, number: int, point: Point) -> None:
        """Trial ``number`` runs at ``point``."""

    @abstractmethod
    def ended(self, number: int, reason: Reason, curve: Curve, further: Vector = ()) -> None:
        """Trial ``number`` is over, for ``reason``, having reported ``curve``; one that was paused may end as it is.

        ``further``: what it reaches in the objectives beside the score, the larger the better.
        """

    @property
    def waits(self) -> bool:
        """Whether a point may yet follow where ``ask`` has none: once a trial that runs has ended."""
        return False

    def took(self, number: int, seconds: float) -> None:  # noqa: B027 (to most, all cost the same)
        """An epoch of trial ``number`` took so many seconds, for each seed that it trained."""

    def paused(self, number: int, curve: Curve, further: Vector = ()) -> None:  # noqa: B027 (most wait for the end)
        """Trial ``number`` waits at a rung, having reported ``curve``. Most trials wait until the study ends."""

    def promoted(self, number: int, point: Point) -> None:  # noqa: B027
        """Trial ``number``, which was paused, goes on at ``point``."""

    def observed(self, point: Point, reason: Reason, curve: Curve, further: Vector = ()) -> None:  # noqa: B027
        """A trial of an earlier study was at ``point``; given before the first ask. The point may be proposed again.

        Nothing is learnt by those that learn nothing.
        """


class Seen:
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
        """An allowed point not yet seen, at random; None where there is none.

        Drawn until a new one comes. A finite space that gives none in ``DRAWS`` draws is nearly used up, so
        it is enumerated. An infinite one that gives none counts as exhausted: its continuous axes are then
        active in less than about 1 of ``DRAWS`` / 3 draws.
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
    """The points of a finite space, or some of them, in an order that is settled beforehand."""

    def __init__(self, space: Space, points: Iterator[Point]) -> None:
        self._seen = Seen(space)
        self._points = points
        self._next = next(self._points, None)

    @final
    def ask(self, number: int) -> Point | None:
        """The first point that was not proposed."""
        return self._next

    @final
    def proposed(self, number: int, point: Point) -> None:
        """Remember ``point`` and step over whatever was proposed."""
        self._seen.add(point)
        while self._next is not None and self._next in self._seen:
            self._next = next(self._points, None)

    @final
    def ended(self, number: int, reason: Reason, curve: Curve, further: Vector = ()) -> None:
        """Nothing is learnt."""


@final
class Grid(Walk):
    """Every point of a finite space, in the order of enumeration: the last axis varies fastest.

    Raises UserError on a space with a continuous axis.
    """

    def __init__(self, space: Space) -> None:
        super().__init__(space, space.enumerate())


@final
class Listed(Walk):
    """The points that a study lists, in their order. Raises UserError for one that its space does not have."""

    def __init__(self, space: Space, points: Sequence[Point]) -> None:
        for point in points:
            if (refusal := space.refusal(point)) is not None:
                raise UserError(f"search.proposer.points: {refusal}")
        super().__init__(space, iter(points))


@final
class OneAtATime(Walk):
    """The base, then each other value of each axis with the other axes at the base (``Space.one_at_a_time``).

    This is how papers ablate: every difference to the base is due to one axis, and a space costs the sum of its
    axes' values instead of their product. Raises UserError on a space with a continuous axis.
    """

    def __init__(self, space: Space) -> None:
        super().__init__(space, space.one_at_a_time())


@final
class Random(Proposer):
    """Points drawn from the space independently of each other, those already proposed left out.

    Trial ``number`` draws from the stream ("propose", ``number``) of ``seed``.
    """

    def __init__(self, space: Space, seed: int) -> None:
        self._seen = Seen(space)
        self._seed = seed

    def ask(self, number: int) -> Point | None:
        """A point not proposed before, at random."""
        return self._seen.unseen(generator(self._seed, "propose", number))

    def proposed(self, number: int, point: Point) -> None:
        """Remember ``point``."""
        self._seen.add(point)

    def ended(self, number: int, reason: Reason, curve: Curve, further: Vector = ()) -> None:
        """Nothing is learnt."""
