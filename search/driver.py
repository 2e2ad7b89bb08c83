"""The driver of a study: what engines ask and tell, and the only writer of the ledger.

Past and present events pass the same code, so a driver that was killed and one that was not are in
the same state after the same events.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from data.errors import UserError
from search.events import (
    Decided,
    Ended,
    Event,
    Finished,
    Interrupted,
    Metrics,
    Proposed,
    Reason,
    Reported,
    Resumed,
    Reused,
    Started,
    Tested,
    WarmStarted,
)
from search.folder import StudyFolder
from search.objectives import further
from search.pareto import Vector
from search.proposers import proposer
from search.records import StudyRecord, TrialRecord
from search.reuse import Known, KnownTrials
from search.scheduler import Decision
from search.schedulers import scheduler
from search.task import EpochResult, TrialTask, trial_task
from spaces.space import Point, Space
from spaces.trial import TrialConfig

Reader = Callable[[Event], None]
"""Hears every event once it is in the ledger: progress, tracking."""


class History(Protocol):
    """What happened before, and where it is written what happens now: the ledger, or in a simulation nowhere."""

    folder: Path

    def read(self) -> list[Event]:
        """All events in order, the first of them that the study was opened."""

    def append(self, *events: Event) -> None:
        """Take events that belong together."""


class Driver:
    """Proposes trials, judges their reports, ends them.

    ``clock`` gives Unix seconds; nothing that is decided depends on it. ``space``: of what is proposed, where that is
    not the study's whole space. ``parameters`` counts those of a config's network, None where it cannot be built; it is
    needed where they are an objective.
    """

    def __init__(
        self,
        folder: StudyFolder,
        ledger: History,
        *,
        device: str,
        clock: Callable[[], float],
        readers: Sequence[Reader] = (),
        space: Space | None = None,
        parameters: Callable[[TrialConfig], int | None] = lambda config: None,
    ) -> None:
        self.folder = folder
        self.device = device
        self.record = StudyRecord()
        self._ledger = ledger
        self._clock = clock
        self._readers = tuple(readers)
        self._parameters = parameters
        opened, *past = ledger.read()
        self.record.apply(opened)
        study, space = self.record.study, self.record.space if space is None else space
        self._base = space.point(study.space.base) if space.contains(study.space.base) else None
        self._proposer = proposer(study.search, space)
        spared = frozenset() if self._base is None else frozenset({0})
        self._scheduler = scheduler(study.search, study.space.base.training.epochs, spared)
        self._decision = Decision("continue")
        self._known = KnownTrials(folder, self.record)
        for event in past:
            self._apply(event)
        self._waiting = [trial.number for trial in self.record.running()]

    def next(self) -> TrialTask | None:
        """The next trial to run: first those that an earlier driver left, then new ones; None where none is left."""
        number = self._waiting.pop(0) if self._waiting else self._new()
        if number is None:
            return None
        self._tell(Started(time=self._clock(), trial=number))
        return self.task(number)

    def left(self) -> int:
        """Trials that ``next`` may still give, at most."""
        return len(self._waiting) + self.record.study.search.trials - len(self.record.trials)

    def report(self, number: int, result: EpochResult) -> Decision:
        """Take in an epoch of a trial and say whether it goes on. Report, decision and end are one append."""
        reported = Reported(
            time=self._clock(),
            trial=number,
            epoch=result.epoch,
            score=result.score,
            metrics=result.metrics,
            seconds=result.seconds,
            latency=result.latency if "latency" in self.record.study.search.objectives else None,
        )
        self._apply(reported)
        decision = self._decision
        decided = Decided(
            time=reported.time, trial=number, epoch=result.epoch, decision=decision.action, rung=decision.rung
        )
        events: list[Event] = [reported, decided]
        if decision.action != "continue":
            reason: Reason = "completed" if decision.action == "complete" else "stopped"
            events.append(Ended(time=reported.time, trial=number, reason="diverged" if decision.diverged else reason))
        for event in events[1:]:
            self._apply(event)
        self._write(events)
        return decision

    def failed(self, number: int, message: str) -> None:
        """A trial ended by an error, told in one line."""
        self._tell(Ended(time=self._clock(), trial=number, reason="failed", message=message))

    def tested(self, number: int, metrics: Metrics) -> None:
        """A selected trial was measured on the test split."""
        self._tell(Tested(time=self._clock(), trial=number, metrics=metrics))

    def resumed(self, code_version: str) -> None:
        """Another driver takes the study up."""
        self._tell(Resumed(time=self._clock(), code_version=code_version))

    def interrupted(self) -> None:
        """The user asked to end; what runs is taken up by the next driver."""
        self._tell(Interrupted(time=self._clock()))

    def finished(self) -> None:
        """Nothing is left to run or to test."""
        self._tell(Finished(time=self._clock()))

    def task(self, number: int) -> TrialTask:
        """What a worker needs to train or to test a trial."""
        trial = self.record.trials[number]
        return trial_task(
            self.record,
            self.folder,
            trial.config,
            number=number,
            seeds=trial.seeds,
            device=self.device,
            reported=len(trial.reports),
        )

    def _new(self) -> int | None:
        """A new trial that must be trained; those that another trial stands for begin and end here. None: no more."""
        while (point := self._propose(number := len(self.record.trials))) is not None:
            proposed = self._proposed(number, point)
            known = self._known.standing_for(proposed)
            if known is None:
                self._tell(proposed)
                return number
            self._reuse(proposed, known)
        return None

    def _reuse(self, proposed: Proposed, known: Known) -> None:
        """All that is recorded of a trial is told of another, in one append. It costs nothing, so nothing stops it."""
        number, recording, time = proposed.trial, known.recording, proposed.time
        events: list[Event] = []

        def happened(event: Event) -> None:
            self._apply(event)
            events.append(event)

        happened(proposed)
        happened(
            Reused(
                time=time,
                trial=number,
                study=known.study,
                source=known.trial,
                config_identity=recording.config_identity,
                code_version=recording.code_version,
            )
        )
        for report in recording.reports:
            happened(report.model_copy(update={"time": time, "trial": number}))
            action, rung = self._decision.action, self._decision.rung
            happened(Decided(time=time, trial=number, epoch=report.epoch, decision=action, rung=rung))
        happened(Ended(time=time, trial=number, reason="diverged" if self._decision.diverged else "completed"))
        if recording.tested:
            happened(Tested(time=time, trial=number, metrics=recording.tested))
        self._write(events)

    def _propose(self, number: int) -> Point | None:
        """The base comes first where the space has it, since every difference is measured from it."""
        if number >= self.record.study.search.trials:
            return None
        return self._base if number == 0 and self._base is not None else self._proposer.ask(number)

    def _proposed(self, number: int, point: Point) -> Proposed:
        search, config = self.record.study.search, self.record.space.config(point)
        return Proposed(
            time=self._clock(),
            trial=number,
            point=point,
            config_identity=config.identity,
            seeds=tuple(range(search.seeds)),
            parameters=self._parameters(config) if "parameters" in search.objectives else None,
        )

    def _tell(self, event: Event) -> None:
        self._apply(event)
        self._write([event])

    def _write(self, events: Sequence[Event]) -> None:
        """Nobody acts on an event before it is on the disk; if that fails, this driver ends."""
        self._ledger.append(*events)
        for event in events:
            for reader in self._readers:
                reader(event)

    def _apply(self, event: Event) -> None:
        """Bring the record, the proposer and the scheduler up to ``event``."""
        self.record.apply(event)
        objectives = self.record.study.search.objectives
        match event:
            case WarmStarted():
                self._known.observed(event)
                for each in event.observed:
                    beside = further(objectives, parameters=each.parameters, latency=each.latency)
                    self._proposer.observed(dict(each.point), each.reason, each.curve, beside)
            case Proposed(trial=number):
                self._proposer.proposed(number, dict(event.point))
            case Reused(trial=number):
                self._scheduler.spare(number)
            case Reported(trial=number):
                self._scheduler.weigh(number, self._further(number))
                self._decision = self._scheduler.report(number, event.epoch, event.score)
            case Decided():
                self._check(event)
            case Ended(trial=number):
                curve = _curve(self.record.trials[number])
                self._proposer.ended(number, event.reason, curve, self._further(number))
                self._known.ended(self.record.trials[number])
            case _:
                pass

    def _further(self, number: int) -> Vector:
        """What a trial reaches in the objectives beside the score."""
        return self.record.trials[number].further(self.record.study.search.objectives)

    def _check(self, decided: Decided) -> None:
        """A ledger whose decisions this code would not take was written by another version, or by hand."""
        if (decided.decision, decided.rung) != (self._decision.action, self._decision.rung):
            raise UserError(
                f"{self._ledger.folder}: trial {decided.trial}, epoch {decided.epoch}: the ledger says "
                f"{decided.decision!r}, replaying its reports gives {self._decision.action!r} "
                "(allowed: a ledger of this version of skipstack)"
            )


def _curve(trial: TrialRecord) -> list[tuple[int, float]]:
    return [(report.epoch, report.score) for report in trial.reports]
