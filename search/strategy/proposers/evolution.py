"""Regularised evolution: a proposer that mutates the best of a sample of recent trials."""

from collections import deque
from typing import final

import numpy as np

from skipstack.data.basis.seeding import generator
from skipstack.search.ledger.events import Reason
from skipstack.search.strategy.objectives.pareto import Vector
from skipstack.search.strategy.proposers.config import EvolutionConfig
from skipstack.search.strategy.proposers.proposer import Curve, ProposedPoints, Proposer
from skipstack.search.strategy.proposers.ranks import Rank, best_first
from skipstack.spaces.space import Point, Space


@final
class Evolution(Proposer):
    """Regularised evolution (Real et al., 2019, algorithm 1), asynchronous.

    The population consists of the last ``population`` trials that ended with a score, whatever the score. Points are
    random until the population is full. For each further trial, ``sample`` members are drawn with replacement. The best
    of them (``ranks.py``) gets a child: a random neighbour (``Space.neighbours``) that was not proposed before. If all
    neighbours were proposed, a point is drawn at random from the whole space.

    A trial that is paused at a rung enters the population like a stopped trial. If it is promoted, it enters again when
    it ends. Trials that diverged or failed never enter. Departure: the paper replaces one operation of a cell; here a
    child differs from its parent on one axis, and on the axes that this change activates.
    """

    def __init__(self, space: Space, seed: int, config: EvolutionConfig) -> None:
        self._space = space
        self._seed = seed
        self._config = config
        self._seen = ProposedPoints(space)
        self._points: dict[int, Point] = {}
        self._living: deque[tuple[Point, Rank]] = deque(maxlen=config.population)

    def ask(self, number: int) -> Point | None:
        """The point for trial ``number``: a child of the best trial in a sample of the population. Until the population
        is full, it is a random point. None if the space is exhausted.
        """
        source = generator(self._seed, "evolution", number)
        if len(self._living) == self._config.population:
            children = self._space.neighbours(self._parent(source), source)
            child = next((child for child in children if child not in self._seen), None)
            if child is not None:
                return child
        return self._seen.unseen(source)

    def proposed(self, number: int, point: Point) -> None:
        """Record that trial ``number`` runs at ``point``."""
        self._seen.add(point)
        self._points[number] = point

    def promoted(self, number: int, point: Point) -> None:
        """Record that the paused trial ``number`` runs again. It enters the population a second time when it ends."""
        self._points[number] = point

    def paused(self, number: int, curve: Curve, further: Vector = ()) -> None:
        """Add the paused trial ``number`` to the population, as if it were stopped."""
        self.ended(number, "stopped", curve, further)

    def ended(self, number: int, reason: Reason, curve: Curve, further: Vector = ()) -> None:
        """Add trial ``number`` to the population if it has a score. Does nothing if it ends while paused."""
        if number in self._points:
            self.observed(self._points.pop(number), reason, curve, further)

    def observed(self, point: Point, reason: Reason, curve: Curve, further: Vector = ()) -> None:
        """Add a trial of an earlier study to the population if it has a score."""
        if (rank := Rank.of(reason, curve, further)) is not None:
            self._living.append((point, rank))

    def _parent(self, source: np.random.Generator) -> Point:
        drawn = [self._living[place] for place in source.integers(len(self._living), size=self._config.sample)]
        point, _ = drawn[best_first([rank for _, rank in drawn])[0]]
        return point
