"""The state of a study: its record, proposer and scheduler, updated event by event.

The same code applies replayed and new events. So the state after a given ledger is the same in the driver that wrote
the ledger, in a driver that resumes the study, and in a simulation.
"""

import math
from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import canonical_json
from skipstack.search.execution.driver.reuse import KnownTrials
from skipstack.search.ledger.events import (
    Decided,
    Ended,
    Event,
    Extended,
    Gain,
    Promoted,
    Proposed,
    Reported,
    Reused,
    Suggested,
    WarmStarted,
)
from skipstack.search.strategy.objectives.objectives import vector
from skipstack.search.strategy.objectives.pareto import Vector
from skipstack.search.strategy.objectives.stopping_rule import StoppingRule
from skipstack.search.strategy.schedulers.scheduler import Decision
from skipstack.search.study.record.extension import extended
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.requests import Request
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.strategy import study_proposer, study_scheduler
from skipstack.spaces.domains import Json
from skipstack.spaces.space import Point, Space


class StudyState:
    """Record, proposer and scheduler of a study, from which all decisions follow. Only ``apply`` changes them.

    ``opened``: the first event. ``extensions``: all later events that extend the study. ``space``: the points (values
    for all axes) that may be proposed; None means the study's whole space. ``written``: the path of the ledger, for
    error messages.
    """

    def __init__(
        self,
        folder: StudyFolder,
        opened: Event,
        extensions: Sequence[Extended] = (),
        *,
        space: Space | None = None,
        written: Path,
    ) -> None:
        self.record = StudyRecord()
        self.record.apply(opened)
        # The extended space is used from the start: nothing is proposed before all events are replayed, and the
        # extended space contains all points of the original one.
        study = reduce(extended, extensions, self.record.study)
        space = Space(study.space) if space is None else space
        self._base = space.point(study.space.base) if space.contains(study.space.base) else None
        search = study.search
        # Users may add points at any time. These do not count in the proposer's own number of trials.
        asked = sum(len(extension.points) for extension in extensions)
        # Further hours give back trials that the hours had left out, which this number includes already.
        given_back = sum(extension.trials for extension in extensions if extension.hours is not None)
        self.proposer = study_proposer(study, space, search.trials - asked - given_back)
        self.scheduler = study_scheduler(study)
        self._enough = None if search.enough is None else StoppingRule(search.enough)
        self.longest = 0.0
        """The seconds of the longest epoch so far."""
        self.decision = Decision("continue")
        """The scheduler's decision on the last report."""
        self.known = KnownTrials(folder, self.record)
        self._suggested: list[Point] = []
        """Points that were good on other corpora and have not been proposed yet."""
        self.asked: list[Point] = []
        """Points that users requested and that have not been proposed yet."""
        self.requests: set[str] = set()
        """The names of the requests whose points were added to the study."""
        self.active: set[int] = set()
        """Trials that were proposed and have neither paused nor ended."""
        self._written = written

    def ask(self, number: int) -> Point | None:
        """Return the point of the next trial, ``number``; None if there is none now. The state does not change.
        First comes the base config, if the space contains it. Then come points that users requested, points that were
        good on other corpora, and points of the proposer. The base is never stopped early, since every difference is
        measured from it. Some ablations begin without it (``begins_with_base``).
        """
        if number >= self.record.study.search.trials:
            return None
        if number == 0 and self._base is not None and self.record.begins_with_base:
            return self._base
        first = [*self.asked[:1], *self._suggested[:1]]
        return first[0] if first else self.proposer.ask(number)

    def extension(self, name: str, request: Request, time: float) -> Extended:
        """Return the event that extends the study by those points of the request ``name`` that are new. Raises
        UserError for a point that the study's space does not allow.
        """
        points: dict[str, Point] = {}
        for point in request.points:
            if (refusal := self.record.space.refusal(dict(point))) is not None:
                raise UserError(f"{self._written.parent}: the request {name}: {refusal}")
            points[canonical_json(point)] = dict(point)
        for known in (*self.asked, *(trial.point for trial in self.record.trials.values())):
            points.pop(canonical_json(known), None)
        return Extended(
            time=time, trials=len(points), points=tuple(points.values()), asked_by=request.asked_by, request=name
        )

    def enough(self) -> Gain | None:
        """The expected gain of further trials if ``search.enough`` lets no further trial start; otherwise None."""
        if self._enough is None or self.record.study.search.enough is None:
            return None
        return self._enough.gain()

    def apply(self, event: Event) -> None:
        """Update the record, the proposer and the scheduler by ``event``. Raises UserError for a recorded decision or
        promotion that this code would not make after the same events.
        """
        self.record.apply(event)
        if self._enough is not None:
            self._enough.happened(event)
        match event:
            case WarmStarted():
                self.known.observed(event)
                self._observe(event)
            case Suggested():
                self._suggested += [dict(each.point) for each in event.suggestions]
            case Extended():
                self.asked += [dict(point) for point in event.points]
                self.requests.add(event.request)
            case Proposed(trial=number):
                self.active.add(number)
                self._suggested = [point for point in self._suggested if not _equal(point, event.point)]
                self.asked = [point for point in self.asked if not _equal(point, event.point)]
                self.known.proposed(event)
                self.proposer.proposed(number, dict(event.point))
                if number == 0 and self._is_base(event):
                    self.scheduler.spare(number)
            case Reused(trial=number):
                self.scheduler.spare(number)
            case Reported(trial=number):
                self.longest = max(self.longest, event.seconds)
                self.proposer.took(number, event.seconds / max(len(event.seeds), 1))
                self.scheduler.weigh(number, self._further(number, None if self.ends_group(event) else event))
                self.decision = self.scheduler.report(number, event.epoch, self._score(event), event.seconds)
            case Decided(trial=number):
                self._check(event)
                if event.decision == "pause":
                    self.active.remove(number)
                    self.proposer.paused(number, self.record.trials[number].curve, self._further(number))
                    self._left(number)
            case Promoted(trial=number):
                self._check_promoted(event)
                self.scheduler.promoted(number)
                self.active.add(number)
                self.proposer.promoted(number, dict(self.record.trials[number].point))
            case Ended(trial=number):
                self.active.discard(number)
                self.scheduler.ended(number)
                self.proposer.ended(number, event.reason, self.record.trials[number].curve, self._further(number))
                self.known.ended(self.record.trials[number])
                self._left(number)
            case _:
                pass

    def ends_group(self, reported: Reported) -> bool:
        """Whether a report is for the last epoch of a group of seeds. False unless seeds race, that is, a trial trains
        its seeds in groups.
        """
        return bool(reported.seeds) and reported.epoch == self.scheduler.maximum

    def _is_base(self, proposed: Proposed) -> bool:
        """Whether the proposed trial is the base. Trial 0 is not the base if the space did not contain the base before
        an extension.
        """
        return self._base is not None and _equal(proposed.point, self._base)

    def _observe(self, warm_started: WarmStarted) -> None:
        sought = self.record.study.search.further
        for each in warm_started.observed:
            values = {"parameters": each.parameters, "latency": each.latency, **each.reported}
            beside = vector(sought, values)
            self.proposer.observed(dict(each.point), each.reason, each.curve, beside)

    def _left(self, number: int) -> None:
        """Pass the end or pause of a trial to the stopping rule, if the study has one."""
        if self._enough is not None:
            trial = self.record.trials[number]
            self._enough.left(number, trial.reason, trial.score, list(trial.dev.values()))

    def _score(self, reported: Reported) -> float:
        """The score that the scheduler compares: the score of the epoch. At the end of a group of racing seeds, it is
        the trial's score over all seeds so far.
        """
        if not self.ends_group(reported) or not math.isfinite(reported.score):
            return reported.score
        best = self.record.trials[reported.trial].best
        assert best is not None, "a group that did not diverge has a best epoch"
        return best.score

    def _further(self, number: int, at: Reported | None = None) -> Vector:
        """The values of trial ``number`` in the objectives other than the score. Values that a user's function reported
        are taken from the report ``at``; if that is None, from the trial's best report.
        """
        return self.record.trials[number].further(self.record.study.search.further, at)

    def _check(self, decided: Decided) -> None:
        """Raise UserError for a recorded decision that this code would not make: the code or the ledger has changed."""
        if (decided.decision, decided.rung) != (self.decision.action, self.decision.rung):
            raise UserError(
                f"{self._written}: trial {decided.trial}, epoch {decided.epoch}: the ledger says "
                f"{decided.decision!r}, replaying its reports gives {self.decision.action!r} "
                "(allowed: a ledger of this version of skipstack)"
            )

    def _check_promoted(self, promoted: Promoted) -> None:
        """Raise UserError for a recorded promotion that this code would not make. Which trial was due depends on
        whether new trials were still to come. The ledger does not record this, so both trials that may have been due
        are allowed.
        """
        due = (self.scheduler.promotable(), self.scheduler.promotable(len(self.record.trials)))
        if promoted.trial not in due:
            raise UserError(
                f"{self._written}: trial {promoted.trial}: the ledger says that it was promoted, replaying its "
                f"reports promotes {due[0]} (allowed: a ledger of this version of skipstack)"
            )


def _equal(one: Mapping[str, Json], other: Mapping[str, Json]) -> bool:
    """Whether two points are the same, whatever the order of their axes."""
    return canonical_json(one) == canonical_json(other)
