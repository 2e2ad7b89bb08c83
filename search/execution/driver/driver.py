"""The driver of a study. Engines ask the driver for trials and report results to it; only the driver writes the ledger.

Decisions follow from the state of the study (``search/execution/driver/study_state.py``), which replayed and new events
update in the same way. So a driver that resumes a study decides as if the study had never been interrupted.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final, Protocol

from skipstack.data.basis.disk_errors import tried_again
from skipstack.data.basis.saying import Say, unsaid
from skipstack.search.execution.driver.faults import (
    Fault,
    after_untested,
    lost_ledger_interrupts,
    retried,
    time_is_over,
)
from skipstack.search.execution.driver.measuring_on_test import Measurement, measurement
from skipstack.search.execution.driver.reuse import ReusableTrial
from skipstack.search.execution.driver.study_state import StudyState
from skipstack.search.ledger.events import (
    Begun,
    Decided,
    Ended,
    Event,
    Extended,
    Finished,
    HoursOver,
    Interrupted,
    Measuring,
    Promoted,
    Proposed,
    Reason,
    Reported,
    Resumed,
    Retried,
    Reused,
    Shortened,
    Started,
    Tested,
    Untested,
    Used,
)
from skipstack.search.strategy.objectives.hours import BY_A_USER, HOUR
from skipstack.search.strategy.schedulers.scheduler import Decision
from skipstack.search.study.record.extension import shortening
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.requests import Request, Requests
from skipstack.search.study.record.selection import selected
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.task import EpochResult, Measured, TrialTask, task_of
from skipstack.spaces.space import Point, Space
from skipstack.spaces.subject import Subject

Reader = Callable[[Event], None]
"""A function that receives every event once it is in the ledger, for example to show progress or to delete weights."""


class History(Protocol):
    """The past events of a study, to which new ones are appended: the ledger or, in a simulation, events in memory."""

    folder: Path

    def replay(self) -> Iterable[Event]:
        """The past events in order, beginning with the event that opened the study."""

    def extensions(self) -> Iterable[Extended]:
        """The events that extended the study."""

    def append(self, *events: Event) -> None:
        """Append events that belong together: after a crash, the ledger holds all of them or none."""


AT_A_REPORT: Final = "stopped at the next report"
NOT_CONTINUED: Final = "not continued"
"""The messages of trials that ended because the study's hours (``search.hours``) were over."""

SHORTEST_WAIT: Final = 60.0
"""The shortest wait for a report, in seconds."""

EPOCHS_OF_WAIT: Final = 2
"""The wait for a report, as a multiple of the longest epoch. The wait is never shorter than ``SHORTEST_WAIT``."""


@dataclass(frozen=True, slots=True)
class LastWait:
    """The wait for reports of running trials after the study's hours. ``seconds``: its length. ``until``: its end, as a
    Unix time.
    """

    seconds: float
    until: float


class Driver:
    """Proposes trials, decides on their reports, ends trials, and records all this in the ledger.

    ``ledger``: past events, which the driver replays; new events are appended to it. ``device``: the device of the
    trials' tasks. ``clock`` returns Unix time in seconds, which events record. Only the decisions on ``search.hours``
    and on overdue reports depend on it. ``readers`` receive every new event. ``space``: the points (values for all
    axes) that may be proposed; None means the study's whole space. ``first``: new events to append before all others.
    ``replay_to``: readers of the replayed events and of ``first``; they get an event after the driver has applied it.
    ``parameters`` returns the number of parameters of a config's network, or None if the network cannot be built. It is
    called only if this number is an objective. ``warn``: receives a line on users' requests that cannot be read.
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
        first: Sequence[Event] = (),
        replay_to: Sequence[Reader] = (),
        parameters: Callable[[Subject], int | None] = lambda config: None,
        warn: Say = unsaid,
    ) -> None:
        self.folder = folder
        self.device = device
        self._ledger = ledger
        self._clock = clock
        self._readers = tuple(readers)
        self._parameters = parameters
        past = chain(ledger.replay(), first)
        opened = next(past)
        extensions = (*ledger.extensions(), *(event for event in first if isinstance(event, Extended)))
        self._state = StudyState(folder, opened, extensions, space=space, written=ledger.folder)
        for reader in replay_to:
            reader(opened)
        for event in past:
            self._state.apply(event)
            for reader in replay_to:
                reader(event)
        if first:
            self._write(first)
        self.record.working.rests()  # the last driver may have been killed; the time since then does not count
        self._asked = Requests(folder.asked, warn) if folder.ablation is None else None
        self.turns = 1
        """Largest number of trials that take turns in one process. The wait for a report is multiplied by it."""
        self._last_wait: LastWait | None = None
        """None before the study's hours have ended."""
        self._heard: dict[int, float] = {}
        """Unix time at which each running trial last began or reported an epoch."""
        self._waiting = sorted(self._state.active)
        self._unwanted: dict[int, str] = {}
        """Trials that a user asked to stop at their next report, each with the message of its end."""
        self._all_proposed = False
        self._none_now = False
        """Whether the proposer will have no further point before a running trial has ended."""

    @property
    def record(self) -> StudyRecord:
        """The record of the study so far."""
        return self._state.record

    def listen(self, *readers: Reader) -> None:
        """Add readers of all later events."""
        self._readers += readers

    def next(self) -> TrialTask | None:
        """Record that the next trial starts, and return its task; None if no trial can start now. Unless the study is
        ``over``, a trial may become ready later. First come trials that continue after an interruption, after a fault,
        or with the next group of racing seeds; then promoted trials; then new trials.
        """
        self.take_asked()
        self._end(self._state.scheduler.beaten())
        if self.hours_are_over():
            return None
        number = self._waiting.pop(0) if self._waiting else self._promoted(None)
        if number is None:
            number = self._new_trial()
        if number is None:  # no new trial will come, so paused trials need not wait for one
            number = self._promoted(len(self.record.trials))
        if number is None:
            return None
        self._heard.pop(number, None)  # the time of an earlier attempt
        self._tell(Started(time=self._clock(), trial=number))
        return self.task(number)

    @property
    def over(self) -> bool:
        """Whether no trial is running: all are paused or have ended."""
        return not self._state.active

    @property
    def halts(self) -> frozenset[int]:
        """The rungs: epochs after which the scheduler may end or pause a trial. Empty if rungs are not in epochs."""
        scheduler = self._state.scheduler
        return frozenset(scheduler.rungs if scheduler.spending.resource == "epochs" else ())

    @property
    def ready(self) -> int:
        """The number of trials that run or could begin now. The number of new trials is an upper bound. If no new trial
        is left, the first of the paused trials that are due for promotion is counted.
        """
        left = max(0, self.record.study.search.trials - len(self.record.trials))
        none = self._all_proposed or self._none_now
        given = min(left, len(self._state.asked))
        new = given + (0 if none else self._state.proposer.left(left - given))
        due = not new and self._state.scheduler.promotable(len(self.record.trials)) is not None
        return len(self._state.active) + new + due

    def take_asked(self) -> bool:
        """Carry out the users' waiting requests, and return whether they added points to the study."""
        if self._asked is None:
            return False
        taken = False
        for name, request in self._asked.waiting().items():
            if request.points and name not in self._state.requests:
                extension = self._state.extension(name, request, self._clock())
                if extension.points:
                    self._tell(extension)
                    taken, self._all_proposed, self._last_wait = True, False, None
            if request.written is not None:
                self._tell(request.written.model_copy(update={"time": self._clock()}))
            if request.enough and self.record.trials:
                for event in shortening(self.record.study, len(self.record.trials), time=self._clock()):
                    self._tell(event)
            if self._stopped(request) and (self.record.trials or not request.enough):
                self._asked.took(name)
        return taken

    def _stopped(self, request: Request) -> bool:
        """End the trials that ``request`` stops, and return whether all have ended. A trial that trains ends at its
        next report.
        """
        message = f"{BY_A_USER}{request.asked_by}"
        paused = set(self._paused())
        asked = (self._state.active | paused).intersection(request.stop)
        idle = sorted(asked & (paused | {*self._waiting}))
        self._waiting = [number for number in self._waiting if number not in asked]
        self._end(idle, message)
        self._unwanted = {**self._unwanted, **dict.fromkeys(asked.difference(idle), message)}
        return len(idle) == len(asked)

    def _paused(self) -> list[int]:
        return [trial.number for trial in self.record.paused()]

    def end_paused(self) -> None:
        """End all paused trials. Call this only when no trial is running whose report could promote a paused trial."""
        self._end(self._paused())

    def hours_are_over(self) -> bool:
        """Return whether the study's hours (``search.hours``) are over and something was left to stop. If so, end the
        waiting and the paused trials. Running trials end at their next report.
        """
        if (shortened := self._hours_over(self._clock())) is None:
            return False
        for event in shortened:
            self._tell(event)
        waiting, self._waiting = self._waiting, []
        self._end([*waiting, *self._paused()], NOT_CONTINUED)
        return True

    def silent(self) -> list[int]:
        """Return the running trials whose next report is overdue according to ``search.time_limit``. After the study's
        hours, there is a last wait for reports. Once that wait is over, return all running trials.
        """
        now = self._clock()
        if self.record.over is not None and self._last_wait is not None and now >= self._last_wait.until:
            return sorted(self._state.active)
        return [number for number in sorted(self._state.active) if self._is_silent(number, now)]

    def seconds_left(self, number: int) -> float | None:
        """Note that a running trial begins an epoch now. Return the seconds after which the trial counts as ``silent``
        if it has not reported; None means no limit.
        """
        own, now = self._longest_wait(number), self._clock()
        self._heard[number] = now
        if self._last_wait is not None:
            of_study: float | None = self._last_wait.until - now
        elif (hours := self.record.study.search.hours) is not None:
            left = hours * HOUR - self.record.working.seconds(now)
            of_study = left + self._wait
        else:
            of_study = None
        return min((each for each in (own, of_study) if each is not None), default=None)

    def given_up(self, number: int) -> None:
        """Record the end of a trial that ``silent`` returned."""
        if self.record.over is not None:
            assert self._last_wait is not None, "the study's hours are over"
            self._end([number], f"no report within {round(self._last_wait.seconds, 1):g} s")
            return
        now = self._clock()
        waited = f"no report within {now - self._heard.pop(number):.1f} s"
        message = f"{waited} (search.time_limit: {self.record.study.search.time_limit:g})"
        self._tell(Ended(time=now, trial=number, reason="timed_out", message=message))

    def _is_silent(self, number: int, now: float) -> bool:
        wait = self._longest_wait(number)
        return wait is not None and number in self._heard and now - self._heard[number] >= wait

    def _longest_wait(self, number: int) -> float | None:
        """Seconds to wait for a trial's next report according to ``search.time_limit``; None means no limit."""
        limit = self.record.study.search.time_limit
        if limit is None:
            return None
        left = max(limit - self.record.trials[number].seconds, 0.0)
        return self.turns * left + self._wait

    @property
    def _wait(self) -> float:
        """Seconds to wait for a trial's next report, by the longest epoch so far."""
        return max(SHORTEST_WAIT, EPOCHS_OF_WAIT * self.turns * self._state.longest)

    def not_continued(self, number: int) -> None:
        """Record the end of a trial that was still waiting for a worker when the study's hours were over."""
        self._end([number], NOT_CONTINUED)

    def begun(self, number: int) -> None:
        """Record that a worker has begun a trial."""
        now = self._heard[number] = self._clock()
        self._tell(Begun(time=now, trial=number))

    def report(self, number: int, result: EpochResult) -> Decision:
        """Record an epoch of a trial, decide whether the trial continues, and return the decision. The report, the
        decision and any end of the trial are one append to the ledger. If the report completes a group of racing seeds
        and a further group is to be trained, the returned action is ``pause``, and ``next`` returns a task with the
        further group.
        """
        self.take_asked()
        reported = Reported(
            time=self._clock(),
            trial=number,
            epoch=result.epoch,
            score=result.score,
            metrics=result.metrics,
            seconds=result.seconds,
            seeds=tuple(self._group(number) or ()),
            latency=result.latency if self.record.study.search.measures("latency") else None,
        )
        self._heard[number] = reported.time
        # The state is updated before the ledger: the decision follows from the state, and is appended with the report.
        # If the append fails, the study is interrupted, and the next driver replays the ledger.
        self._state.apply(reported)
        decision = self._state.decision
        events: list[Event] = [reported, self._decided(reported)]
        if decision.action in ("stop", "complete"):
            reason: Reason = "completed" if decision.action == "complete" else "stopped"
            events.append(Ended(time=reported.time, trial=number, reason="diverged" if decision.diverged else reason))
        elif (message := time_is_over(self.record.trials[number], self.record.study.search)) is not None:
            decision = replace(decision, action="stop")  # ends the trial; the ledger keeps the scheduler's decision
            events.append(Ended(time=reported.time, trial=number, reason="timed_out", message=message))
        elif decision.action == "continue" and (message := self._unwanted.pop(number, None)) is not None:
            decision = replace(decision, action="stop")
            events.append(Ended(time=reported.time, trial=number, reason="stopped", message=message))
        elif decision.action == "continue" and (shortened := self._hours_over(reported.time)) is not None:
            decision = replace(decision, action="stop")
            events += shortened
            events.append(Ended(time=reported.time, trial=number, reason="stopped", message=AT_A_REPORT))
        for event in events[1:]:
            self._state.apply(event)
        self._write(events)
        if result.usage is not None:
            self._tell(
                Used(time=reported.time, trial=number, epoch=result.epoch, seeds=reported.seeds, usage=result.usage)
            )
        if decision.action == "continue" and self._state.ends_group(reported):
            self._waiting.append(number)
            return replace(decision, action="pause")  # the trial's next seeds are a new task
        return decision

    def _decided(self, reported: Reported) -> Decided:
        """The event with the scheduler's decision on ``reported``, the report that was applied last."""
        decision = self._state.decision
        return Decided(
            time=reported.time,
            trial=reported.trial,
            epoch=reported.epoch,
            decision=decision.action,
            rung=decision.rung,
        )

    def faulted(self, number: int, fault: Fault) -> None:
        """Record that a fault ended an attempt at a trial. The trial is retried, or it ends."""
        self._heard.pop(number, None)
        cause = retried(self.record.trials[number], fault, self.record.study.search)
        if cause is not None and self.hours_are_over():
            self._end([number], f"{fault.message}; it was not tried again")
        elif cause is None:
            self._tell(Ended(time=self._clock(), trial=number, reason=fault.reason, message=fault.message))
        else:
            self._tell(Retried(time=self._clock(), trial=number, cause=cause, message=fault.message))
            self._waiting.append(number)

    def returned(self, number: int) -> None:
        """Record that a trial completed before its last possible epoch, because the user's function returned or the
        user's own loop ended the trial.
        """
        self._tell(Ended(time=self._clock(), trial=number, reason="completed"))

    def measurements(self) -> list[Measurement]:
        """Return the measurements on the test split still to make, one for each trial that ``selected`` returns and
        that was not tested. Trials whose measurement was given up after faults are left out. Call this only when no
        trial is running.
        """
        trials = self.record.trials
        return [
            measurement(self.record, self.folder, number, device=self.device)
            for number in selected(self.record)
            if not trials[number].tested and trials[number].given_up is None
        ]

    def measuring(self, number: int) -> None:
        """Record that a worker begins to measure a selected trial on the test split."""
        self._tell(Measuring(time=self._clock(), trial=number))

    def measured(self, number: int, outcome: Measured | Fault) -> None:
        """Record that a selected trial was measured on the test split, or that a fault prevented it."""
        time = self._clock()
        if isinstance(outcome, Fault):
            then = after_untested(self.record.trials[number], outcome, self.record.study.search)
            self._tell(Untested(time=time, trial=number, reason=outcome.reason, message=outcome.message, then=then))
        else:
            self._tell(Tested(time=time, trial=number, metrics=outcome.metrics, sentences=outcome.sentences))

    def resumed(self, code_version: str) -> None:
        """Record that this driver resumes the study."""
        self._tell(Resumed(time=self._clock(), code_version=code_version))

    def interrupted(self) -> None:
        """Record that the study is interrupted. The next driver continues the running trials."""
        self._tell(Interrupted(time=self._clock()))

    def finished(self) -> None:
        """Record that the study has finished: no trial is left to train or to measure on the test split."""
        self._tell(Finished(time=self._clock()))

    def task(self, number: int) -> TrialTask:
        """The task for the worker that trains this trial next."""
        return task_of(self.record, self.folder, number, device=self.device, group=self._group(number))

    def _group(self, number: int) -> range | None:
        """If the trial's seeds race (are trained in groups, one after another), return the group that it trains now or
        next; otherwise None.
        """
        group, first = self._state.scheduler.spending.group(number), self.record.study.search.lane_seeds.start
        return None if group is None else range(first + group.start, first + group.stop)

    def _promoted(self, trials: int | None) -> int | None:
        """Promote the next paused trial that is due, record this, and return its number; None if no trial is due.
        ``trials``: the study's number of trials if no new trial will come; None if more may come.
        """
        number = self._state.scheduler.promotable(trials)
        if number is not None:
            self._tell(Promoted(time=self._clock(), trial=number))
        return number

    def _new_trial(self) -> int | None:
        """Propose and record the next trial to train, and return its number; None if there is none now. If rungs are in
        epochs, a trial that repeats a known one (``KnownTrials``) is recorded with the known results, not trained.
        """
        while not self._all_proposed:
            number = len(self.record.trials)
            more = number < self.record.study.search.trials and not self._state.asked
            if more and (gain := self._state.enough()) is not None:
                self._tell(Shortened(time=self._clock(), trials=number, gain=gain))
            point = self._state.ask(number)
            self._none_now = point is None
            if point is None:
                self._all_proposed = not (self._state.proposer.waits and self._state.active)
                break
            proposed = self._proposed(number, point)
            known = (
                self._state.known.standing_for(proposed)
                if self._state.scheduler.spending.resource == "epochs"
                else None
            )
            if known is None:
                self._tell(proposed)
                return number
            self._reuse(proposed, known)
        return None

    def _proposed(self, number: int, point: Point) -> Proposed:
        search, config = self.record.study.search, self.record.space.config(point)
        return Proposed(
            time=self._clock(),
            trial=number,
            point=point,
            config_identity=config.identity,
            seeds=tuple(self._group(number) or search.lane_seeds),
            parameters=self._parameters(config) if search.measures("parameters") else None,
        )

    def _reuse(self, proposed: Proposed, known: ReusableTrial) -> None:
        """Record a proposed trial with known results in one append. The trial costs nothing, so it is never stopped."""
        number, recording, time = proposed.trial, known.recording, proposed.time
        events: list[Event] = []

        def happened(event: Event) -> None:
            self._state.apply(event)
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
            reported = report.model_copy(update={"time": time, "trial": number})
            happened(reported)
            happened(self._decided(reported))
        happened(Ended(time=time, trial=number, reason="diverged" if self._state.decision.diverged else "completed"))
        if recording.tested:
            happened(Tested(time=time, trial=number, metrics=recording.tested, sentences=recording.sentences))
        self._write(events)

    def _hours_over(self, time: float) -> list[Shortened] | None:
        """If the study's hours are over at ``time``, begin the wait for running trials, and return a list with the
        event to record. The list is empty if that event is recorded already. Returns None if time is left, or nothing
        is left to stop.
        """
        record, hours = self.record, self.record.study.search.hours
        if record.over is not None:
            return []
        if hours is None or self.record.working.seconds(time) < hours * HOUR:
            return None
        trials, left_out = len(record.trials), self._left_out()
        if not (left_out or self._state.active or record.paused()):
            return None
        self._last_wait = LastWait(self._wait, time + self._wait)
        return [Shortened(time=time, trials=trials, over=HoursOver(hours=hours, left_out=left_out))]

    def _left_out(self) -> int:
        """Upper bound on the number of further trials that the study could propose."""
        trials, state = len(self.record.trials), self._state
        left = self.record.study.search.trials - trials
        if not left or self._all_proposed:
            return 0
        return left if (state.proposer.waits and state.active) or state.ask(trials) is not None else 0

    def _end(self, numbers: Sequence[int], message: str = "") -> None:
        """Record in one append that trials end as ``stopped``, for a reason other than a scheduler's decision on a
        report: for example that they cannot be promoted any more, or that no time is left.
        """
        time = self._clock()
        ends = [Ended(time=time, trial=number, reason="stopped", message=message) for number in numbers]
        if ends:
            self._tell(*ends)

    def _tell(self, *events: Event) -> None:
        """Apply new events to the state, then record them in one append."""
        for event in events:
            self._state.apply(event)
        self._write(events)

    def _write(self, events: Sequence[Event]) -> None:
        """Flush the weights of ending trials to the disk, append the events to the ledger, and then send the events to
        the readers. So no reader acts on an event that is not on the disk. A failed write interrupts the study.
        """
        with lost_ledger_interrupts(self._ledger.folder):
            for event in events:
                if isinstance(event, Ended):
                    tried_again(partial(self.folder.fsync_weights, event.trial))
            self._ledger.append(*events)
        for event in events:
            for reader in self._readers:
                reader(event)
