"""Records the trajectory of a simulation: the score of its incumbent over time.

The incumbent at a moment is the trial that the study would return if it ended then: the first of
``StudyRecord.ranked``, with the weights of its best epoch so far. A trial that diverges later can be the incumbent
until then.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

from skipstack.search.ledger.events import Ended, Event, Reported
from skipstack.search.study.config import SearchConfig
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.search.study.task import EpochResult

ROUNDING: Final = 1e-9
"""Scores that differ by at most this count as equal, since decimal fractions are inexact in floating point."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A change of the incumbent's score. ``epochs``: the total epochs that all trials have reported until then.
    ``seconds``: the simulated time. ``score``: the new score; None if there is no longer an incumbent.
    """

    epochs: float
    seconds: float
    score: float | None


@dataclass(frozen=True, slots=True)
class Trajectory:
    """The score of the incumbent over time. ``moments``: its changes, the earliest first."""

    moments: tuple[Moment, ...]

    def after(self, epochs: float) -> float | None:
        """The incumbent's score after ``epochs`` epochs of all trials together; None without an incumbent."""
        past = [moment.score for moment in self.moments if moment.epochs <= epochs]
        return past[-1] if past else None

    def until(self, level: float) -> Moment | None:
        """The moment from which the incumbent's score stays at least ``level``. None if there is no such moment."""
        found = None
        for moment in self.moments:
            if moment.score is None or moment.score < level - ROUNDING:
                found = None
            elif found is None:
                found = moment
        return found


def share(report: Reported, search: SearchConfig) -> Fraction:
    """The share of a trial's seeds whose epoch a report covers. It is below 1 only if seeds race."""
    return Fraction(len(report.seeds), search.lanes_of_a_trial) if report.seeds else Fraction(1)


def reached(curve: Sequence[EpochResult], epochs: int) -> float:
    """The best score in the first ``epochs`` epochs of a curve; minus infinity if none is finite."""
    return max((result.score for result in curve[:epochs] if math.isfinite(result.score)), default=-math.inf)


@final
class TrajectoryRecorder:
    """Records the trajectory of a simulated study. Pass the driver's events to ``take``.

    ``record``: the driver's record of the simulated study. It must have each event before ``take`` receives the event.
    ``curves``: the recorded curves, by the config's hash. If seeds race, the seeds trained so far determine the
    incumbent, but the trajectory has the incumbent's score over all seeds.
    """

    def __init__(self, record: StudyRecord, curves: Mapping[str, Sequence[EpochResult]]) -> None:
        self._record = record
        self._curves = curves
        self._epochs = Fraction(0)
        self._first: TrialRecord | None = None
        self._rank_key: tuple[int, float, int] | None = None
        self._moments: list[Moment] = []

    @property
    def course(self) -> Trajectory:
        """The trajectory up to the latest event."""
        return Trajectory(tuple(self._moments))

    def take(self, event: Event) -> None:
        """Update the trajectory after an event."""
        if isinstance(event, Reported):
            self._epochs += share(event, self._record.study.search)
        if isinstance(event, Reported | Ended):
            self._judge(self._record.trials[event.trial])
            score = None if self._first is None else self._score(self._first)
            if score != (self._moments[-1].score if self._moments else None):
                self._moments.append(Moment(float(self._epochs), event.time, score))

    def _judge(self, trial: TrialRecord) -> None:
        """Update the incumbent after a change of one trial. All trials are compared only if the incumbent got worse."""
        key = None if trial.score is None else trial.rank_key
        if trial is self._first and (key is None or self._rank_key is None or key > self._rank_key):
            self._first = next(iter(self._record.ranked()), None)
            self._rank_key = None if self._first is None else self._first.rank_key
        elif key is not None and (self._rank_key is None or key <= self._rank_key):
            self._first, self._rank_key = trial, key

    def _score(self, trial: TrialRecord) -> float | None:
        if not trial.raced:
            return trial.score
        return reached(self._curves[trial.config.identity], max(report.epoch for report in trial.reports))
