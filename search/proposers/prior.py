"""A proposer that begins with what the author of the study believes, and forgets it where trials say otherwise."""

import math
from statistics import NormalDist
from typing import final

from skipstack.data.basis.seeding import generator
from skipstack.search.ledger.events import Reason
from skipstack.search.objectives.pareto import Vector
from skipstack.search.proposers.proposer import Curve, Proposer, Seen
from skipstack.search.proposers.standing import Standing, best_first
from skipstack.search.proposers.tpe import Tpe
from skipstack.search.statistics.descriptive import rank_correlation
from skipstack.spaces.space import Point, Space

FIRST_SHARE = 0.5
"""Of the first points, how many come from the belief."""
HALVED_AFTER = 10
"""Trials with a score after which the share is a half of that."""
TRIES = 20
"""How often a point is drawn from the belief before another one is proposed: one that is new, and allowed."""


@final
class Prior(Proposer):
    """TPE, and points near what is believed to be good (after PriorBand: Mallik et al., 2023).

    A belief is a density on each axis (``spaces/belief.py``), around ``Axis.prior`` or else the base's value. Point
    ``number`` is drawn from it with probability

    p = 1/2 * 10 / (10 + n) * min(1, 2 Phi(r sqrt(n - 1))),

    where n trials have a score, r is Spearman's correlation of how they stand with how near they are to the belief (the
    sum over the active axes of the logarithm of its density against a uniform one), and Phi is the normal distribution.
    If the belief said nothing of what is good, r sqrt(n - 1) would be about normal: so 2 Phi is how often chance alone
    would speak as much against it, and a belief that trials contradict is soon not asked any more. All other points are
    those of TPE, which learns from every trial.

    PriorBand draws around the best config so far where the belief is not asked; here TPE does that. It weighs belief
    and best config by their densities at good points; here a wrong belief is found by a test.
    """

    def __init__(self, space: Space, seed: int, objectives: int = 1, cooled: int | None = None) -> None:
        self._space = space
        self._beliefs = space.beliefs
        self._seed = seed
        self._seen = Seen(space)
        self._learner = Tpe(space, seed, objectives, cooled)
        self._points: dict[int, Point] = {}
        self._scored: dict[int, tuple[float, Standing]] = {}
        """Of each trial with a score, by number: how near to the belief it was, and how it stands."""

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
        """A point near the belief, or one of TPE's; None where the space is exhausted."""
        source = generator(self._seed, "prior", number)
        if source.random() < self.share:
            for _ in range(TRIES):
                point = self._space.compose(lambda path, domain: self._beliefs.get(path, domain).sample(source))
                if point not in self._seen and self._space.allowed(point):
                    return point
        return self._learner.ask(number)

    def proposed(self, number: int, point: Point) -> None:
        """Trial ``number`` runs at ``point``."""
        self._seen.add(point)
        self._points[number] = point
        self._learner.proposed(number, point)

    def took(self, number: int, seconds: float) -> None:
        """TPE learns what trials cost."""
        self._learner.took(number, seconds)

    def promoted(self, number: int, point: Point) -> None:
        """Trial ``number`` runs again."""
        self._points[number] = point
        self._learner.promoted(number, point)

    def paused(self, number: int, curve: Curve, further: Vector = ()) -> None:
        """Trial ``number`` stands as it is, until it goes on."""
        self._stands(number, "stopped", curve, further)
        self._learner.paused(number, curve, further)

    def ended(self, number: int, reason: Reason, curve: Curve, further: Vector = ()) -> None:
        """Learn where trial ``number`` stands."""
        self._stands(number, reason, curve, further)
        self._learner.ended(number, reason, curve, further)

    def observed(self, point: Point, reason: Reason, curve: Curve, further: Vector = ()) -> None:
        """What earlier studies saw, TPE learns; the belief may be about this one alone."""
        self._learner.observed(point, reason, curve, further)

    def _stands(self, number: int, reason: Reason, curve: Curve, further: Vector) -> None:
        standing = Standing.of(reason, curve, further)
        if standing is not None:
            self._scored[number] = (self._nearness(self._points[number]), standing)

    def _nearness(self, point: Point) -> float:
        return sum(self._beliefs[path].support(value) for path, value in point.items() if path in self._beliefs)
