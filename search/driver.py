"""The driver of a study: what engines ask and tell, and the only writer of the ledger.

Past and present events pass the same code, so a driver that was killed and one that was not are in
the same state after the same events.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from pathlib import Path
from typing import Protocol

from data.errors import UserError
from search.events import (
    Decided,
    Ended,
    Event,
    Extended,
    Finished,
    Interrupted,
    Metrics,
    Proposed,
    Reason,
    Reported,
    Resumed,
    Started,
    Tested,
)
from search.extension import extended
from search.folder import StudyFolder
from search.proposers import proposer
from search.records import StudyRecord, TrialRecord
from search.scheduler import Decision
from search.schedulers import scheduler
from search.task import EpochResult, TrialTask, trial_task
from spaces.space import Point, Space

Reader = Callable[[Event], None]
"""Hears every event once it is in the ledger: progress, tracking."""


class History(Protocol):
    """What happened before, and where it is written what happens now: the ledger, or in a simulation nowhere."""

    folder: Path

    def replay(self) -> Iterable[Event]:
        """All events in order, the first of them that the study was opened."""

    def extensions(self) -> Iterable[Extended]:
        """Those of the events by which the study was extended."""

    def append(self, *events: Event) -> None:
        """Take events that belong together."""


class Driver:
    """Proposes trials, judges their reports, ends them.

    ``clock`` gives Unix seconds; nothing that is decided depends on it. ``space``: of what is proposed, where that is
    not the study's whole space. ``rehearse`` hear the past as well, each event once the driver has taken it in.
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
        rehearse: Sequence[Reader] = (),
    ) -> None:
        self.folder = folder
        self.device = device
        self.record = StudyRecord()
        self._ledger = ledger
        self._clock = clock
        self._readers = tuple(readers)
        past = iter(ledger.replay())
        opened = next(past)
        self.record.apply(opened)
        # A proposer is only asked at the end of the past, and every point of a space lies in what it was extended to.
        study = reduce(extended, ledger.extensions(), self.record.study)
        space = Space(study.space) if space is None else space
        self._base = space.point(study.space.base) if space.contains(study.space.base) else None
        self._proposer = proposer(study.search, space)
        spared = frozenset() if self._base is None else frozenset({0})
        self._scheduler = scheduler(study.search, study.space.base.training.epochs, spared)
        self._decision = Decision("continue")
        for hear in rehearse:
            hear(opened)
        self.past = 1
        """How many events there were before this driver."""
        for event in past:
            self._apply(event)
            self.past += 1
            for hear in rehearse:
                hear(event)
        self._waiting = [trial.number for trial in self.record.running()]

    def listen(self, *readers: Reader) -> None:
        """Let these hear what happens from now on, too."""
        self._readers += readers

    def next(self) -> TrialTask | None:
        """The next trial to run: first those that an earlier driver left, then new ones; None where none is left."""
        if self._waiting:
            number = self._waiting.pop(0)
        else:
            number = len(self.record.trials)
            point = self._propose(number)
            if point is None:
                return None
            search = self.record.study.search
            self._tell(
                Proposed(
                    time=self._clock(),
                    trial=number,
                    point=point,
                    config_identity=self.record.space.config(point).identity,
                    seeds=tuple(range(search.seeds)),
                )
            )
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

    def _propose(self, number: int) -> Point | None:
        """The base comes first where the space has it, since every difference is measured from it."""
        if number >= self.record.study.search.trials:
            return None
        return self._base if number == 0 and self._base is not None else self._proposer.ask(number)

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
        match event:
            case Proposed(trial=number):
                self._proposer.proposed(number, dict(event.point))
            case Reported(trial=number):
                self._decision = self._scheduler.report(number, event.epoch, event.score)
            case Decided():
                self._check(event)
            case Ended(trial=number):
                self._proposer.ended(number, event.reason, _curve(self.record.trials[number]))
            case _:
                pass

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
