"""Regularised evolution over the neighbours of a space."""

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

    The first trials are random, until ``population`` of them have ended with a score. Then ``sample`` living ones are
    drawn with replacement, and the best of them has a child: one of its neighbours (``Space.neighbours``) that was not
    proposed before, each with the same probability. The last ``population`` trials that ended are alive; the oldest
    dies, whatever its score. If all neighbours were proposed, a point is drawn at random.

    The best of a sample is the first by ``standing.py``. A trial that is paused at a rung enters the population like a
    stopped one; if it is promoted, it enters again when it ends. Trials that diverged or failed never enter. Where the
    paper replaces one operation of a cell, a child here differs on one axis, and on the axes that it activates.
    """

    def __init__(self, space: Space, seed: int, config: EvolutionConfig) -> None:
        self._space = space
        self._seed = seed
        self._config = config
        self._seen = ProposedPoints(space)
        self._points: dict[int, Point] = {}
        self._living: deque[tuple[Point, Rank]] = deque(maxlen=config.population)

    def ask(self, number: int) -> Point | None:
        """A child of the best of a sample; None if the space is exhausted."""
        source = generator(self._seed, "evolution", number)
        if len(self._living) == self._config.population:
            children = self._space.neighbours(self._parent(source), source)
            child = next((child for child in children if child not in self._seen), None)
            if child is not None:
                return child
        return self._seen.unseen(source)

    def proposed(self, number: int, point: Point) -> None:
        """Remember ``point``."""
        self._seen.add(point)
        self._points[number] = point

    def promoted(self, number: int, point: Point) -> None:
        """Trial ``number`` runs again."""
        self._points[number] = point

    def paused(self, number: int, curve: Curve, further: Vector = ()) -> None:
        """Trial ``number`` enters the population like a stopped one."""
        self.ended(number, "stopped", curve, further)

    def ended(self, number: int, reason: Reason, curve: Curve, further: Vector = ()) -> None:
        """Trial ``number`` enters the population if it has a score, unless it entered when it paused."""
        if number in self._points:
            self.observed(self._points.pop(number), reason, curve, further)

    def observed(self, point: Point, reason: Reason, curve: Curve, further: Vector = ()) -> None:
        """A trial of an earlier study enters the population, as one of this study would."""
        if (standing := Rank.of(reason, curve, further)) is not None:
            self._living.append((point, standing))

    def _parent(self, source: np.random.Generator) -> Point:
        drawn = [self._living[place] for place in source.integers(len(self._living), size=self._config.sample)]
        point, _ = drawn[best_first([standing for _, standing in drawn])[0]]
        return point
