"""Asynchronous successive halving, stopping variant."""

from bisect import insort
from collections import defaultdict
from typing import final

from skipstack.search.strategy.objectives.fronts import Fronts
from skipstack.search.strategy.objectives.pareto import Vector
from skipstack.search.strategy.schedulers.config import AshaConfig
from skipstack.search.strategy.schedulers.rungs import Asynchronous
from skipstack.search.strategy.schedulers.scheduler import Ahead, Decision


@final
class Asha(Asynchronous):
    """Asynchronous successive halving, stopping variant.

    Source: Li et al., "A System for Massively Parallel Hyperparameter Tuning" (2020), algorithm 2,
    in the stopping form that Ray Tune 2.60 calls ``AsyncHyperBandScheduler``. Rung k of bracket b is at

        grace * reduction**(b + k) < whole,    k = 0, 1, ...

    A trial at a rung goes on if its score is at least the (1 - 1/reduction) quantile of the scores of the trials that
    reached the rung before it, or if it is the first. Its own score is added there either way. The quantile of n sorted
    scores s_0 <= ... <= s_{n-1} is interpolated linearly at index (n - 1) * (1 - 1/reduction). A report that reaches
    several rungs at once is compared at each.

    With several objectives the scores of a rung are the negative places of its trials (``pareto.places``: non-dominated
    ranks, ties by an epsilon-net), as in MO-ASHA (Schmucker et al., 2021).

    Departures from Ray: rungs and the index use integer arithmetic instead of rounding, so a score equal to the cutoff
    always goes on. A diverged score enters no rung (Ray never stops NaN).
    """

    def __init__(
        self, config: AshaConfig, maximum: int, spared: frozenset[int] = frozenset(), *, seeds: int = 1
    ) -> None:
        super().__init__(config, maximum, spared, seeds=seeds)
        self._scores: defaultdict[tuple[int, int], list[float]] = defaultdict(list)
        """The sorted scores by bracket and rung, for a single objective."""
        self._fronts: defaultdict[tuple[int, int], Fronts] = defaultdict(Fronts)
        """The points by bracket and rung, for several objectives."""

    def _decide(self, trial: int, amount: float, score: float) -> Decision:
        bracket, ladder = self.bracket(trial), self.ladder(trial)
        below, reached = False, None
        for place in self._passed(trial, amount):
            reached = ladder[place]
            if further := self._further.get(trial):
                fronts = self._fronts[bracket, reached]
                fronts.add((score, *further))
                below |= _is_below(fronts, (score, *further), self._reduction)
            else:
                scores = self._scores[bracket, reached]
                below |= bool(scores) and score < _cutoff(scores, self._reduction)
                insort(scores, score)
        return Decision("stop" if below else "continue", rung=reached)

    def _completed(self, trial: int, amount: float, score: float) -> None:
        self._decide(trial, amount, score)

    def _rung_ahead(self, trial: int, place: int) -> Ahead:
        rung = self.ladder(trial)[place]
        scores = self._scores.get((self.bracket(trial), rung), [])
        return Ahead(rung, len(scores), _cutoff(scores, self._reduction) if scores else None)


def _is_below(fronts: Fronts, own: Vector, reduction: int) -> bool:
    """Whether the negative place of the latest point is below the quantile of the other points' negative places."""
    others = len(fronts) - 1
    if others == 0:
        return False
    below, rest = divmod((others - 1) * (reduction - 1), reduction)
    last = others - 1 - below  # position, counted from the best, of the worse of the two points around the quantile
    place = fronts.place(own, most=last + 2)
    if place == last + 2:
        return True  # both are better
    behind = place + fronts.times(own) - 1  # from here on, positions among the others are one less
    low, high = (
        -fronts.place_at(position + (position >= behind), own) for position in (last, last - 1 if rest else last)
    )
    return -place < low + (high - low) * rest / reduction


def _cutoff(recorded: list[float], reduction: int) -> float:
    """The (1 - 1/reduction) quantile of sorted scores, interpolated linearly."""
    below, rest = divmod((len(recorded) - 1) * (reduction - 1), reduction)
    if rest == 0:
        return recorded[below]
    low, high = recorded[below : below + 2]
    return low + (high - low) * rest / reduction
