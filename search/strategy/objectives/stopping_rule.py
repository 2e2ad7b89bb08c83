"""The stopping rule ``search.enough``: starts no further trial if the expected gain of more training time is too small.

Like proposers and schedulers, the rule depends only on the events of the ledger. Unlike them, it also uses the times of
these events.
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
"""Events that occur while trials are trained. The time between two consecutive events counts only if both are of these
types: before or after other events, the study may have been at rest.
"""


class StoppingRuleConfig(Frozen):
    """The stopping rule of a study. No further trial starts if another ``hours`` hours are expected to raise the best
    score too little: by less than ``deviations`` times the standard deviation between seeds of one config.
    """

    hours: Annotated[float, Field(gt=0)] = 1.0
    deviations: Annotated[float, Field(gt=0)] = 0.1
    minimum_trials: Annotated[int, Field(ge=4)] = 20
    """The minimum number of trials with a score before the rule applies."""


class StoppingRule:
    """Estimates from the trials so far whether further trials are worth their time. Pass the study's events to
    ``happened`` in ledger order, and each trial that ends or pauses to ``left``. ``gain`` returns a gain once the study
    should stop.

    Trials count in the order of proposal, up to the first that has neither ended nor paused. Later trials that have
    already ended are left out, because they are a biased sample: bad trials are stopped early. A stopped or paused
    trial counts with its best score so far.

    Let h be the number of trials that the study ends or pauses in ``hours``, at least 1. The expected gain is the
    larger of two numbers. The first is an upper bound of the gain from h independent trials (``statistics/maxima.py``),
    from the spacing of the k best scores. k is the number of completed trials minus 1, but at most half of all trials.
    The second is the actual rise of the best score over the last h trials (at most half of all trials), which accounts
    for a proposer that learns. The rule does not apply while the best trial is paused at a rung, since that trial may
    still improve.
    """

    def __init__(self, config: StoppingRuleConfig) -> None:
        self._config = config
        self._seconds = 0.0
        self._last: float | None = None
        self._reasons: dict[int, Reason | None] = {}
        """The reason why each trial ended; None for a paused trial."""
        self._scores: dict[int, float] = {}
        self._variances: dict[int, float] = {}
        self._prefix = 0

    def happened(self, event: Event) -> None:
        """Add the time from the previous event to ``event`` if both are in ``WORK``."""
        if not isinstance(event, WORK):
            self._last = None
            return
        if self._last is not None:
            self._seconds += max(event.time - self._last, 0.0)
        self._last = event.time

    def left(self, number: int, reason: Reason | None, score: float | None, by_seed: list[float]) -> None:
        """Record that trial ``number`` ended or paused. ``reason``: why it ended; None if it paused. ``score``: its
        best score; None if it has none. ``by_seed``: the scores of its seeds.
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
        """The expected gain of the next ``hours`` if it is too small for further trials. None if further trials are
        worth it, or if the rule does not apply yet.
        """
        numbers = [number for number in range(self._prefix) if number in self._scores]
        scores = [self._scores[number] for number in numbers]
        # The standard deviation between seeds of one config, pooled over trials; None without several seeds.
        deviation = math.sqrt(fmean(self._variances.values())) if self._variances else None
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
