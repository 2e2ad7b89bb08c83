"""Records every trial as a run in MLflow: a loop reads new events from the ledger and writes them in batches.

A batch needs few requests, since all metrics, parameters and tags of a run are written in one request. The ledger
remains the authoritative record. Runs are found in the store by their tags. A later loop therefore writes what an
earlier loop could not write, and writes nothing twice.

MLflow's SQL stores keep an infinite metric as the largest float of its sign, and NaN as NaN.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import cached_property
from itertools import islice
from pathlib import Path

from skipstack.data.basis.redaction import hide, redacted
from skipstack.search.ledger.events import Event
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.publishing.tracking.entry import STUDY, is_whole
from skipstack.search.publishing.tracking.private_store import lay_tables, unflushed_sqlite
from skipstack.search.publishing.tracking.retry_loop import RetryLoop
from skipstack.search.publishing.tracking.runs import ExpectedRuns, experiment_of
from skipstack.search.publishing.tracking.stores import artifacts_beside, database_file, is_folder
from skipstack.search.publishing.tracking.views import views
from skipstack.search.publishing.tracking.writer import Writer
from skipstack.search.study.record.folder import StudyFolder

BATCH = 1000
"""The maximum number of events that are converted before their entries are written, to limit memory."""

COPY_EVERY = 60.0
"""The minimum number of seconds between two copies of a growing ledger."""

COPY_SHARE = 50.0
"""The minimum pause after a copy of the ledger, as a multiple of the time that copying took. Copying thus takes at most
2 % of the time of one thread.
"""


class Recorder:
    """Writes the events of a study into the store at ``uri``. Call ``run`` to write all of them.

    ``news``: returns the study's events that it has not returned before. ``loop``: repeats failed writing, and says
    when no further events follow.

    ``folder``: the study's folder, or None. Artifacts go there if the store does not determine their location. Unless
    the store is private, the folder's ledger is copied into the store from time to time and at the end.

    ``private``: whether the store is an sqlite file for this study alone. Such a file can be rebuilt from the ledger,
    so commits do not wait for the disk. After a power cut, the file may have to be deleted before the study is resumed;
    a killed process does no harm.

    ``compare``: whether all events are compared with the content of the store. If not, a mark in the study's run gives
    the number of events that the store has, and these events are not compared.
    """

    def __init__(
        self,
        uri: str,
        news: Callable[[], Iterator[Event]],
        loop: RetryLoop,
        *,
        folder: Path | None = None,
        private: bool = False,
        compare: bool = False,
    ) -> None:
        hide(uri)
        self._uri = uri
        self._artifacts = artifacts_beside(uri, folder)
        self._folder = folder
        self._database = database_file(uri) if private else None
        self._ledger = None if folder is None or private else Ledger(StudyFolder(folder).ledger)
        self._copy_next = time.monotonic() + COPY_EVERY
        self._news = news
        self._reading: Iterator[Event] | None = None
        self._read_all = False
        self._batch: deque[Event] = deque()
        self._applied = 0
        self._compare = compare
        self._runs = ExpectedRuns("." if is_folder(uri) else "/")  # in a folder store, a metric is a file
        self._writer: Writer | None = None
        self._doubtful = False
        self._loop = loop

    def run(self) -> str | None:
        """Write events until no further ones follow (the owner of the loop then waits for the end) and all are written.
        Returns None, or a line on the content that the store lacks if writing was given up or files were refused.
        """
        with unflushed_sqlite() if self._database is not None else nullcontext():
            trouble = self._loop.run(self._step)
        if trouble is None and self._writer is not None and self._writer.without_files is not None:
            trouble = f"its artifacts: {self._writer.without_files}"
        return None if trouble is None else unrecorded(self._uri, trouble)

    def _step(self, closing: bool) -> None:
        self._read_all = False
        try:
            while self._take_in():
                self._write()
            self._copy_ledger(closing)
            if closing and self._writer is not None and self._applied > self._written:
                self._writer.mark(self._applied)
            # An abandoned request may have been carried out late. ``recall`` deletes the duplicate runs that it made.
            if closing and self._doubtful:
                writer = self._connected()
                writer.forget()
                writer.recall()
        except Exception:
            self._doubtful = True
            if self._writer is not None:
                self._writer.forget()
            raise

    def _take_in(self) -> bool:
        """Convert the next events into entries, unless unwritten entries are left. Entries are dropped if, according to
        the mark, the store has their events already. Returns whether there are entries to write.
        """
        pending = self._runs.pending
        while not pending and self._read():
            while self._batch:
                self._runs.apply(self._batch[0])
                self._batch.popleft()
                self._applied += 1
                if self._applied <= self._written:
                    pending.clear()
        if not pending and self._writer is not None:
            self._writer.caught_up()
        return bool(pending)

    def _read(self) -> bool:
        """Read the next batch of events, and return whether there are any. Events that are appended to the ledger
        meanwhile are left for the next step. After a failure, the next call continues where the reading stopped.
        """
        if self._read_all:
            return False
        if self._reading is None:
            self._reading = self._news()
        try:
            self._batch.extend(islice(self._reading, BATCH - len(self._batch)))
        except Exception:
            self._reading = None
            raise
        if len(self._batch) < BATCH:
            self._reading, self._read_all = None, True
        return bool(self._batch)

    @cached_property
    def _written(self) -> int:
        """The number of events that are already in the store, according to the mark in the study's run. 0 if all events
        are to be compared with the store. Read this only after the first event was applied: it identifies the study.
        """
        return 0 if self._compare else self._connected().marked()

    def _connected(self) -> Writer:
        if self._writer is None:
            if self._database is not None:
                lay_tables(self._database)
            experiment = experiment_of(self._runs.record.study)
            self._writer = Writer(self._uri, experiment, self._runs.study_id, self._artifacts, self._folder)
            self._loop.progressed()
        return self._writer

    def _write(self) -> None:
        """Write pending entries, parent runs first. If an entry cannot be written, it is moved to the end, and the
        error is raised.
        """
        pending, writer, record = self._runs.pending, self._connected(), self._runs.record
        writer.recall()
        if any(is_whole(key) for key in pending):
            writer.show(views(record, self._runs.study_id))
        for entry in pending.values():
            entry.fit()
        writer.leave_out(pending)
        for key in sorted(pending, key=lambda key: (key != STUDY, not is_whole(key))):
            try:
                writer.write(key, pending[key])
            except Exception:
                pending[key] = pending.pop(key)
                raise
            del pending[key]
            self._loop.progressed()

    def _copy_ledger(self, closing: bool) -> None:
        """Copy the ledger into the store. Before the end, do so only if ``COPY_EVERY`` and ``COPY_SHARE`` allow it."""
        now = time.monotonic()
        if self._ledger is None or self._writer is None or not (closing or now >= self._copy_next):
            return
        ledger = self._ledger
        self._writer.keep_ledger(lambda: ledger.whole(ledger.packed))
        self._loop.progressed()
        self._copy_next = now + max(COPY_EVERY, COPY_SHARE * (time.monotonic() - now))


def unrecorded(uri: str, trouble: str) -> str:
    """Return a line that tells the user, without secrets, why the store lacks events."""
    message = redacted(f"MLflow at {uri}: not everything is recorded ({trouble})")
    return f"{message}; resuming the study writes what is missing"
