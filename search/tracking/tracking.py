"""Every trial a run in MLflow, written behind the study's back. The only file that imports mlflow.

A thread of its own gathers what happened for a moment and writes it in few calls: one for the
metrics, parameters and tags of a run, however many reports they came from. The ledger stays the
truth. Runs are found by their tags, so a later tracker writes what an earlier one could not, and
nothing twice.

SQL stores keep an infinite metric as the largest float of its sign (MLflow's own way), and NaN as NaN.
"""

import logging
import os
import sqlite3
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from typing import TYPE_CHECKING

from skipstack.data.basis.redaction import hide, redacted
from skipstack.search.ledger.events import Event
from skipstack.search.tracking.background import Background
from skipstack.search.tracking.runs import STUDY, Entry, ExpectedRuns, RunKey
from skipstack.search.tracking.stores import experiment, is_folder

if TYPE_CHECKING:
    from mlflow.entities import Run

# Read by MLflow when it is imported or calls a server. A study is its owner's affair, stdout carries the
# report, and our own thread is who tries again.
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")
os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "30")

BATCH = 1000
"""Events that are turned into entries, at most, before these are written: memory does not grow with the past."""

PAGE = 200
"""Runs that are looked up at once: a thousand of them take 100 MB."""


class Tracker:
    """Hears events and writes them into MLflow. Never slows a trial, never raises into its path.

    ``past``: the ledger so far, from its first event; what MLflow lacks of it is written, once. It is gone through in
    the background, and never kept as a whole.
    ``private``: the store is an sqlite file of this study alone. The ledger can rebuild it, so commits
    do not wait for the disk: a killed process harms nothing, but after a power cut the file may have
    to be deleted before the study is resumed.

    Make it once the other big libraries are imported: the thread imports mlflow, which takes seconds,
    and imports from two threads at once can meet half-made modules.
    """

    def __init__(self, uri: str, past: Iterable[Event], *, private: bool = False) -> None:
        hide(uri)
        self._uri = uri
        self._private = private
        self._past = past
        self._source: Iterator[Event] | None = None
        self._taken = 0
        self._heard: deque[Event] = deque()
        self._runs = ExpectedRuns("." if is_folder(uri) else "/")  # where a metric is a file, it can hold no others
        self._writer: _Writer | None = None
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
        if trouble is None:
            return None
        message = redacted(f"MLflow at {self._uri}: not everything is recorded ({trouble})")
        return f"{message}; resuming the study writes what is missing"

    def _work(self, closing: bool) -> None:
        try:
            while self._take_in():
                self._write()
            if closing and self._doubtful:  # a request that was given up may have been carried out since
                writer = self._connected()
                writer.forget()
                writer.recall()
        except Exception:
            self._doubtful = True
            if self._writer is not None:
                self._writer.forget()
            raise

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

    def _connected(self) -> "_Writer":
        if self._writer is None:
            if self._private:
                self._at_close.enter_context(_unflushed_sqlite())
            self._writer = _Writer(self._uri, experiment(self._runs.experiment), self._runs.study_id)
            self._background.advanced()
        return self._writer

    def _write(self) -> None:
        """Write all that is pending. Parents come first; a run that fails goes behind the others."""
        pending, writer = self._runs.pending, self._connected()
        writer.recall()
        writer.leave_out(pending)
        for key in sorted(pending, key=lambda key: (key != STUDY, key[1] is not None)):
            try:
                writer.write(key, pending[key])
            except Exception:
                pending[key] = pending.pop(key)
                raise
            del pending[key]
            self._background.advanced()


class _Writer:
    """The runs of one study in MLflow."""

    def __init__(self, uri: str, experiment: str, study_id: str) -> None:
        # Here and not above: importing it takes seconds, which the study need not wait for.
        from mlflow import MlflowClient

        for name in ("mlflow", "alembic", "sqlalchemy"):
            logging.getLogger(name).setLevel(logging.CRITICAL)  # what fails we tell ourselves, without secrets
        self._client = MlflowClient(uri)
        self._experiment = experiment
        self._experiment_id = ""
        self._study_id = study_id
        self._run_ids: dict[RunKey, str] | None = None
        # What the store had when it was looked at: of trials that are over the names of their metrics, else the run.
        self._whole: dict[RunKey, frozenset[str]] = {}
        self._partial: dict[RunKey, tuple[Run, set[tuple[str, int]]]] = {}

    def forget(self) -> None:
        """A call failed, so nobody knows what was written: the next ``recall`` looks."""
        self._run_ids = None

    def recall(self) -> None:
        """Find this study's runs, and what they have, unless they are known."""
        if self._run_ids is not None:
            return
        found = self._client.get_experiment_by_name(self._experiment)
        self._experiment_id = found.experiment_id if found else self._client.create_experiment(self._experiment)
        self._whole, self._partial = {}, {}
        run_ids: dict[RunKey, str] = {}
        empty: list[tuple[RunKey, Run]] = []
        names: dict[frozenset[str], frozenset[str]] = {}
        for run in self._search():
            key = (_number(run, "skipstack.ablation"), _number(run, "skipstack.trial"))
            if not run.data.params:
                empty.append((key, run))
            elif key[1] is not None and run.info.status in ("FINISHED", "FAILED"):
                own = frozenset(run.data.metrics)
                run_ids[key], self._whole[key] = run.info.run_id, names.setdefault(own, own)
            else:
                run_ids[key], self._partial[key] = run.info.run_id, (run, self._points(run))
        for key, run in empty:
            if key in run_ids:  # made by a request that was given up, and made again
                self._client.delete_run(run.info.run_id)
            else:
                run_ids[key], self._partial[key] = run.info.run_id, (run, set())
        self._run_ids = run_ids

    def leave_out(self, pending: dict[RunKey, Entry]) -> None:
        """Take out of ``pending`` what the store had. A trial that is over has every step of a metric or none of it."""
        for key, entry in pending.items():
            if key in self._whole:
                entry.tags, entry.params, entry.status = {}, {}, None
                entry.metrics = {at: value for at, value in entry.metrics.items() if at[0] not in self._whole[key]}
            elif key in self._partial:
                _leave_out(entry, *self._partial[key])

    def caught_up(self) -> None:
        """What happens from now on, the store cannot have."""
        self._whole, self._partial = {}, {}

    def write(self, key: RunKey, entry: Entry) -> None:
        """Make the run if need be; write the entry, the status last: a run that ended has all its metrics."""
        from mlflow.entities import Metric, Param, RunTag

        assert self._run_ids is not None, "the runs are not known"
        if key in self._run_ids and not (entry.tags or entry.params or entry.metrics or entry.status):
            return
        tags, made = entry.tags, key not in self._run_ids
        if made:
            if entry.start is None:
                return  # the user deleted the run meanwhile
            above = (key[0], None) if key[1] is not None else STUDY
            parent = {"mlflow.parentRunId": self._run_ids[above]} if above in self._run_ids else {}
            run = self._client.create_run(
                self._experiment_id, start_time=entry.start, tags=tags | parent, run_name=entry.name
            )
            self._run_ids[key] = run.info.run_id
            tags = {}
        run_id = self._run_ids[key]
        self._client.log_batch(
            run_id,
            metrics=[Metric(name, value, at, step) for (name, step), (value, at) in entry.metrics.items()],
            params=[Param(name, value) for name, value in entry.params.items()],
            tags=[RunTag(name, value) for name, value in tags.items()],
        )
        if entry.status == "RUNNING" and not made:
            self._client.update_run(run_id, entry.status)
        elif entry.status is not None and entry.end is not None:
            self._client.set_terminated(run_id, entry.status, entry.end)

    def _search(self) -> Iterator["Run"]:
        ours, token = f"tags.`skipstack.study` = '{self._study_id}'", None
        while True:
            page = self._client.search_runs([self._experiment_id], ours, max_results=PAGE, page_token=token)
            yield from page
            token = page.token
            if not token:
                return

    def _points(self, run: "Run") -> set[tuple[str, int]]:
        """The metrics of a run, each with all its steps."""
        histories = [(name, self._client.get_metric_history(run.info.run_id, name)) for name in run.data.metrics]
        return {(name, point.step) for name, history in histories for point in history}


def _number(run: "Run", tag: str) -> int | None:
    """The number that a tag has; None where the run has no such tag."""
    text = run.data.tags.get(tag)
    return None if text is None else int(text)


def _leave_out(entry: Entry, run: "Run", points: set[tuple[str, int]]) -> None:
    """Take out of an entry what the run has."""
    entry.tags = {name: value for name, value in entry.tags.items() if run.data.tags.get(name) != value}
    entry.params = {name: value for name, value in entry.params.items() if name not in run.data.params}
    entry.metrics = {point: value for point, value in entry.metrics.items() if point not in points}
    if entry.status == run.info.status and entry.end in (None, run.info.end_time):
        entry.status = None


@contextmanager
def _unflushed_sqlite() -> Iterator[None]:
    """Sqlite connections that this thread opens meanwhile do not wait for the disk: 50 ms a trial instead of 130."""
    from sqlalchemy import Engine, event

    thread = threading.get_ident()

    def relax(connection: object, _: object) -> None:
        if isinstance(connection, sqlite3.Connection) and threading.get_ident() == thread:
            connection.execute("PRAGMA synchronous = OFF")

    event.listen(Engine, "connect", relax)
    try:
        yield
    finally:
        event.remove(Engine, "connect", relax)
