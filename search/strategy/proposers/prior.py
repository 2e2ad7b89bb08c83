"""A proposer with a prior: points near the user's belief first, and fewer of them if trials contradict it."""

import math
from statistics import NormalDist
from typing import final

from skipstack.data.basis.seeding import generator
from skipstack.search.ledger.events import Reason
from skipstack.search.statistics.descriptive import rank_correlation
from skipstack.search.strategy.objectives.pareto import Vector
from skipstack.search.strategy.proposers.proposer import Curve, ProposedPoints, Proposer
from skipstack.search.strategy.proposers.ranks import Rank, best_first
from skipstack.search.strategy.proposers.tpe import Tpe
from skipstack.spaces.space import Point, Space

FIRST_SHARE = 0.5
"""The share of points from the belief at the start."""
HALVED_AFTER = 10
"""The number of trials with a score after which that share is halved."""
TRIES = 20
"""Maximum number of draws from the belief for a point that is new and allowed, before TPE is asked instead."""


@final
class Prior(Proposer):
    """TPE, mixed with points near the user's belief (after PriorBand: Mallik et al., 2023).

    A belief is a density on each axis (``spaces/belief.py``), around ``Axis.prior`` or else the base's value. Point
    ``number`` is drawn from it with probability

    p = 1/2 * 10 / (10 + n) * min(1, 2 Phi(r sqrt(n - 1))),

    where n trials have a score, r is Spearman's correlation of their ranking with their nearness to the belief (the sum
    over the active axes of the log density ratio of belief and uniform distribution), and Phi is the normal
    distribution function. For an uninformative belief, r sqrt(n - 1) is about normal, so 2 Phi is a p value against the
    belief, and a belief that trials contradict is soon not used any more. All other points are those of TPE, which
    learns from every trial.

    Departures: PriorBand otherwise draws around the best config so far; here TPE does that. It weighs belief and best
    config by their densities at good points; here a test detects a wrong belief.
    """

    def __init__(self, space: Space, seed: int, objectives: int = 1, cooled: int | None = None) -> None:
        self._space = space
        self._beliefs = space.beliefs
        self._seed = seed
        self._seen = ProposedPoints(space)
        self._learner = Tpe(space, seed, objectives, cooled)
        self._points: dict[int, Point] = {}
        self._scored: dict[int, tuple[float, Rank]] = {}
        """The nearness to the belief and the standing of each trial with a score, by number."""

    @property
    def share(self) -> float:
        """The probability that the next point is drawn from the belief: p."""
        count = len(self._scored)
        share = FIRST_SHARE * HALVED_AFTER / (HALVED_AFTER + count)
        if not count:
            return share
        nearness, standings = zip(*self._scored.values(), strict=True)
        last_first = [nearness[place] for place in reversed(best_first(standings))]
        ahead = (rank_correlation(range(count), last_first) or 0.0) * math.sqrt(count - 1)
        return share * min(1.0, 2 * NormalDist().cdf(ahead))

    def ask(self, number: int) -> Point | None:
        """A point near the belief, or one of TPE's; None if the space is exhausted."""
        source = generator(self._seed, "prior", number)
        if source.random() < self.share:
            for _ in range(TRIES):
                point = self._space.compose(lambda path, domain: self._beliefs.get(path, domain).sample(source))
                point = self._space.repaired(point, source)
                if point not in self._seen and self._space.allowed(point):
                    return point
        return self._learner.ask(number)

    def proposed(self, number: int, point: Point) -> None:
        """Trial ``number`` runs at ``point``."""
        self._seen.add(point)
        self._points[number] = point
        self._learner.proposed(number, point)

    def took(self, number: int, seconds: float) -> None:
        """Pass the time on to TPE."""
        self._learner.took(number, seconds)

    def promoted(self, number: int, point: Point) -> None:
        """Trial ``number`` runs again."""
        self._points[number] = point
        self._learner.promoted(number, point)

    def paused(self, number: int, curve: Curve, further: Vector = ()) -> None:
        """Rank trial ``number`` by its reports so far, until it goes on."""
        self._stands(number, "stopped", curve, further)
        self._learner.paused(number, curve, further)

    def ended(self, number: int, reason: Reason, curve: Curve, further: Vector = ()) -> None:
        """Rank trial ``number`` by its reports."""
        self._stands(number, reason, curve, further)
        self._learner.ended(number, reason, curve, further)

    def observed(self, point: Point, reason: Reason, curve: Curve, further: Vector = ()) -> None:
        """Pass a trial of an earlier study on to TPE only: the belief may concern this study alone."""
        self._learner.observed(point, reason, curve, further)

    def _stands(self, number: int, reason: Reason, curve: Curve, further: Vector) -> None:
        standing = Rank.of(reason, curve, further)
        if standing is not None:
            self._scored[number] = (self._nearness(self._points[number]), standing)

    def _nearness(self, point: Point) -> float:
        return sum(self._beliefs[path].support(value) for path, value in point.items() if path in self._beliefs)
