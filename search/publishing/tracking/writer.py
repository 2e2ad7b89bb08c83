"""Writes the runs of one study to MLflow: finds them by their tags, creates missing runs, and adds missing content."""

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from skipstack.data.basis.errors import UserError, one_line
from skipstack.search.publishing.tracking.client import connected, own_run, put, search_runs
from skipstack.search.publishing.tracking.entry import (
    NOTE,
    STUDY,
    USER_NOTE,
    CorpusOfRun,
    Entry,
    RunKey,
    is_whole,
    key_of,
    made_of,
    of_study,
)
from skipstack.search.publishing.tracking.views import is_changed
from skipstack.search.study.record.folder import ARTIFACTS, LOG, StudyFolder
from skipstack.search.study.record.log_file import LogFile

if TYPE_CHECKING:
    from mlflow.entities import DatasetInput, Run

KIND: Final = {"mlflow.experimentKind": "custom_model_development"}
"""The tag of an experiment that trains models. Without this tag, MLflow's page looks for chats with a model."""


LEDGER: Final = "ledger.jsonl.gz"
"""The artifact of a study's run with a copy of the ledger, from which the study can be read."""

COPY: Final = "skipstack.ledger"
"""The tag of a study's run with the first 16 hexadecimal digits of the SHA-256 of its copy of the ledger."""

TEXTS: Final = "skipstack.texts"
"""The tag of a run that lists the text files among its artifacts. It is set once these files are written."""

PARENT: Final = "mlflow.parentRunId"
"""The tag of a run with the id of the run above it."""

MARK: Final = "skipstack.written"
"""The tag of a study's run with the number of events in the store, and the version of skipstack that wrote them."""

_FORMERLY: Final = re.compile(r"ablation \d+, trial \d+")
"""Matches the name that earlier versions gave to the run of an ablation's trial."""


class DeletedExperimentError(Exception):
    """Raised if the user has deleted the study's experiment. MLflow keeps it, and refuses to write to it."""


class _Had(NamedTuple):
    """The content of a finished trial's run when the store was read. Its metrics are complete, so their names are
    enough.

    ``names``: the names of its metrics, parameters and tags, each after its kind, as in ``metric score``. ``named``:
    the run's name if an earlier version of skipstack may have given it; empty otherwise. ``parent``: the id of the run
    above it. ``corpus``: whether the run names its corpus. ``texts``: whether its text files are among its artifacts.
    """

    names: frozenset[str]
    named: str
    parent: str | None
    corpus: bool
    texts: bool


@dataclass(slots=True)
class _Stands:
    """The content of a run that may be incomplete: the run of an unfinished trial, of the study or of an ablation.
    ``points``: the names and steps of its metrics when the store was read. ``tags``, ``status``, ``end``: the current
    values, which are updated when the run is written.
    """

    run: "Run"
    points: set[tuple[str, int]]
    tags: dict[str, str]
    status: str
    end: int | None

    @classmethod
    def of(cls, run: "Run", points: set[tuple[str, int]]) -> Self:
        """Create this from a run in the store. ``points``: the names and steps of its metrics."""
        return cls(run, points, dict(run.data.tags), run.info.status, run.info.end_time)

    @property
    def parent(self) -> str | None:
        """The id of the run above it."""
        return self.run.data.tags.get(PARENT)

    def written(self, entry: Entry) -> None:
        """Update the content after ``entry`` was written to the run."""
        self.tags |= entry.tags
        if entry.status is not None:
            self.status, self.end = entry.status, entry.end


class Writer:
    """Writes the runs of one study to MLflow. Call ``recall`` before ``leave_out`` and ``write``.

    ``uri``: the URI of the store. ``experiment``: the name of the experiment. ``study_id``: the id of the study.
    ``artifacts``: the URI for the artifacts of a new experiment; None lets the store choose. ``folder``: the study's
    folder, from which the logs and artifacts of trials are read; None means that none are written.

    The attribute ``without_files`` says why no more files are written. It is None as long as no file was refused.
    """

    def __init__(
        self, uri: str, experiment: str, study_id: str, artifacts: str | None = None, folder: Path | None = None
    ) -> None:
        self._client = connected(uri)
        self._experiment = experiment
        self._artifacts = artifacts
        self._folder = folder
        self._experiment_id = ""
        self._views: dict[str, str] = {}
        self._study_id = study_id
        self._run_ids: dict[RunKey, str] | None = None
        # The content of the store when it was read: of finished runs, and of all other runs.
        self._whole: dict[RunKey, _Had] = {}
        self._partial: dict[RunKey, _Stands] = {}
        self._copied: str | None = None
        self.without_files: str | None = None

    def marked(self) -> int:
        """Return the number of the ledger's events that the store has, according to the mark in the study's run. 0
        without a mark, or if another version of skipstack set it.
        """
        run = own_run(self._client, self._experiment, self._study_id)
        mark = "" if run is None else run.data.tags.get(MARK, "")
        count, _, _ = mark.partition(" ")
        return int(count) if count.isdigit() and mark == made_of(int(count)) else 0

    def mark(self, events: int) -> None:
        """Mark in the study's run that the store has the ledger's first ``events`` events, unless files are missing."""
        if self._run_ids is not None and STUDY in self._run_ids and self.without_files is None:
            self._client.set_tag(self._run_ids[STUDY], MARK, made_of(events))

    def forget(self) -> None:
        """Make the next ``recall`` read the runs again. Call this after a failed request with an unknown effect."""
        self._run_ids = self._copied = None

    def recall(self) -> None:
        """Read this study's runs from the store, unless they are known. A missing experiment is created, and duplicate
        runs are deleted. Raises DeletedExperimentError if the user has deleted the experiment.
        """
        if self._run_ids is not None:
            return
        self._find_experiment()
        self._whole, self._partial = {}, {}
        run_ids: dict[RunKey, str] = {}
        empty: list[tuple[RunKey, Run]] = []
        names: dict[_Had, _Had] = {}
        for run in search_runs(self._client, [self._experiment_id], of_study(self._study_id)):
            key = key_of(run)
            if not run.data.params:
                empty.append((key, run))
            elif not is_whole(key) and run.info.status in ("FINISHED", "FAILED"):
                own = _had(run)
                run_ids[key], self._whole[key] = run.info.run_id, names.setdefault(own, own)
            else:
                run_ids[key], self._partial[key] = run.info.run_id, _Stands.of(run, self._points(run))
        for key, run in empty:
            if key in run_ids:  # an abandoned request was repeated, so there are two runs
                self._client.delete_run(run.info.run_id)
            else:
                run_ids[key], self._partial[key] = run.info.run_id, _Stands.of(run, set())
        self._run_ids = run_ids

    def leave_out(self, pending: dict[RunKey, Entry]) -> None:
        """Remove from ``pending`` the content that the store had when it was read."""
        for key, entry in pending.items():
            if key in self._whole:
                _leave_out_names(entry, self._whole[key])
            elif key in self._partial:
                _leave_out(entry, self._partial[key])

    def caught_up(self) -> None:
        """Discard the content that was read from the store. Call this once all past events are written, since
        later events are not in that content.
        """
        self._whole, self._partial = {}, {}

    def write(self, key: RunKey, entry: Entry) -> None:
        """Write an entry to the run with the key ``key``. A missing run is created if the entry has a start. Without a
        start, nothing is written, since the user has deleted the run. A run whose parent was deleted is put below the
        parent that was created again. The status is written last, so that a run that has ended has all its metrics.
        """
        from mlflow.entities import Metric, Param, RunTag

        assert self._run_ids is not None, "the runs are not known"
        tags, made = entry.tags | self._parent(key), key not in self._run_ids
        if not made and not tags and not entry.says:
            return
        if made:
            if entry.start is None:
                return  # the entry continues a run, which the user has deleted
            run = self._client.create_run(self._experiment_id, start_time=entry.start, tags=tags, run_name=entry.name)
            self._run_ids[key] = run.info.run_id
            tags = {}
        run_id = self._run_ids[key]
        if entry.formerly and not made:
            self._client.update_run(run_id, name=entry.name)
        refused = self._put(run_id, entry.files | (self._left(key) if entry.log else {}))
        if entry.files and refused is None:  # the tag is set after the files, so that it proves that they exist
            tags = tags | {TEXTS: ", ".join(entry.files)}
        self._client.log_batch(
            run_id,
            metrics=[Metric(name, value, at, step) for (name, step), (value, at) in entry.metrics.items()],
            params=[Param(name, value) for name, value in entry.params.items()],
            tags=[RunTag(name, value) for name, value in tags.items()],
        )
        if entry.corpus is not None and refused is None:
            self._client.log_inputs(run_id, [_dataset(entry.corpus)])
        if key in self._partial:
            self._partial[key].written(entry)
        if entry.status == "RUNNING" and not made:
            self._client.update_run(run_id, entry.status)
        elif entry.status is not None and entry.end is not None:
            self._client.set_terminated(run_id, entry.status, entry.end)
        self.without_files = self.without_files or refused  # set only now, after the store has accepted the run

    def keep_ledger(self, made: Callable[[], bytes]) -> None:
        """Copy the ledger, which ``made`` returns, to the study's run, unless the run has it or files were refused."""
        assert self._run_ids is not None, "the runs are not known"
        run_id = self._run_ids.get(STUDY)
        if run_id is None or self.without_files is not None:
            return
        content = made()
        digest = hashlib.sha256(content).hexdigest()[:16]
        if self._copied is None:
            self._copied = self._client.get_run(run_id).data.tags.get(COPY, "")
        if digest != self._copied:
            self.without_files = self._put(run_id, {LEDGER: content})
            if self.without_files is None:
                self._client.set_tag(run_id, COPY, digest)
                self._copied = digest

    def show(self, views: Mapping[str, str]) -> None:
        """Save views (by the names of their tags), except views that a user has changed on the page."""
        for tag, view in views.items():
            if self._views.get(tag) != view and not is_changed(self._views.get(tag)):
                self._client.set_experiment_tag(self._experiment_id, tag, view)
                self._views[tag] = view

    def _find_experiment(self) -> None:
        found = self._client.get_experiment_by_name(self._experiment)
        if found is None:
            self._experiment_id = self._client.create_experiment(
                self._experiment, artifact_location=self._artifacts, tags=dict(KIND)
            )
            return
        if found.lifecycle_stage == "deleted":
            raise DeletedExperimentError(
                f"experiment {self._experiment} was deleted there; restore it first, by `mlflow experiments restore "
                f"--experiment-id {found.experiment_id}` with MLFLOW_TRACKING_URI set to the store"
            )
        self._experiment_id, self._views = found.experiment_id, dict(found.tags)
        for name, value in KIND.items():
            if name not in found.tags:
                self._client.set_experiment_tag(found.experiment_id, name, value)

    def _parent(self, key: RunKey) -> dict[str, str]:
        """Return the tag that puts a run below that of its study or ablation; empty if the run has this tag already, or
        if there is no run above it.
        """
        assert self._run_ids is not None, "the runs are not known"
        above = self._run_ids.get(STUDY if is_whole(key) else (key[0], None))
        had = self._whole.get(key) or self._partial.get(key)
        if key == STUDY or above is None or (key in self._run_ids and (had is None or had.parent == above)):
            return {}
        return {PARENT: above}

    def _put(self, run_id: str, files: Mapping[str, str | bytes | Path]) -> str | None:
        """Write files among the artifacts of a run. Returns None, or why they were not written."""
        if self.without_files is not None or not files:
            return self.without_files
        try:
            put(self._client, run_id, files)
        except Exception as error:  # noqa: BLE001 (artifacts may be stored elsewhere; metrics need not wait for them)
            return one_line(error)
        return None

    def _left(self, key: RunKey) -> dict[str, str | bytes | Path]:
        """Return the files of a trial by name: its log (if readable and not empty), and its function's artifacts."""
        if self._folder is None or key[1] is None:
            return {}
        folder, left = StudyFolder(self._folder, key[0]), dict[str, str | bytes | Path]()
        with suppress(UserError):
            if text := LogFile(folder.log(key[1])).whole():
                left[LOG] = text
        trial = folder.trial(key[1])
        kept = [path for path in sorted((trial / ARTIFACTS).rglob("*")) if path.is_file() and not path.is_symlink()]
        return left | {path.relative_to(trial / ARTIFACTS).as_posix(): path for path in kept}

    def _points(self, run: "Run") -> set[tuple[str, int]]:
        """Return the name and step of every point of a run's metrics in the store."""
        histories = [(name, self._client.get_metric_history(run.info.run_id, name)) for name in run.data.metrics]
        return {(name, point.step) for name, history in histories for point in history}


def _dataset(corpus: CorpusOfRun) -> "DatasetInput":
    """Convert a corpus into MLflow's description of a run's input."""
    from mlflow.entities import Dataset, DatasetInput, InputTag

    read = Dataset(corpus.name, corpus.fingerprint, "skipstack", corpus.config)
    return DatasetInput(read, [InputTag("mlflow.data.context", "train, dev, test")])


def has_corpus(run: "Run") -> bool:
    """Whether a run names its corpus."""
    return bool(run.inputs and run.inputs.dataset_inputs)


def has_texts(run: "Run") -> bool:
    """Whether the text files of a run are among its artifacts. Earlier versions of skipstack set no tag for this, but
    they named the corpus only once the files were written.
    """
    return has_corpus(run) or TEXTS in run.data.tags


def _had(run: "Run") -> _Had:
    """Return the content of a finished run."""
    held: list[tuple[str, Iterable[str]]] = [
        ("metric", run.data.metrics),
        ("param", run.data.params),
        ("tag", run.data.tags),
    ]
    names = frozenset(f"{of} {name}" for of, names in held for name in names)
    name = run.info.run_name or ""
    row = run.data.tags.get("skipstack.row") if "skipstack.change" not in run.data.tags else None
    named = name if _FORMERLY.fullmatch(name) or (row is not None and name.startswith(row)) else ""
    return _Had(names, named, run.data.tags.get(PARENT), has_corpus(run), has_texts(run))


def _leave_out_names(entry: Entry, had: _Had) -> None:
    """Remove from an entry the content that a finished run has under the same name. Values are not compared. A user's
    note stays, since it may replace an earlier one.
    """
    entry.tags = {
        name: value for name, value in entry.tags.items() if name == USER_NOTE or f"tag {name}" not in had.names
    }
    entry.params = {name: value for name, value in entry.params.items() if f"param {name}" not in had.names}
    entry.metrics = {at: value for at, value in entry.metrics.items() if f"metric {at[0]}" not in had.names}
    entry.status, entry.log = None, False
    entry.formerly = entry.formerly if had.named in entry.formerly else ()
    entry.files = {} if had.texts else entry.files
    entry.corpus = None if had.corpus else entry.corpus


def _leave_out(entry: Entry, stands: _Stands) -> None:
    """Remove from an entry the content that the run has already. Tags and the status are removed only if they are
    equal. If the run has a description, it is kept.
    """
    run, held = stands.run, stands.tags
    entry.tags = {
        name: value
        for name, value in entry.tags.items()
        if held.get(name) != value and not (name == NOTE and name in held)
    }
    entry.params = {name: value for name, value in entry.params.items() if name not in run.data.params}
    entry.metrics = {point: value for point, value in entry.metrics.items() if point not in stands.points}
    entry.files = {} if has_texts(run) else entry.files
    entry.corpus = None if has_corpus(run) else entry.corpus
    entry.formerly = entry.formerly if run.info.run_name in entry.formerly else ()
    if entry.status == stands.status and entry.end in (None, stands.end):
        entry.status = None
