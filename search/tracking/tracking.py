"""Every trial a run in MLflow, written behind the study's back.

A thread of its own gathers what happened for a moment and writes it in few calls: one for the
metrics, parameters and tags of a run, however many reports they came from. The ledger stays the
truth. Runs are found by their tags, so a later tracker writes what an earlier one could not, and
nothing twice.

SQL stores keep an infinite metric as the largest float of its sign (MLflow's own way), and NaN as NaN.
"""

import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path

from skipstack.data.basis.redaction import hide, redacted
from skipstack.search.ledger.events import Event
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.record.folder import StudyFolder
from skipstack.search.tracking.background import Background
from skipstack.search.tracking.connection import unflushed_sqlite
from skipstack.search.tracking.entry import STUDY
from skipstack.search.tracking.runs import ExpectedRuns
from skipstack.search.tracking.stores import artifacts_beside, database_file, experiment, is_folder
from skipstack.search.tracking.tables import lay_tables
from skipstack.search.tracking.views import views
from skipstack.search.tracking.writer import Writer

BATCH = 1000
"""Events that are turned into entries, at most, before these are written: memory does not grow with the past."""

COPY_EVERY = 60.0
"""Seconds between two copies of a ledger that grows, at least."""

COPY_SHARE = 50.0
"""And so many times as many as the last copy took: copying takes 2 % of the time of one thread, at most."""


class Tracker:
    """Hears events and writes them into MLflow. Never slows a trial, never raises into its path.

    ``past``: the ledger so far, from its first event; what MLflow lacks of it is written, once. It is gone through in
    the background, and never kept as a whole.
    ``private``: the store is an sqlite file of this study alone. The ledger can rebuild it, so commits
    do not wait for the disk: a killed process harms nothing, but after a power cut the file may have
    to be deleted before the study is resumed.

    ``folder``: of the study; artifacts lie there where the store does not say where. A store that is not private gets a
    copy of the ledger that lies there, from time to time and at the end.

    Make it once the other big libraries are imported: the thread imports mlflow, which takes seconds,
    and imports from two threads at once can meet half-made modules.
    """

    def __init__(self, uri: str, past: Iterable[Event], *, folder: Path | None = None, private: bool = False) -> None:
        hide(uri)
        self._uri = uri
        self._artifacts = artifacts_beside(uri, folder)
        self._private = private
        self._ledger = None if folder is None or private else Ledger(StudyFolder(folder).ledger)
        self._copy_next = time.monotonic() + COPY_EVERY
        self._past = past
        self._source: Iterator[Event] | None = None
        self._taken = 0
        self._heard: deque[Event] = deque()
        self._runs = ExpectedRuns("." if is_folder(uri) else "/")  # where a metric is a file, it can hold no others
        self._writer: Writer | None = None
        self._doubtful = False
        self._at_close = ExitStack()
        self._background = Background(self._work)
        self._background.start()

    def __call__(self, event: Event) -> None:
        """Hear an event; returns at once."""
        self._heard.append(event)

    def close(self) -> str | None:
        """Wait until everything is written, while there is progress; None, or one line on what is missing and why.

        No event may follow it.
        """
        trouble = self._background.close()
        self._at_close.close()
        if trouble is None and self._writer is not None and self._writer.without_files is not None:
            trouble = f"its artifacts: {self._writer.without_files}"
        if trouble is None:
            return None
        return unrecorded(self._uri, trouble)

    def _work(self, closing: bool) -> None:
        try:
            while self._take_in():
                self._write()
            self._copy_ledger(closing)
            if closing and self._doubtful:  # a request that was given up may have been carried out since
                writer = self._connected()
                writer.forget()
                writer.recall()
        except Exception:
            self._doubtful = True
            if self._writer is not None:
                self._writer.forget()
            raise

    def _copy_ledger(self, closing: bool) -> None:
        """Keep the ledger beside the runs, where they are not beside the ledger; seldom, while the study goes on."""
        now = time.monotonic()
        if self._ledger is None or self._writer is None or not (closing or now >= self._copy_next):
            return
        ledger = self._ledger
        self._writer.keep_ledger(lambda: ledger.whole(ledger.packed))
        self._background.advanced()
        self._copy_next = now + max(COPY_EVERY, COPY_SHARE * (time.monotonic() - now))

    def _take_in(self) -> bool:
        """Whether anything is to be written: what could not be, or else the next ``BATCH`` events, the past first."""
        pending = self._runs.pending
        while not pending and self._take_in_past():
            pass  # nothing came of these events
        if not pending and self._writer is not None:
            self._writer.caught_up()
        for _ in range(0 if pending else min(BATCH, len(self._heard))):
            self._runs.apply(self._heard[0])
            self._heard.popleft()
        return bool(pending)

    def _take_in_past(self) -> bool:
        """Take in the next ``BATCH`` events of the past, if any is left. A reading that fails goes on where it was."""
        if self._source is None:
            self._source = islice(self._past, self._taken, None)
        before = self._taken
        try:
            for event in islice(self._source, BATCH):
                self._runs.apply(event)
                self._taken += 1
        except Exception:
            self._source = None
            raise
        return self._taken > before

    def _connected(self) -> Writer:
        if self._writer is None:
            database = database_file(self._uri)
            if self._private and database is not None:
                lay_tables(database)
                self._at_close.enter_context(unflushed_sqlite())
            self._writer = Writer(self._uri, experiment(self._runs.experiment), self._runs.study_id, self._artifacts)
            self._background.advanced()
        return self._writer

    def _write(self) -> None:
        """Write all that is pending. Parents come first; a run that fails goes behind the others."""
        pending, writer, record = self._runs.pending, self._connected(), self._runs.record
        writer.recall()
        if STUDY in pending and record.opened is not None:
            writer.show(views(record, self._runs.study_id, round(1000 * record.opened.time)))
        writer.leave_out(pending)
        for key in sorted(pending, key=lambda key: (key != STUDY, key[1] is not None)):
            try:
                writer.write(key, pending[key])
            except Exception:
                pending[key] = pending.pop(key)
                raise
            del pending[key]
            self._background.advanced()


def unrecorded(uri: str, trouble: str) -> str:
    """One line on why the store lacks some of what happened, without secrets."""
    message = redacted(f"MLflow at {uri}: not everything is recorded ({trouble})")
    return f"{message}; resuming the study writes what is missing"
