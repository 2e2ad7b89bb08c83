"""Counts of a running study: trials by rung and state, epochs, pace and time left.

A session lasts from the start or a resumption of a study to its end or interruption. Counts come from the record of the
whole study, so they include trials of earlier sessions. Rates use only trials that ended in this session, since the
time between two sessions is not training time.
"""

import math
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from skipstack.search.analysis.ablation.trained import settled_trials
from skipstack.search.ledger.events import (
    Ended,
    Event,
    Extended,
    Finished,
    Interrupted,
    Measuring,
    Reported,
    Resumed,
    Shortened,
    Started,
    Tested,
)
from skipstack.search.strategy.objectives.hours import HOUR
from skipstack.search.strategy.proposers.config import PathConfig
from skipstack.search.strategy.schedulers.config import Resource
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.search.study.strategy import study_scheduler
from skipstack.search.study.study_size import study_size

MEASURING = "measuring on test"
"""The ``state`` of a study whose trials have ended, while the selected trials are measured on the test split."""

FEWEST = 20
"""The pace is computed from the later half of the trials that ended in this session, but from at least the last
``FEWEST`` of them.
"""


@dataclass(frozen=True, slots=True)
class RungCounts:
    """The trials whose last rung is ``rung``, counted by state. A ``rung`` of 0 means that they reached no rung.

    A state is the reason why a trial ended, or ``waiting``, ``running``, ``paused`` or ``measuring``. ``resource`` is
    the unit of the rung, from the study's scheduler: epochs, seconds or seeds.
    """

    rung: int
    resource: Resource
    counts: Counter[str]


@dataclass(frozen=True, slots=True)
class _TrialCounts:
    """A trial's contribution to the counts. ``rung``: the trial's last rung; 0 means none, None a completed trial."""

    state: str
    rung: int | None
    epochs: int
    seconds: float
    tested: bool

    @classmethod
    def of(cls, trial: TrialRecord) -> "_TrialCounts":
        rungs = [decided.rung for decided in trial.decisions if decided.rung is not None]
        reached = None if trial.reason == "completed" else max(rungs, default=0)
        return cls(trial.doing, reached, trial.epochs, trial.seconds, bool(trial.tested))


class StudyCounts:
    """Counts a study's trials event by event, and computes their pace.

    Pass each event with its time in seconds to ``apply``, which also adds the event to ``record``. Pass an event that
    the record already contains to ``note`` instead. The session begins when this object is made.
    """

    def __init__(self, record: StudyRecord) -> None:
        self.record = record
        self.state = "starting workers"
        self.best: TrialRecord | None = next(iter(record.ranked()), None)
        """The best trial so far; None if no trial has a score."""
        self._began: float | None = None
        self._ends: list[float] = []
        """The times at which trials ended in this session. Reused trials are left out, since they were not trained."""
        self.ended = sum(trial.reason is not None for trial in record.trials.values())
        """The number of trials that have ended."""
        self._total: int | None = None
        self._parts: dict[int, _TrialCounts] = {}
        self._stale = set(record.trials)
        """The trials that had events since ``_trials`` was last called."""

    def apply(self, event: Event, now: float) -> None:
        """Add the next event to the record and to the counts."""
        ending = self.record.trials.get(event.trial) if isinstance(event, Ended) else None
        new = ending is not None and ending.reason is None
        self.record.apply(event)
        self.ended += new
        self.note(event, now)

    def note(self, event: Event, now: float) -> None:
        """Count an event that the record already contains. Call this in the order of the ledger."""
        if isinstance(event, Extended | Interrupted | Resumed):
            self._stale |= set(self.record.trials)  # these events can change the state of every trial
        elif (number := getattr(event, "trial", None)) is not None:
            self._stale.add(number)
        match event:
            case Started():
                self._began = now if self._began is None else self._began
            case Reported():
                self.state = ""
                self._rank(self.record.trials[event.trial], event)
            case Ended():
                if self.record.study.search.proposer.kind == "path":
                    self._total = None  # the number of trials depends on the step that just ended
                if self.record.trials[event.trial].reused is None:
                    self._ends.append(now)
                if self.best is self.record.trials[event.trial] and self.best.score is None:
                    self.best = next(iter(self.record.ranked()), None)
                if self.left == 0 and self.record.study.space.base.keeps_weights:
                    self.state = MEASURING
            case Extended() | Shortened():
                self._total = None
            case Measuring() | Tested():
                self.state = MEASURING
            case Interrupted():
                self.state = "interrupted"
            case Finished():
                self.state = "finished"
            case _:
                pass

    @property
    def total(self) -> int:
        """The number of trials of the whole study (``study_size``), but never less than the number of started trials.

        For an ablation with a path, it is the number known so far: each step of the path depends on the step before.
        """
        if self._total is None:
            study, proposer = self.record.study, self.record.study.search.proposer
            if isinstance(proposer, PathConfig):
                self._total = min(study.search.trials, settled_trials(self.record, proposer))
            else:
                self._total = study_size(study, self.record.space, begins_with_base=self.record.begins_with_base)
        return max(self._total, len(self.record.trials))

    @property
    def left(self) -> int:
        """The number of trials that have not ended."""
        return self.total - self.ended

    @property
    def tested(self) -> int:
        """The number of trials measured on the test split."""
        return sum(trial.tested for trial in self._trials())

    @property
    def epochs(self) -> int:
        """The number of epochs trained in all trials."""
        return sum(trial.epochs for trial in self._trials())

    @property
    def seconds(self) -> float:
        """The seconds of training and evaluation in all trials."""
        return math.fsum(trial.seconds for trial in self._trials())

    def count(self, state: str) -> int:
        """The number of trials in ``state``, one of the states in ``RungCounts``."""
        return sum(trial.state == state for trial in self._trials())

    def levels(self) -> list[RungCounts]:
        """The trials by their last rung, the lowest rung first. The last item has the completed trials."""
        study = self.record.study
        subject = study_scheduler(study)
        resource, whole = subject.spending.resource, subject.spending.whole
        levels = {rung: RungCounts(rung, resource, Counter()) for rung in (0, *subject.rungs, whole)}
        for trial in self._trials():
            levels[whole if trial.rung is None else trial.rung].counts[trial.state] += 1
        return list(levels.values())

    def per_minute(self, now: float) -> float | None:
        """The pace at time ``now``: the number of trials that end in a minute. It is measured on the last trials of
        this session (``FEWEST``). None until a trial of this session has ended.

        Recent trials let the pace follow the changing load of the machine; many trials make the pace stable.
        """
        recent = max(FEWEST, len(self._ends) // 2)
        since = self._ends[-recent - 1] if len(self._ends) > recent else self._began
        if since is None or not self._ends or now <= since:
            return None
        return 60 * min(recent, len(self._ends)) / (now - since)

    def seconds_left(self, now: float) -> float | None:
        """The seconds until all trials have ended at this pace, or until the study's hours are over, whichever is
        sooner. None if the pace is not known, or if all trials have ended.
        """
        rate, hours = self.per_minute(now), self.record.study.search.hours
        if rate is None or self.left == 0:
            return None
        seconds = 60 * self.left / rate
        return seconds if hours is None else min(seconds, max(hours * HOUR - self.record.working.seconds(now), 0.0))

    def _trials(self) -> Collection[_TrialCounts]:
        """The contributions of all trials. Only the trials with new events are looked at again."""
        for number in self._stale:
            self._parts[number] = _TrialCounts.of(self.record.trials[number])
        self._stale.clear()
        return self._parts.values()

    def _rank(self, trial: TrialRecord, report: Reported) -> None:
        """Update the best trial after a report. The best trial so far is compared only with the reporting trial, since
        ranking all trials at every report would get slower and slower.

        If seeds race (``trial.raced``: they are trained in groups), a further seed may lower a trial's score. All
        trials are then ranked after the last epoch of each seed, and at each report until there is a best trial.
        """
        if trial.raced:
            if report.epoch == trial.config.epochs or self.best is None:
                self.best = next(iter(self.record.ranked()), None)
            return
        best = None if self.best is None else self.best.score
        if not math.isfinite(report.score):
            return
        if self.best is None or best is None or (report.score, -trial.number) > (best, -self.best.number):
            self.best = trial
