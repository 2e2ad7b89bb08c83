"""Follows a study that another process runs. Each call reads only the new lines of the study's ledger."""

import time
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Final

import pandas as pd

from skipstack.dashboards.live.counts import RungCounts, StudyCounts
from skipstack.dashboards.live.progress import differences
from skipstack.dashboards.reports.wording import reason_in_words
from skipstack.dashboards.web.section import EVERY
from skipstack.dashboards.web.shared import Shared
from skipstack.data.basis.collection import uncollected
from skipstack.data.basis.errors import UserError
from skipstack.data.basis.user_code.configs import OwnConfig
from skipstack.data.tasks.measure import Measure
from skipstack.search.analysis.frames.trials import ScoreRow, score_row
from skipstack.search.analysis.study_frames import StudyFrames
from skipstack.search.ledger.events import (
    FAULTS,
    Ablated,
    Ended,
    Event,
    Gain,
    HoursOver,
    Placed,
    Resumed,
    Retried,
    Usage,
    Used,
)
from skipstack.search.ledger.following import Following
from skipstack.search.ledger.ledger import Ledger, events_of
from skipstack.search.strategy.objectives.hours import cut_short
from skipstack.search.strategy.schedulers.scheduler import Ahead
from skipstack.search.study.record.columnar_record import columnar_record
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.identical_trials import identical_trials
from skipstack.search.study.record.next_event import WrongEventError
from skipstack.search.study.record.phases import Phases
from skipstack.search.study.record.reading import empty_ledger, is_long
from skipstack.search.study.record.replayed_scheduler import replayed_scheduler
from skipstack.search.study.record.study_record import StudyRecord

if TYPE_CHECKING:
    from skipstack.search.analysis.exploration.exploration import Exploration

SPANS = ("trial", "phase", "began", "until", "state")
"""The columns of ``Followed.spans``."""

SHARE: Final = 5
"""The minimum interval between two updates is this multiple of the time that an update takes. Long studies are
therefore read less often.
"""

OVER: Final = ("finished", "interrupted")
"""The states of a study that no process runs."""

RECENT: Final = 1.0
"""An exploration of a running study is reused for this many seconds, plus the seconds that it took."""


@dataclass(frozen=True, slots=True)
class ShownFault:
    """A fault of a trial to show. ``time``: the time of the fault, in Unix seconds. ``what``: the kind of fault, in
    words. ``again``: whether the trial is retried.
    """

    time: float
    trial: int
    what: str
    message: str
    again: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class StudyNow:
    """The state of a study at the last event that was read. ``time``: the time of this event, in Unix seconds.

    ``state``: the current step of the study, in words. ``total``: the number of trials of the whole study. ``trials``,
    ``ended``: the numbers of trials that have started and that have ended. ``epochs``, ``seconds``: the epochs and the
    seconds of training so far, over all trials. ``per_minute``: the number of trials that end in a minute, since the
    study was last started or resumed. ``seconds_left``: the time left at this pace. Both are None if the pace is not
    known. ``levels``: the trials by the last rung that they reached. ``running``: maps each trial in training to its
    last epoch and its differences from the base. ``waiting``: the number of trials that wait for a worker.
    ``measuring``: the trials that are being measured on test. ``usage``: maps trials in training to the last resource
    usage that their workers reported. ``faults``: all faults, the earliest first. ``placed``: where and how the study
    was last run; None if the ledger does not say. ``best``: the number and score of the best trial. ``enough``: the
    expected gain from further trials, if it was too small to start any. ``hours``: the limit of hours, if it ended the
    study. ``cut``: the trials that this limit cut short, by how they ended. ``identical``: a warning if trials report
    equal scores; otherwise empty.
    """

    state: str
    time: float
    total: int
    ended: int
    epochs: int
    per_minute: float | None
    seconds_left: float | None
    levels: tuple[RungCounts, ...]
    running: dict[int, tuple[int, str]]
    waiting: int
    measuring: tuple[int, ...]
    usage: dict[int, Usage]
    faults: tuple[ShownFault, ...]
    placed: Placed | None
    measure: Measure
    trials: int
    best: tuple[int, float] | None
    seconds: float
    enough: Gain | None
    hours: HoursOver | None
    cut: dict[str, list[int]]
    identical: str


@dataclass(frozen=True, slots=True)
class SearchSoFar:
    """The exploration of a running study so far. ``ahead``: the rungs ahead of each trial in training, by its number.

    With several objectives, ``ahead`` is None, since no single score decides which trials continue.
    """

    search: "Exploration"
    ahead: dict[int, tuple[Ahead, ...]] | None


class Followed:
    """Follows the study in a folder. The constructor and all methods raise UserError if the study is missing, damaged
    or empty.

    ``look`` reads the new lines of the ledger, and recounts only the trials in these lines. ``progressed`` describes
    all trials, so it takes longer for longer studies, and pages call it less often.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._ledger = Ledger(StudyFolder.existing(path).ledger)
        self._wrong: UserError | None = None
        """The error of an event that cannot come next, after which the counts cannot be used."""
        self._news = Following(self._ledger.folder)
        self._lock = RLock()
        self._counts = StudyCounts(StudyRecord())
        self._time = 0.0
        self._since = 0.0
        """The time of the last event of the search (not of an ablation), up to which the pace is measured."""
        self._phases = Phases()
        self._faults: list[ShownFault] = []
        self._usage: dict[int, Usage] = {}
        self._placed: Placed | None = None
        self._standing: StudyNow | None = None
        self._progressed: SearchSoFar | None = None
        self._is_progressed = False
        """Whether ``_progressed`` has all events read so far."""
        self._progressed_at = 0.0
        self._scores: dict[int, ScoreRow] = {}
        self._stale: set[int] = set()
        """The trials that had events since ``scores`` was last called."""
        self._seconds = 0.0
        """The seconds that the last call of ``look`` with new events took. The first call, which reads the whole
        ledger, does not count.
        """
        self._progress_seconds = 0.0
        """The seconds that the last exploration took."""

    def pace(self) -> float | None:
        """The seconds to wait between two calls of ``look``; None if the last call found the study finished. Reads
        nothing.
        """
        return self._pace(self._seconds)

    def progress_pace(self) -> float | None:
        """The seconds to wait between two calls of ``progressed``, which takes longer than ``look``; None as for
        ``pace``.
        """
        return self._pace(self._progress_seconds)

    def look(self) -> StudyNow:
        """Read the new events, and return the current state. Thread-safe."""
        with self._lock:
            began, first = time.perf_counter(), self._standing is None
            if self._ledger.whole(self._take) or self._standing is None:
                if self._counts.record.opened is None:
                    raise empty_ledger(self._path)
                self._standing, self._is_progressed = self._now(), False
                self._seconds = 0.0 if first else time.perf_counter() - began
            return self._standing

    def spans(self) -> pd.DataFrame:
        """A table of when trials waited, trained and were measured, in Unix seconds (``SPANS``). Thread-safe."""
        with self._lock:
            self.look()
            spans = [
                (each.trial, each.phase, each.began, each.until, reason_in_words(each.state))
                for each in self._phases.spans()
                if each.phase != "paused"
            ]
        return pd.DataFrame(spans, columns=list(SPANS))

    def scores(self) -> pd.DataFrame:
        """A table of the state, score and dev score of each trial so far, by number. Thread-safe.

        This is much faster than an exploration: only the rows of trials with new events are made again.
        """
        with self._lock:
            self.look()
            record = self._counts.record
            for number in record.trials.keys() - self._scores.keys() | self._stale:
                self._scores[number] = score_row(record, record.trials[number])
            self._stale.clear()
            rows = [self._scores[number] for number in record.trials]
        index = pd.Index(list(record.trials), name="trial")
        return pd.DataFrame(rows, index, ["state", "score", "dev"]).astype({"score": float, "dev": float})

    def ranked(self) -> list[int] | None:
        """The numbers of the trials with a score so far, the best first, if seeds race; None if scores alone rank
        trials. Thread-safe.
        """
        with self._lock:
            self.look()
            record = self._counts.record
            return [trial.number for trial in record.ranked()] if record.study.search.seeds_race else None

    def progressed(self) -> SearchSoFar:
        """The exploration of the search so far, and the rungs ahead of its training trials. Thread-safe.

        While the study runs, the exploration may lack the last events (``RECENT``): a section and its charts share one
        exploration.
        """
        with self._lock:
            over, began = self.look().state in OVER, time.perf_counter()
            recent = not over and began - self._progressed_at < RECENT + self._progress_seconds
            if self._progressed is None or not (self._is_progressed or recent):
                self._progressed, self._is_progressed = self._read(), True
                self._progressed_at = time.perf_counter()
                self._progress_seconds = self._progressed_at - began
            return self._progressed

    def _pace(self, seconds: float) -> float | None:
        over = self._standing is not None and self._standing.state == "finished"
        return None if over else max(EVERY, SHARE * seconds)

    def _take(self) -> bool:
        """Read and count the new events. Returns whether there were any."""
        if self._wrong is not None:
            raise self._wrong
        try:
            return self._count()
        except WrongEventError as error:
            self._wrong = UserError(f"{self._ledger.folder}: {error}")
            raise self._wrong from None

    def _count(self) -> bool:
        if self._standing is None and is_long(self._ledger):
            with uncollected():
                if self._begin():
                    return True
        found = False
        for event in self._news.events():
            found = True
            self._note(event)
            self._counts.apply(event, event.time)
        return found

    def _begin(self) -> bool:
        """Read a long ledger from its start. Plain reports are read as columns, which is faster than event by event,
        and other lines as events. If that is impossible, returns False and changes nothing.
        """
        news, told = Following(self._ledger.folder), list[Event]()
        lines = list(news.lines())
        record = columnar_record(lines, told.append)
        if record is None:
            return False
        self._news, self._counts = news, StudyCounts(record)
        last = events_of(lines[-1])
        for event in told if told[-1] == last[-1] else (*told, *last):
            self._note(event)
            self._counts.note(event, event.time)
        return True

    def _note(self, event: Event) -> None:
        """Note the facts of an event that the counts do not keep: its time, faults, usage, and where the study runs."""
        self._time = event.time
        self._phases.happened(event)
        if (number := getattr(event, "trial", None)) in self._scores:
            self._stale.add(number)
        self._since = self._since if isinstance(event, Ablated) else event.time
        match event:
            case Resumed():
                self._counts = StudyCounts(self._counts.record)  # the pace is measured anew when the study is resumed
            case Placed():
                self._placed = event
            case Retried(trial=number):
                self._faults.append(
                    ShownFault(event.time, number, reason_in_words(event.cause), event.message, again=True)
                )
            case Ended(trial=number) if event.reason in FAULTS:
                what = reason_in_words(event.reason)
                self._faults.append(ShownFault(event.time, number, what, event.message, again=False))
            case Used(trial=number):
                self._usage[number] = event.usage
            case _:
                pass

    def _now(self) -> StudyNow:
        counts, record = self._counts, self._counts.record
        training = self._phases.now("training")
        running = (record.trials[number] for number in training)
        best = counts.best
        return StudyNow(
            state="running" if counts.epochs and counts.state in ("", "starting workers") else counts.state,
            time=self._time,
            total=counts.total,
            ended=counts.ended,
            epochs=counts.epochs,
            per_minute=counts.per_minute(self._since),
            seconds_left=counts.seconds_left(self._since),
            levels=tuple(counts.levels()),
            running={
                each.number: (len(each.reports), ", ".join(differences(record, each)) or "the base") for each in running
            },
            waiting=len(self._phases.now("waiting")),
            measuring=tuple(self._phases.now("measuring")),
            usage={number: self._usage[number] for number in training if number in self._usage},
            faults=tuple(self._faults),
            placed=self._placed,
            measure=record.measure,
            trials=len(record.trials),
            best=None if best is None or best.score is None else (best.number, best.score),
            seconds=counts.seconds,
            enough=None if record.enough is None else record.enough.gain,
            hours=record.over,
            cut={}
            if record.over is None
            else cut_short((each.number, each.state, each.message) for each in record.trials.values()),
            identical=identical_trials(record.trials.values()),
        )

    def _read(self) -> SearchSoFar:
        search = StudyFrames.of(self._counts.record, self._path).exploration()
        search.curves()  # computed now, since pictures need it and the record will change
        return SearchSoFar(search, self._ahead())

    def _ahead(self) -> dict[int, tuple[Ahead, ...]] | None:
        """The rungs ahead of each training trial, by its number. None if the study has several objectives. No rungs are
        known for a scheduler of the user's own, whose code is not run here.
        """
        record, training = self._counts.record, self._phases.now("training")
        if len(record.study.search.objectives) > 1:
            return None
        if not training or isinstance(record.study.search.scheduler, OwnConfig):
            return dict.fromkeys(training, ())
        subject = replayed_scheduler(record)
        return {number: subject.ahead(number) for number in training}


FOLLOWED: Final = Shared[Path, Followed](16)


def followed(path: Path) -> Followed:
    """The follower of the study in a folder. All requests share it."""
    return FOLLOWED(path, lambda: Followed(path))
