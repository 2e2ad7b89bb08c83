"""The stopping rule ``search.enough``: a study has enough trials once a further hour would hardly raise its best score.

Like proposers and schedulers it depends on the events of the ledger alone, here including their times.
"""

import math
from statistics import fmean, variance
from typing import Annotated, Final

from pydantic import Field

from skipstack.data.basis.frozen import Frozen
from skipstack.search.ledger.events import (
    Begun,
    Decided,
    Ended,
    Event,
    Gain,
    Promoted,
    Proposed,
    Reason,
    Reported,
    Retried,
    Reused,
    Started,
    Used,
)
from skipstack.search.statistics.maxima import gain_of_more

WORK: Final = (Proposed, Reused, Started, Begun, Reported, Used, Decided, Promoted, Retried, Ended)
"""Events between which trials are trained. Time next to other events does not count: no driver may have run."""


class EnoughConfig(Frozen):
    """The study starts no further trial once ``hours`` more would raise its best score by less than ``deviations``
    times the standard deviation between seeds of one config, in expectation.
    """

    hours: Annotated[float, Field(gt=0)] = 1.0
    deviations: Annotated[float, Field(gt=0)] = 0.1
    minimum_trials: Annotated[int, Field(ge=4)] = 20
    """The minimum number of trials with a score before the rule applies."""


class Enough:
    """Estimates from the trials so far whether more of them are worth their time.

    Trials count in the order of proposal, up to the first that has neither ended nor paused: those that end early are a
    biased sample, since the worse ones are stopped. A stopped trial counts with its score so far. The spacing of the
    best trials is estimated from as many as were trained to the end, but at most from the better half. The gain of the
    next hour is the larger of two numbers: the upper bound for as many independent trials (``statistics/maxima.py``),
    and the actual gain of the last that many trials, at most the last half of all, since proposers learn. While the
    best trial is paused at a rung, the rule does not apply: it may still improve.
    """

    def __init__(self, config: EnoughConfig) -> None:
        self._config = config
        self._seconds = 0.0
        self._last: float | None = None
        self._reasons: dict[int, Reason | None] = {}
        """The end reason of each ended trial; None for a paused one."""
        self._scores: dict[int, float] = {}
        self._variances: dict[int, float] = {}
        self._prefix = 0

    def happened(self, event: Event) -> None:
        """Add the time of an event."""
        if not isinstance(event, WORK):
            self._last = None
            return
        if self._last is not None:
            self._seconds += max(event.time - self._last, 0.0)
        self._last = event.time

    def left(self, number: int, reason: Reason | None, score: float | None, by_seed: list[float]) -> None:
        """Note that trial ``number`` ended for this reason, or paused (None), with its best score, if any, and the
        scores of its seeds.
        """
        self._reasons[number] = reason
        for known in (self._scores, self._variances):
            known.pop(number, None)
        if score is not None:
            self._scores[number] = score
            if len(by_seed) > 1:
                self._variances[number] = variance(by_seed)
        while self._prefix in self._reasons:
            self._prefix += 1

    def gain(self) -> Gain | None:
        """The gain of a further hour, if it is too small to go on; None if it is not, or is unknown."""
        numbers = [number for number in range(self._prefix) if number in self._scores]
        scores, deviation = [self._scores[number] for number in numbers], self._seed_deviation
        if len(scores) < self._config.minimum_trials or not self._seconds or deviation is None:
            return None
        if self._reasons[max(self._scores, key=self._scores.__getitem__)] is None:
            return None
        best = min(len(scores) // 2, sum(self._reasons[number] == "completed" for number in numbers) - 1)
        if best < 1:
            return None
        hourly = len(self._reasons) * 3600 / self._seconds
        more = max(hourly * self._config.hours, 1.0)
        last = min(math.ceil(more), len(scores) // 2)
        most = max(gain_of_more(scores, more, best=best), max(scores) - max(scores[:-last]))
        if most >= self._config.deviations * deviation:
            return None
        return Gain(trials=round(more), hours=more / hourly, most=most, seed_deviation=deviation)

    @property
    def _seed_deviation(self) -> float | None:
        """The standard deviation between seeds of one config; None if no trial has several seeds."""
        return math.sqrt(fmean(self._variances.values())) if self._variances else None
