"""Follows a study that another process runs: each look reads only the new lines of its ledger."""

import time
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from skipstack.dashboards.live.counts import Level, StudyCounts
from skipstack.dashboards.live.progress import differences
from skipstack.dashboards.reports.wording import reason_in_words
from skipstack.data.basis.collection import collection_put_off
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
from skipstack.search.study.record.phases import Phases
from skipstack.search.study.record.reading import is_long
from skipstack.search.study.record.replayed_scheduler import replayed_scheduler
from skipstack.search.study.record.study_record import StudyRecord

if TYPE_CHECKING:
    from skipstack.search.analysis.exploration.exploration import Exploration

SPANS = ("trial", "phase", "began", "until", "state")
"""The columns of ``Followed.spans``."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of a trial, with its time in Unix seconds, and whether the trial is retried."""

    time: float
    trial: int
    what: str
    message: str
    again: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """The state of a study at the last event that was read, at ``time`` in Unix seconds.

    ``per_minute`` and ``seconds_left`` follow the pace since the study was last started or resumed; None if it is not
    known. ``trials``: how many were begun. ``best``: the number of the best trial and its score. ``running``: by
    training trial, its last epoch and its differences from the base; ``waiting``: how many wait for a worker;
    ``measuring``: those that are measured on test.
    ``usage``: by trial, the last reported resource usage of its worker while the study was followed. ``seconds``: of
    training. ``cut``: where the study's ``hours`` were over, the trials that ended because of that, by how they ended.
    """

    state: str
    time: float
    total: int
    ended: int
    epochs: int
    per_minute: float | None
    seconds_left: float | None
    levels: tuple[Level, ...]
    running: dict[int, tuple[int, str]]
    waiting: int
    measuring: tuple[int, ...]
    usage: dict[int, Usage]
    faults: tuple[Fault, ...]
    placed: Placed | None
    measure: Measure
    trials: int
    best: tuple[int, float] | None
    seconds: float
    enough: Gain | None
    hours: HoursOver | None
    cut: dict[str, list[int]]


@dataclass(frozen=True, slots=True)
class Progressed:
    """The search of a running study so far, and what lies ahead of the trials that train; None where no single score
    decides.
    """

    search: "Exploration"
    ahead: dict[int, tuple[Ahead, ...]] | None


class Followed:
    """Follows the study in a folder. Raises UserError if there is none or it is damaged, as every look does.

    A look reads the new lines of the ledger alone, and looks again at the trials that they are about. The pictures are
    made of all trials, so they cost more the longer the study is.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._ledger = Ledger(StudyFolder.existing(path).ledger)
        self._news = Following(self._ledger.folder)
        self._lock = Lock()
        self._counts = StudyCounts(StudyRecord())
        self._time = 0.0
        self._since = 0.0
        """When something last happened to a trial of the search: an ablation has no part in its pace."""
        self._phases = Phases()
        self._faults: list[Fault] = []
        self._usage: dict[int, Usage] = {}
        self._placed: Placed | None = None
        self._standing: Standing | None = None
        self._frames: StudyFrames | None = None
        """The frames of the events read so far; new events reset them to None until they are asked for again."""
        self._progressed: Progressed | None = None
        self._scores: dict[int, ScoreRow] = {}
        self._stale: set[int] = set()
        """The trials of which there is news since ``scores`` was last asked for."""
        self.seconds = 0.0
        """The duration of the last look that found new events."""
        self.progress_seconds = 0.0
        """The duration of the last reading of the search."""

    def look(self) -> Standing:
        """The current state. Thread-safe."""
        with self._lock:
            return self._look()

    def spans(self) -> pd.DataFrame:
        """When trials waited, trained and were measured (``SPANS``), in Unix seconds. Thread-safe."""
        with self._lock:
            self._look()
            spans = [
                (each.trial, each.phase, each.began, each.until, reason_in_words(each.state))
                for each in self._phases.spans()
                if each.phase != "paused"
            ]
        return pd.DataFrame(spans, columns=list(SPANS))

    def scores(self) -> pd.DataFrame:
        """The state, score and dev score of each trial so far, as in the frame of trials, long before the search is
        described. A row is made again where there is news of its trial. Thread-safe.
        """
        with self._lock:
            self._look()
            record = self._counts.record
            for number in record.trials.keys() - self._scores.keys() | self._stale:
                self._scores[number] = score_row(record, record.trials[number])
            self._stale.clear()
            rows = [self._scores[number] for number in record.trials]
        index = pd.Index(list(record.trials), name="trial")
        return pd.DataFrame(rows, index, ["state", "score", "dev"])

    def progressed(self) -> Progressed:
        """The search so far, for pictures. Thread-safe."""
        with self._lock:
            self._look()
            if self._progressed is None:
                began = time.perf_counter()
                self._progressed = self._read()
                self.progress_seconds = time.perf_counter() - began
            return self._progressed

    def _look(self) -> Standing:
        began = time.perf_counter()
        if self._ledger.whole(self._take) or self._standing is None:
            self._standing, self._frames, self._progressed = self._now(), None, None
            self.seconds = time.perf_counter() - began
        return self._standing

    def _take(self) -> bool:
        """Take in what is new; whether there was anything."""
        if self._standing is None and is_long(self._ledger):
            with collection_put_off():
                if self._begin():
                    return True
        found = False
        for event in self._news.events():
            found = True
            self._note(event)
            self._counts.apply(event, event.time)
        return found

    def _begin(self) -> bool:
        """Read a long ledger: its record as columns, and what is no plain report event by event. False where it must be
        read as events.
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
        """Note what the counts do not keep of an event: times, faults, usage and placement."""
        self._time = event.time
        self._phases.happened(event)
        if (number := getattr(event, "trial", None)) in self._scores:
            self._stale.add(number)
        self._since = self._since if isinstance(event, Ablated) else event.time
        match event:
            case Resumed():
                self._counts = StudyCounts(self._counts.record)  # the pace starts again with a new driver
            case Placed():
                self._placed = event
            case Retried(trial=number):
                self._faults.append(Fault(event.time, number, reason_in_words(event.cause), event.message, again=True))
            case Ended(trial=number) if event.reason in FAULTS:
                what = reason_in_words(event.reason)
                self._faults.append(Fault(event.time, number, what, event.message, again=False))
            case Used(trial=number):
                self._usage[number] = event.usage
            case _:
                pass

    def _now(self) -> Standing:
        counts, record = self._counts, self._counts.record
        training = self._phases.now("training")
        running = (record.trials[number] for number in training)
        best = counts.best
        return Standing(
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
        )

    def _read(self) -> Progressed:
        search = self._frames_now().exploration()
        search.curves()  # read now what pictures need, since the record will change
        return Progressed(search, self._ahead())

    def _frames_now(self) -> StudyFrames:
        if self._frames is None:
            self._frames = StudyFrames.of(self._counts.record, self._path)
        return self._frames

    def _ahead(self) -> dict[int, tuple[Ahead, ...]] | None:
        """The comparisons at the rungs ahead of each trial that trains; None for several objectives."""
        record, training = self._counts.record, self._phases.now("training")
        if len(record.study.search.objectives) > 1:
            return None
        if not training:
            return {}
        subject = replayed_scheduler(record)
        return {number: subject.ahead(number) for number in training}


@st.cache_resource(max_entries=16, show_spinner=False)
def followed(path: str) -> Followed:
    """The follower of the study in a folder, shared by all sessions."""
    return Followed(Path(path))
