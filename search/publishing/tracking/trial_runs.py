"""Gives a user's function the MLflow run to which its own MLflow calls write.

For a trial with a single function call, this is the trial's run, to which the study writes as well. If a trial has
several calls, each call has a run below the trial's run, so that equal names in different calls do not collide. The
name of such a run has the call's seed and replicate.
"""

import os
import sqlite3
import sys
import threading
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self, final

from skipstack.data.basis.errors import one_line
from skipstack.data.basis.parts import is_installed, missing
from skipstack.data.basis.redaction import redacted, without_secrets
from skipstack.search.execution.workers.reporting import ReportError, TrackedRun
from skipstack.search.publishing.tracking.client import connected, runs_in, search_runs
from skipstack.search.publishing.tracking.entry import key_of, of_study
from skipstack.search.publishing.tracking.stores import URI, database_file
from skipstack.search.study.task import TrialTask

if TYPE_CHECKING:
    from mlflow.entities import Run

CALL: Final = "skipstack.call"
"""The tag that names the function call, such as ``seed 1``, in a run below a trial's run."""

PATIENCE: Final = 180.0
"""The number of seconds to wait for the study to create a trial's run."""

ASK_EVERY: Final = 0.2
"""The seconds between two checks for a trial's run."""

STACK: Final = "_active_run_stack"
"""The private name of MLflow's stack of this thread's active runs (docs/decisions/private-names.md)."""

_lock = threading.Lock()
_active = 0
"""The number of the study's active runs in this process. Unless it is 0, MLflow is set to the study's store."""

_before: str | None = None
"""The value of ``MLFLOW_TRACKING_URI`` before the first active run began; None if it was not set."""


@final
@dataclass(frozen=True, slots=True)
class TrialRuns:
    """Gives the functions of a study their MLflow runs. ``uri``: the URI of the store. ``experiment``: the name of the
    study's experiment. ``study_id``: the id of the study. ``ablation``: the number of the ablation; None for the
    search.
    """

    uri: str
    experiment: str
    study_id: str
    ablation: int | None = None

    def __call__(self, task: TrialTask, call: int) -> TrackedRun:
        """Return the run of one call of a trial's function. The store is not contacted yet."""
        return CallRun(self, task, call)


@final
class CallRun(TrackedRun):
    """The MLflow run of one ``call`` of a trial's function. ``begin`` makes the run active; ``end`` undoes that."""

    def __init__(self, runs: TrialRuns, task: TrialTask, call: int) -> None:
        self._runs = runs
        self._trial = task.number
        self._own = len(task.seeds) == 1
        self._words = task.replicates.words(call)
        self._id: str | None = None
        self._is_active = False

    @property
    def id(self) -> str:
        """The run's id in MLflow. The first use waits until the study has created the trial's run. Raises ReportError
        if the store cannot be reached, or if the trial's run does not appear.
        """
        if self._id is None:
            self._check_reachable()
            run = self._trial_s_run()
            try:
                self._id = str(run.info.run_id) if self._own else self._below(run)
            except Exception as error:
                raise self._refused(one_line(error)) from error
        return self._id

    def begin(self) -> Self:
        """Make this run active in the current thread, unless it already is. Raises ReportError if MLflow refuses."""
        run_id = self.id
        if not self._is_active:
            import mlflow

            _set_store(self._runs.uri)
            try:
                mlflow.start_run(run_id=run_id)
            except Exception as error:
                _reset_store()
                raise ReportError(
                    redacted(
                        f"report.mlflow_run: MLflow says: {one_line(error)} (allowed: where this thread has no other "
                        "active run, and mlflow.set_experiment has set no other experiment)"
                    )
                ) from error
            self._is_active = True
        return self

    def end(self, *, failed: bool = False) -> None:
        """Make this run inactive. Call this in the thread that called ``begin``. A trial's own run stays open in
        MLflow, since the study ends it. A run below a trial's run is ended in MLflow, with the status FAILED if
        ``failed``, otherwise FINISHED; ``begin`` opens it again.
        """
        if not self._is_active:
            return
        self._is_active = False
        try:
            if self._own:
                _leave_active(self.id)
            else:
                _end_active(self.id, "FAILED" if failed else "FINISHED")
        finally:
            _reset_store()

    def returned(self, *, failed: bool = False) -> None:
        """End this run as ``end`` does, and then all runs that the call has left active in its thread."""
        self.end(failed=failed)
        if "mlflow" in sys.modules:  # the function may have used it
            import mlflow

            while mlflow.active_run() is not None:
                mlflow.end_run("FAILED" if failed else "FINISHED")

    def _check_reachable(self) -> None:
        if not is_installed("mlflow"):
            raise ReportError(str(missing("mlflow", "report.mlflow_run")))
        database = database_file(self._runs.uri)
        if database is not None and not database.parent.is_dir():
            raise ReportError(
                f"report.mlflow_run: {without_secrets(self._runs.uri)} is a file that this machine does not see "
                "(allowed: a study with tracking_uri= of a server that all machines reach)"
            )

    def _trial_s_run(self) -> "Run":
        """Wait for the trial's run, which another process creates. Raises ReportError after ``PATIENCE`` seconds."""
        until, trouble = time.monotonic() + PATIENCE, "the study has not begun it"
        while True:
            try:
                if (run := self._found()) is not None:
                    return run
            except Exception as error:  # noqa: BLE001 (the store may be about to be created, or fail only for a moment)
                trouble = one_line(error)
            if time.monotonic() > until:
                raise self._refused(f"no run of trial {self._trial} after {PATIENCE:g} s ({trouble})")
            time.sleep(ASK_EVERY)

    def _found(self) -> "Run | None":
        """Find the run of the trial. None if the run does not exist, or has no parameters yet."""
        database = database_file(self._runs.uri)
        if database is not None and not _has_experiment(database, self._runs.experiment):
            return None
        client, key = connected(self._runs.uri), (self._runs.ablation, self._trial)
        having = f"{of_study(self._runs.study_id)} AND tags.`skipstack.trial` = '{self._trial}'"
        runs = runs_in(client, self._runs.experiment, having)
        return next((run for run in runs if key_of(run) == key and run.data.params), None)

    def _below(self, trial: "Run") -> str:
        """Return the id of this call's run below the trial's run, and create the run if it does not exist."""
        client = connected(self._runs.uri)
        above = f"tags.mlflow.parentRunId = '{trial.info.run_id}' AND tags.`{CALL}` = '{self._words}'"
        for run in search_runs(client, [trial.info.experiment_id], above):
            return str(run.info.run_id)
        tags = {"mlflow.parentRunId": trial.info.run_id, CALL: self._words}
        made = client.create_run(trial.info.experiment_id, tags=tags, run_name=f"{trial.info.run_name}, {self._words}")
        return str(made.info.run_id)

    def _refused(self, why: str) -> ReportError:
        return ReportError(
            redacted(
                f"report.mlflow_run: MLflow at {without_secrets(self._runs.uri)}: {why} (allowed: a store that this "
                "machine reaches, by tracking_uri= of the study)"
            )
        )


def _has_experiment(database: Path, name: str) -> bool:
    """Whether an sqlite store has the experiment called ``name``. The file is read directly: MLflow would create
    missing tables, perhaps at the same time as the process that records the study.
    """
    try:
        with closing(sqlite3.connect(f"{database.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            return connection.execute("SELECT 1 FROM experiments WHERE name = ?", [name]).fetchone() is not None
    except sqlite3.OperationalError:  # there is no such file or table yet
        return False


def _set_store(uri: str) -> None:
    """Set MLflow to the study's store, and count an active run. Raises ReportError if another store is in use."""
    global _active, _before
    import mlflow

    with _lock:
        if _active and mlflow.get_tracking_uri() != uri:
            raise ReportError(
                f"report.mlflow_run: this process writes to {without_secrets(mlflow.get_tracking_uri())} now (allowed: "
                "runs of one store at a time)"
            )
        if not _active:
            _before = os.environ.get(URI)
            mlflow.set_tracking_uri(uri)
        _active += 1


def _reset_store() -> None:
    """Count one active run less. If no active run is left, set MLflow back to its former store."""
    global _active
    import mlflow

    with _lock:
        _active -= 1
        if not _active:
            mlflow.set_tracking_uri(None)  # type: ignore[arg-type]  # as MLflow itself does
            if _before is not None:
                os.environ[URI] = _before


def _end_active(run_id: str, status: str) -> None:
    """End the active run of this thread, and unfinished runs that were started within it."""
    import mlflow

    while (active := mlflow.active_run()) is not None:
        mlflow.end_run(status)
        if active.info.run_id == run_id:
            return


def _leave_active(run_id: str) -> None:
    """Make the active run of this thread inactive without ending it in the store. Runs that were started within it are
    ended.

    The run is taken off MLflow's private stack. MLflow's ``end_run`` would also end the run in the store. If the study
    has ended it already, this would change its end time. If this version of MLflow has no such stack, ``end_run`` is
    called, and then the run's former end is restored.
    """
    import mlflow
    from mlflow.tracking import fluent

    while (active := mlflow.active_run()) is not None and active.info.run_id != run_id:
        mlflow.end_run()
    if active is None:
        return
    if (stack := getattr(fluent, STACK, None)) is not None:
        stack.get().pop()
        return
    client = mlflow.MlflowClient()
    before = client.get_run(run_id).info
    mlflow.end_run(before.status)
    if before.end_time is not None:
        client.set_terminated(run_id, before.status, before.end_time)
