"""The state of a study: its record, its proposer and its scheduler, brought forward event by event.

Past and present events pass the same code, so the state after a ledger's events is the same in a driver that wrote
them, in one that took the study up, and in a simulation.
"""

import math
from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import canonical_json
from skipstack.search.driver.reuse import KnownTrials
from skipstack.search.ledger.event_values import Gain
from skipstack.search.ledger.events import (
    Decided,
    Ended,
    Event,
    Extended,
    Promoted,
    Proposed,
    Reported,
    Reused,
    Suggested,
    WarmStarted,
)
from skipstack.search.objectives.enough import Enough
from skipstack.search.objectives.objectives import further
from skipstack.search.objectives.pareto import Vector
from skipstack.search.proposers.build import proposer
from skipstack.search.record.extension import extended
from skipstack.search.record.folder import StudyFolder
from skipstack.search.record.study_record import StudyRecord
from skipstack.search.schedulers.build import scheduler
from skipstack.search.schedulers.scheduler import Decision
from skipstack.spaces.domains import Json
from skipstack.spaces.space import Point, Space


class StudyState:
    """What decides how a study goes on. ``apply`` is the only way in, from the event that opened the study.

    ``extensions``: those of the events to come by which it was extended; ``space``: of what is proposed, where that is
    not the study's whole space; ``written``: where the events stand, which is named where they contradict themselves.
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
        # A proposer is only asked at the end of the past, and every point of a space lies in what it was extended to.
        study = reduce(extended, extensions, self.record.study)
        space = Space(study.space) if space is None else space
        self._base = space.point(study.space.base) if space.contains(study.space.base) else None
        search = study.search
        self.proposer = proposer(
            search.proposer, space, seed=search.seed, objectives=len(search.objectives), trials=search.trials
        )
        self.scheduler = scheduler(search.scheduler, study.space.base.epochs, seeds=search.seeds)
        self._enough = None if search.enough is None else Enough(search.enough)
        self.decision = Decision("continue")
        """What the scheduler said of the last report."""
        self.known = KnownTrials(folder, self.record)
        self._suggested: list[Point] = []
        """Points that were good on other corpora and that were not proposed yet."""
        self.active: set[int] = set()
        """Trials that are neither paused nor over."""
        self._written = written

    def ask(self, number: int) -> Point | None:
        """The point of trial ``number``, the next one; None where there is none. Changes nothing.

        The base comes first where the space has it, and is never stopped, since every difference is measured from it;
        what was good on other corpora comes next.
        """
        if number >= self.record.study.search.trials:
            return None
        if number == 0 and self._base is not None:
            return self._base
        return self._suggested[0] if self._suggested else self.proposer.ask(number)

    def enough(self) -> Gain | None:
        """What further trials would bring, where that is so little that none is started; None where they are."""
        if self._enough is None or self.record.study.search.enough is None:
            return None
        return self._enough.gain()

    def apply(self, event: Event) -> None:
        """Bring the record, the proposer and the scheduler up to ``event``.

        Raises UserError for decisions and promotions that this code would not take after the events before them.
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
            case Proposed(trial=number):
                self.active.add(number)
                self._suggested = [point for point in self._suggested if not _equal(point, event.point)]
                self.known.proposed(event)
                self.proposer.proposed(number, dict(event.point))
                if number == 0 and self._is_base(event):
                    self.scheduler.spare(number)
            case Reused(trial=number):
                self.scheduler.spare(number)
            case Reported(trial=number):
                self.proposer.took(number, event.seconds / max(len(event.seeds), 1))
                self.scheduler.weigh(number, self._further(number))
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
        """Whether a group of seeds that race is trained to its end."""
        return bool(reported.seeds) and reported.epoch == self.scheduler.maximum

    def _is_base(self, proposed: Proposed) -> bool:
        """Whether it is the base: the first trial is another one where only a later extension lets the base in."""
        return self._base is not None and _equal(proposed.point, self._base)

    def _observe(self, warm_started: WarmStarted) -> None:
        objectives = self.record.study.search.objectives
        for each in warm_started.observed:
            beside = further(objectives, parameters=each.parameters, latency=each.latency)
            self.proposer.observed(dict(each.point), each.reason, each.curve, beside)

    def _left(self, number: int) -> None:
        """A trial makes room for others."""
        if self._enough is not None:
            trial = self.record.trials[number]
            self._enough.left(number, trial.reason, trial.score, list(trial.dev.values()))

    def _score(self, reported: Reported) -> float:
        """What the scheduler compares: of whole groups of seeds the score of all of them, else that of the epoch."""
        if not self.ends_group(reported) or not math.isfinite(reported.score):
            return reported.score
        best = self.record.trials[reported.trial].best
        assert best is not None, "a group that did not diverge has a best epoch"
        return best.score

    def _further(self, number: int) -> Vector:
        """What a trial reaches in the objectives beside the score."""
        return self.record.trials[number].further(self.record.study.search.objectives)

    def _check(self, decided: Decided) -> None:
        """A ledger whose decisions this code would not take was written by another version, or by hand."""
        if (decided.decision, decided.rung) != (self.decision.action, self.decision.rung):
            raise UserError(
                f"{self._written}: trial {decided.trial}, epoch {decided.epoch}: the ledger says "
                f"{decided.decision!r}, replaying its reports gives {self.decision.action!r} "
                "(allowed: a ledger of this version of skipstack)"
            )

    def _check_promoted(self, promoted: Promoted) -> None:
        """Likewise for promotions; whether further trials were to come is not in the ledger, so either will do."""
        due = (self.scheduler.promotable(), self.scheduler.promotable(len(self.record.trials)))
        if promoted.trial not in due:
            raise UserError(
                f"{self._written}: trial {promoted.trial}: the ledger says that it was promoted, replaying its "
                f"reports promotes {due[0]} (allowed: a ledger of this version of skipstack)"
            )


def _equal(one: Mapping[str, Json], other: Mapping[str, Json]) -> bool:
    """Whether two points are the same, in whatever order their axes stand."""
    return canonical_json(one) == canonical_json(other)
