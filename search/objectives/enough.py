"""When a study has had enough trials: once a further hour of it would hardly raise its best score.

A function of the events of the ledger alone, of their times too, as proposers and schedulers are.
"""

import math
from statistics import fmean, variance
from typing import Annotated, Final

from pydantic import Field

from skipstack.data.basis.frozen import Frozen
from skipstack.search.ledger.event_values import Gain
from skipstack.search.ledger.events import (
    Decided,
    Ended,
    Event,
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

WORK: Final = (Proposed, Reused, Started, Reported, Used, Decided, Promoted, Retried, Ended)
"""The events between which trials are trained. Around all others nothing may be: a driver ended, or another began."""


class EnoughConfig(Frozen):
    """The study starts no further trial once ``hours`` more would hardly raise its best score: by less than
    ``deviations`` times what seeds of one config deviate by, in expectation.
    """

    hours: Annotated[float, Field(gt=0)] = 1.0
    deviations: Annotated[float, Field(gt=0)] = 0.1
    minimum_trials: Annotated[int, Field(ge=4)] = 20
    """Trials with a score, at least, before that is asked."""


class Enough:
    """What is known of the trials that says whether more of them are worth their time.

    Trials count in the order of proposal, up to the first that has neither ended nor paused yet: which trials are over
    early is no accident, since the worse ones are stopped. A stopped trial counts as one that reached no more; how far
    the best ones lie apart is estimated from as many as were trained to their ends, or from the better half if these
    are fewer. What the next hour brings is the larger of two numbers: what as many independent trials
    would add at most (``statistics/maxima.py``), and what the last as many did add, or the last half of all, since
    proposers learn. Nothing is enough while the best trial waits at a rung: it may become better.
    """

    def __init__(self, config: EnoughConfig) -> None:
        self._config = config
        self._seconds = 0.0
        self._last: float | None = None
        self._reasons: dict[int, Reason | None] = {}
        """Of the trials that ended, why they did; None of those that paused."""
        self._scores: dict[int, float] = {}
        self._variances: dict[int, float] = {}
        self._prefix = 0

    def happened(self, event: Event) -> None:
        """Take in when it happened."""
        if not isinstance(event, WORK):
            self._last = None
            return
        if self._last is not None:
            self._seconds += max(event.time - self._last, 0.0)
        self._last = event.time

    def left(self, number: int, reason: Reason | None, score: float | None, by_seed: list[float]) -> None:
        """Trial ``number`` ended for this reason, or paused (None): its best score, if it has one, and each seed's."""
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
        """What a further hour would bring, where that is too little to go on; None where it is not, or not known."""
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
        """How much seeds of one config deviate; None where no trial has several."""
        return math.sqrt(fmean(self._variances.values())) if self._variances else None
