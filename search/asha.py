"""Asynchronous successive halving."""

from bisect import insort
from itertools import count, takewhile
from typing import final

from search.config import AshaConfig
from search.pareto import Vector, as_scores
from search.scheduler import Decision, Scheduler


@final
class Asha(Scheduler):
    """Asynchronous successive halving, stopping variant, one bracket.

    Source: Li et al., "A System for Massively Parallel Hyperparameter Tuning" (2020), algorithm 2,
    in the stopping form that Ray Tune 2.60 calls ``AsyncHyperBandScheduler``. Rung k stands at epoch

        grace * reduction**k < maximum,    k = 0, 1, ...

    A trial at a rung goes on where its score is at least the (1 - 1/reduction) quantile of the
    scores that other trials left there before it, and where it is the first. Its own score is left
    there either way. The quantile of n sorted scores s_0 <= ... <= s_{n-1} is interpolated
    linearly at index (n - 1) * (1 - 1/reduction).

    With several objectives the scores of a rung are the negative places of its trials (``pareto.places``: non-dominated
    ranks, ties by an epsilon-net), as in MO-ASHA (Schmucker et al., 2021).

    We depart from Ray where it rounds: rungs and the index are whole-number arithmetic here, so a
    score that equals the cutoff always goes on. A diverged score enters no rung (Ray never stops NaN).
    """

    def __init__(self, config: AshaConfig, maximum: int, spared: frozenset[int] = frozenset()) -> None:
        super().__init__(maximum, spared)
        self._reduction = config.reduction
        self._several: dict[int, list[Vector]] = {}
        self._rungs: dict[int, list[float]] = {epoch: [] for epoch in rungs(config, maximum)}

    @property
    def rungs(self) -> tuple[int, ...]:
        """``grace * reduction**k``."""
        return tuple(self._rungs)

    @property
    def earliest(self) -> int:
        """The lowest rung."""
        return next(iter(self._rungs), self.maximum)

    def _decide(self, trial: int, epoch: int, score: float) -> Decision:
        if epoch not in self._rungs:
            return Decision("continue")
        own, others = score, self._rungs[epoch]
        if further := self._further.get(trial, ()):
            own, others = self._ranked(epoch, (score, *further))
        below = bool(others) and own < _cutoff(others, self._reduction)
        insort(self._rungs[epoch], score)
        return Decision("stop" if below else "continue", rung=epoch)

    def _ranked(self, epoch: int, reached: Vector) -> tuple[float, list[float]]:
        """What a trial reached, and what the others left at the rung, as single scores; it is left there too."""
        recorded = self._several.setdefault(epoch, [])
        scores = as_scores(reached, recorded)
        recorded.append(reached)
        return scores


def rungs(config: AshaConfig, maximum: int) -> tuple[int, ...]:
    """The epochs of the rungs below ``maximum``, ascending; none where the grace period is as long."""
    epochs = (config.grace * config.reduction**k for k in count())
    return tuple(takewhile(lambda epoch: epoch < maximum, epochs))


def _cutoff(recorded: list[float], reduction: int) -> float:
    """The (1 - 1/reduction) quantile of sorted scores, interpolated linearly."""
    below, rest = divmod((len(recorded) - 1) * (reduction - 1), reduction)
    if rest == 0:
        return recorded[below]
    low, high = recorded[below : below + 2]
    return low + (high - low) * rest / reduction
