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
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from data.errors import UserError, unknown
from data.redaction import hide, redacted
from search.background import Background
from search.events import Event
from search.runs import STUDY, Entry, RunKey, StudyRuns

if TYPE_CHECKING:
    from mlflow.entities import Run

# Read by MLflow when it is imported or calls a server. A study is its owner's affair, stdout carries the
# report, and our own thread is who tries again.
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")
os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "30")

SCHEMES = ("sqlite", "http", "https", "postgresql", "mysql", "mssql", "databricks")
"""The kinds of store that runs can be written to."""


class Tracker:
    """Hears events and writes them into MLflow. Never slows a trial, never raises into its path.

    ``past``: the ledger so far, from its first event; what MLflow lacks of it is written, once.
    ``private``: the store is an sqlite file of this study alone. The ledger can rebuild it, so commits
    do not wait for the disk: a killed process harms nothing, but after a power cut the file may have
    to be deleted before the study is resumed.

    Make it once the other big libraries are imported: the thread imports mlflow, which takes seconds,
    and imports from two threads at once can meet half-made modules.
    """

    def __init__(self, uri: str, past: Sequence[Event], *, private: bool = False) -> None:
        hide(uri)
        self._uri = uri
        self._private = private
        self._heard = deque(past)
        self._runs = StudyRuns()
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

        Nothing may be told after it.
        """
        trouble = self._background.close()
        self._at_close.close()
        if trouble is None:
            return None
        message = redacted(f"MLflow at {self._uri}: not everything is recorded ({trouble})")
        return f"{message}; resuming the study writes what is missing"

    def _work(self, closing: bool) -> None:
        while self._heard:
            self._runs.apply(self._heard[0])
            self._heard.popleft()
        try:
            self._write(closing)
        except Exception:
            self._doubtful = True
            if self._writer is not None:
                self._writer.forget()
            raise

    def _write(self, closing: bool) -> None:
        """Write all that is pending. The study's run comes first; a run that fails goes behind the others."""
        pending = self._runs.pending
        if not pending and not (closing and self._doubtful):
            return
        if self._writer is None:
            if self._private:
                self._at_close.enter_context(_unflushed_sqlite())
            self._writer = _Writer(self._uri, self._runs.experiment, self._runs.study_id)
            self._background.advanced()
        self._writer.recall(pending)
        for key in sorted(pending, key=lambda key: key is not STUDY):
            try:
                self._writer.write(key, pending[key])
            except Exception:
                pending[key] = pending.pop(key)
                raise
            del pending[key]
            self._background.advanced()
        if closing and self._doubtful:  # a request that was given up may have been carried out since
            self._writer.forget()
            self._writer.recall(pending)


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

    def forget(self) -> None:
        """A call failed, so nobody knows what was written: the next ``recall`` looks."""
        self._run_ids = None

    def recall(self, pending: dict[RunKey, Entry]) -> None:
        """Find this study's runs, unless they are known, and take out of ``pending`` what they have."""
        if self._run_ids is not None:
            return
        found = self._client.get_experiment_by_name(self._experiment)
        self._experiment_id = found.experiment_id if found else self._client.create_experiment(self._experiment)
        run_ids: dict[RunKey, str] = {}
        for run in sorted(self._search(), key=lambda run: -len(run.data.params)):
            trial = run.data.tags.get("skipstack.trial")
            key = STUDY if trial is None else int(trial)
            if key in run_ids:  # made by a request that was given up, and made again: it is empty
                self._client.delete_run(run.info.run_id)
                continue
            run_ids[key] = run.info.run_id
            if key in pending:
                self._leave_out(pending[key], run, key)
        self._run_ids = run_ids

    def write(self, key: RunKey, entry: Entry) -> None:
        """Make the run if need be; write the entry, the status last: a run that ended has all its metrics."""
        from mlflow.entities import Metric, Param, RunTag

        assert self._run_ids is not None, "the runs are not known"
        tags, made = entry.tags, key not in self._run_ids
        if made:
            if entry.start is None:
                return  # the user deleted the run meanwhile
            parent = {"mlflow.parentRunId": self._run_ids[STUDY]} if STUDY in self._run_ids else {}
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
            page = self._client.search_runs([self._experiment_id], ours, max_results=1000, page_token=token)
            yield from page
            token = page.token
            if not token:
                return

    def _leave_out(self, entry: Entry, run: "Run", key: RunKey) -> None:
        """Take out of an entry what the run has. A trial that ended has every step of the metrics it has at all."""
        data, status = run.data, run.info.status
        entry.tags = {name: value for name, value in entry.tags.items() if data.tags.get(name) != value}
        entry.params = {name: value for name, value in entry.params.items() if name not in data.params}
        names = {name for name, _ in entry.metrics} & data.metrics.keys()
        if key is not STUDY and status in ("FINISHED", "FAILED"):
            there = {point for point in entry.metrics if point[0] in names}
        else:
            there = {
                (name, point.step) for name in names for point in self._client.get_metric_history(run.info.run_id, name)
            }
        entry.metrics = {point: value for point, value in entry.metrics.items() if point not in there}
        if entry.status == status and entry.end in (None, run.info.end_time):
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


def checked_uri(uri: str) -> str:
    """``uri``, if it names a kind of store that MLflow has; it is not contacted. Raises UserError otherwise."""
    hide(uri)
    scheme = uri.partition("://")[0].partition("+")[0]
    if "://" not in uri:
        allowed = ", ".join(SCHEMES)
        raise UserError(f"--tracking-uri: got no kind of store before :// (allowed: {allowed}, as in http://HOST:5000)")
    if scheme not in SCHEMES:
        raise UserError(f"--tracking-uri: {unknown('kind of store', scheme, SCHEMES)}, as in sqlite:////PATH/mlflow.db")
    return uri
