"""A proposer that mixes TPE with draws from the user's belief about good points, fewer with each trial."""

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
"""The initial probability that a point is drawn from the belief."""
HALVED_AFTER = 10
"""When this many trials have a score, the probability has fallen to half of ``FIRST_SHARE``, or further if they
contradict the belief.
"""
TRIES = 20
"""The maximum number of draws from the belief to find a new, allowed point before TPE is asked instead."""


@final
class Prior(Proposer):
    """Mixes the points of TPE with points near the user's belief (after PriorBand: Mallik et al., 2023).

    A belief is a density on each axis (``spaces/belief.py``), around ``Axis.prior`` or, without a prior, around the
    base's value. Each point is drawn from the belief with probability

    p = 1/2 * 10 / (10 + n) * min(1, 2 Phi(r sqrt(n - 1))),

    where n is the number of trials with a score, and Phi is the standard normal distribution function. r is Spearman's
    correlation between the quality of these trials and their nearness to the belief. The nearness is the logarithm of
    the belief's density relative to random draws, summed over the active axes. For an uninformative belief,
    r sqrt(n - 1) is approximately standard normal, so 2 Phi is a p value against the belief. A belief that the trials
    contradict is soon hardly used.

    Departures: PriorBand draws the other points around the best config so far; here they come from TPE. PriorBand
    weighs belief and best config by their densities at good points; here a test detects a wrong belief.
    """

    def __init__(self, space: Space, seed: int, objectives: int = 1, cooled: int | None = None) -> None:
        self._space = space
        self._beliefs = space.beliefs
        self._seed = seed
        self._seen = ProposedPoints(space)
        self._learner = Tpe(space, seed, objectives, cooled)
        self._points: dict[int, Point] = {}
        self._scored: dict[int, tuple[float, Rank]] = {}
        """Maps the number of each trial with a score to the trial's nearness to the belief and its rank key."""

    @property
    def share(self) -> float:
        """The probability that the next point is drawn from the belief: p in the class's formula."""
        count = len(self._scored)
        share = FIRST_SHARE * HALVED_AFTER / (HALVED_AFTER + count)
        if not count:
            return share
        nearness, ranks = zip(*self._scored.values(), strict=True)
        last_first = [nearness[place] for place in reversed(best_first(ranks))]
        ahead = (rank_correlation(range(count), last_first) or 0.0) * math.sqrt(count - 1)
        return share * min(1.0, 2 * NormalDist().cdf(ahead))

    def ask(self, number: int) -> Point | None:
        """The point for trial ``number``, drawn from the belief or proposed by TPE; None if the space is exhausted."""
        source = generator(self._seed, "prior", number)
        if source.random() < self.share:
            for _ in range(TRIES):
                point = self._space.compose(lambda path, domain: self._beliefs.get(path, domain).sample(source))
                point = self._space.repaired(point, source)
                if point not in self._seen and self._space.allowed(point):
                    return point
        return self._learner.ask(number)

    def proposed(self, number: int, point: Point) -> None:
        """Record that trial ``number`` runs at ``point``."""
        self._seen.add(point)
        self._points[number] = point
        self._learner.proposed(number, point)

    def took(self, number: int, seconds: float) -> None:
        """Pass the time of an epoch on to TPE."""
        self._learner.took(number, seconds)

    def promoted(self, number: int, point: Point) -> None:
        """Record that the paused trial ``number`` runs again."""
        self._points[number] = point
        self._learner.promoted(number, point)

    def paused(self, number: int, curve: Curve, further: Vector = ()) -> None:
        """Rank the paused trial ``number`` by its reports so far, as if it were stopped, and pass it on to TPE."""
        self._stands(number, "stopped", curve, further)
        self._learner.paused(number, curve, further)

    def ended(self, number: int, reason: Reason, curve: Curve, further: Vector = ()) -> None:
        """Rank the ended trial ``number`` by its reports, and pass it on to TPE."""
        self._stands(number, reason, curve, further)
        self._learner.ended(number, reason, curve, further)

    def observed(self, point: Point, reason: Reason, curve: Curve, further: Vector = ()) -> None:
        """Pass a trial of an earlier study on to TPE. It does not count in the test of the belief, which may be about
        this study alone.
        """
        self._learner.observed(point, reason, curve, further)

    def _stands(self, number: int, reason: Reason, curve: Curve, further: Vector) -> None:
        if (rank := Rank.of(reason, curve, further)) is not None:
            self._scored[number] = (self._nearness(self._points[number]), rank)

    def _nearness(self, point: Point) -> float:
        return sum(self._beliefs[path].support(value) for path, value in point.items() if path in self._beliefs)
