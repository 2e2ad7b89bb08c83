"""What a study would have returned, had it ended at some moment: the course of a simulation.

A study hands over the trial that stands first by all that is known then (``StudyRecord.ranked``), in the weights of the
best epoch that it has had. Nothing that happens later counts: not what a trial would have come to, had it not been
stopped, and not that it will diverge.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

from skipstack.search.config import SearchConfig
from skipstack.search.driver.task import EpochResult
from skipstack.search.ledger.events import Ended, Event, Reported
from skipstack.search.record.study_record import StudyRecord
from skipstack.search.record.trial_record import TrialRecord

ROUNDING: Final = 1e-9
"""Scores that differ by less are equal: a tenth of a point is no exact number."""


@dataclass(frozen=True, slots=True)
class Moment:
    """From now on another score: that of what would be returned, None where there is nothing to return any more.

    ``epochs``: those reported so far, of all trials; ``seconds``: by the simulated clock.
    """

    epochs: float
    seconds: float
    score: float | None


@dataclass(frozen=True, slots=True)
class Trajectory:
    """All moments of a study, in their order."""

    moments: tuple[Moment, ...]

    def after(self, epochs: float) -> float | None:
        """The score of what would be returned once so many epochs were reported."""
        past = [moment.score for moment in self.moments if moment.epochs <= epochs]
        return past[-1] if past else None

    def until(self, level: float) -> Moment | None:
        """The moment from which on, to the end, nothing below ``level`` would be returned; None where there is none."""
        found = None
        for moment in self.moments:
            if moment.score is None or moment.score < level - ROUNDING:
                found = None
            elif found is None:
                found = moment
        return found


def share(report: Reported, search: SearchConfig) -> Fraction:
    """How much of an epoch of all seeds a report tells of."""
    return Fraction(len(report.seeds), search.seeds) if report.seeds else Fraction(1)


def reached(curve: Sequence[EpochResult], epochs: int) -> float:
    """The best score of the first ``epochs`` of a curve; minus infinity where none is a number."""
    return max((result.score for result in curve[:epochs] if math.isfinite(result.score)), default=-math.inf)


@final
class TrajectoryRecorder:
    """A reader of the driver's, which writes the course of its study down.

    A score is the recorded one, of all seeds: where seeds race, what is returned is chosen by those that were trained.
    """

    def __init__(self, record: StudyRecord, curves: Mapping[str, Sequence[EpochResult]]) -> None:
        self._record = record
        self._curves = curves
        self._epochs = Fraction(0)
        self._first: TrialRecord | None = None
        self._place: tuple[int, float, int] | None = None
        self._moments: list[Moment] = []

    @property
    def course(self) -> Trajectory:
        """What was written down so far."""
        return Trajectory(tuple(self._moments))

    def take(self, event: Event) -> None:
        """Take in what happened."""
        if isinstance(event, Reported):
            self._epochs += share(event, self._record.study.search)
        if isinstance(event, Reported | Ended):
            self._judge(self._record.trials[event.trial])
            score = None if self._first is None else self._score(self._first)
            if score != (self._moments[-1].score if self._moments else None):
                self._moments.append(Moment(float(self._epochs), event.time, score))

    def _judge(self, trial: TrialRecord) -> None:
        """One trial stands elsewhere: who is first now? All are asked only where the first one fell back."""
        place = None if trial.score is None else trial.rank_key
        if trial is self._first and (place is None or self._place is None or place > self._place):
            self._first = next(iter(self._record.ranked()), None)
            self._place = None if self._first is None else self._first.rank_key
        elif place is not None and (self._place is None or place <= self._place):
            self._first, self._place = trial, place

    def _score(self, trial: TrialRecord) -> float | None:
        if not trial.raced:
            return trial.score
        return reached(self._curves[trial.config.identity], max(report.epoch for report in trial.reports))
