"""The arguments of a user's function: its values, and the object by which it reports an epoch."""

import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from math import isfinite
from pathlib import Path
from statistics import fmean
from types import TracebackType
from typing import Any, Final, Protocol, Self, final

from skipstack.data.basis.atomic_files import atomic_file
from skipstack.data.basis.errors import unknown
from skipstack.data.basis.explain import shown
from skipstack.search.execution.workers.call_checkpoints import CallCheckpoint, CallCheckpoints
from skipstack.search.execution.workers.call_models import CallModels
from skipstack.search.execution.workers.global_random_state import restore_written, written_states
from skipstack.search.strategy.objectives.objectives import column
from skipstack.search.study.record.folder import ARTIFACTS, make_trial_folder
from skipstack.search.study.task import TrialTask
from skipstack.spaces.domains import Json
from skipstack.spaces.paths import present, read
from skipstack.spaces.subject import leaves

SCORE, TEST, EPOCH, MODEL = "score", "test", "epoch", "model"
"""The named arguments of a report; all others are metrics."""

TAKEN: Final = ("dev_score", "test_score", "seconds", "best_score", "best_epoch")
"""Metric names that the study itself uses."""


UNRECORDED: Final = "report.mlflow_run: the study is not recorded in MLflow (allowed: one that is)"


class TrialOver(BaseException):
    """The trial ended, or continues elsewhere. Not caught by ``except Exception``, so that the function ends."""


class ReportError(Exception):
    """A function made an invalid report."""


@final
class Values(Mapping[str, Any]):
    """The values that a function is called with, read-only, by dotted path; ``own``: the values of this call alone,
    which are its seed, under ``seed``, and its replicate.

    Iteration yields the paths of leaves; a path with several below it gives them as a mapping.
    """

    def __init__(self, values: Mapping[str, Json], own: Mapping[str, Json]) -> None:
        self._tree = {**values, **own}

    def __getitem__(self, path: str) -> Any:
        if not present(self._tree, path):
            raise KeyError(unknown("value", path, self))
        return read(self._tree, path)

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and present(self._tree, path)

    def __iter__(self) -> Iterator[str]:
        return (path for path, _ in leaves(self._tree))

    def __len__(self) -> int:
        return len(leaves(self._tree))

    def __repr__(self) -> str:
        return f"Values({dict(self)})"


@dataclass(frozen=True, slots=True)
class SeedReport:
    """A seed's report of an epoch: its score as the function measures it, and further metrics."""

    epoch: int
    score: float
    metrics: Mapping[str, float]
    seconds: float


class TrackedRun(ABC):
    """The run of a call in MLflow; the active run of its thread from ``begin`` to ``end``, or in a ``with`` block."""

    @property
    @abstractmethod
    def id(self) -> str:
        """The run's id in MLflow. Raises ReportError if there is no run."""

    @abstractmethod
    def begin(self) -> Self:
        """Make it the active run, so that MLflow logs to it. Raises ReportError if there is no run."""

    @abstractmethod
    def end(self, *, failed: bool = False) -> None:
        """Make it inactive."""

    def __enter__(self) -> Self:
        return self.begin()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end(failed=isinstance(error, Exception))


class TrackedRuns(ABC):
    """The runs of a study in MLflow."""

    @abstractmethod
    def of(self, task: TrialTask, call: int) -> TrackedRun:
        """The run of a call of a trial; MLflow is not asked for anything yet."""


@final
class NoRuns(TrackedRuns):
    """The runs of a study that is not recorded in MLflow: there are none."""

    def of(self, task: TrialTask, call: int) -> TrackedRun:
        """A run that raises ReportError when it is used."""
        return NoRun()


@final
class NoRun(TrackedRun):
    """The run of a call in a study that is not recorded in MLflow."""

    @property
    def id(self) -> str:
        """Raises ReportError: there is no run."""
        raise ReportError(UNRECORDED)

    def begin(self) -> Self:
        """Raises ReportError: there is no run."""
        raise ReportError(UNRECORDED)

    def end(self, *, failed: bool = False) -> None:
        """Do nothing: the run never began."""


def _nothing(*_: object) -> None:
    """Do nothing: the default of callbacks."""


@final
class Report:
    """The second argument of a function, one for each of its seeds: ``report(score=0.93)`` ends an epoch.

    ``folder``: a folder for this seed of this trial, which survives interruptions; created on first access. ``epoch``:
    of the last report, 0 before the first. A call returns if the trial goes on, and raises TrialOver if not, which ends
    the function. With objectives a report has a value for each: ``report(accuracy=0.93, seconds=12.0)``.
    """

    def __init__(
        self,
        task: TrialTask,
        number: int,
        hand_over: Callable[[int, float, Mapping[str, float]], None],
        *,
        models: CallModels,
        tracked: TrackedRun,
        restored: Callable[[CallCheckpoint], None] = _nothing,
        check_goes_on: Callable[[], None] = _nothing,
    ) -> None:
        """``number``: of the call among those of the ``task``, whose ``models`` are kept. ``tracked``: its run in
        MLflow. ``hand_over`` and ``check_goes_on`` raise TrialOver if the trial is over.
        """
        own = task.replicates.folder(number)
        self.epoch = 0
        self._figures: dict[str, list[float]] = {}
        self._latest: Mapping[str, float] | None = None
        self._has_reported = False
        self._folder = task.folder / own
        self._hand_over = hand_over
        self._artifacts = task.folder / ARTIFACTS / own
        self._checkpoints = CallCheckpoints(task.folder, own, attempt=task.attempt, reported=task.reported)
        self._models = models
        self._tracked = tracked
        self._restored = restored
        self._check_goes_on = check_goes_on
        self._score, *self._further = task.objectives or (SCORE,)
        self._taken = (*TAKEN, *map(column, self._further))

    @property
    def folder(self) -> Path:
        """The folder where the function may save its state and results."""
        make_trial_folder(self._folder)
        return self._folder

    @property
    def mlflow_run(self) -> TrackedRun:
        """The run of this call in MLflow, which becomes the active run: ``mlflow.log_figure``, models and autologging
        write there until the function ends, or only within ``with report.mlflow_run:``. ``id``: its id.

        It is the trial's own run; if the trial has several calls, each has its own run below that. Raises ReportError
        if the study's store cannot be reached from here.
        """
        return self._tracked.begin()

    def __call__(
        self,
        score: float | None = None,
        *,
        epoch: int | None = None,
        test: float | None = None,
        model: Path | str | None = None,
        **metrics: float,
    ) -> None:
        """End an epoch.

        ``score``: ranks the trials; it may be given by the name that the study's objectives have for it. ``test``: the
        same measure on test data, by which nothing is selected; ablations are confirmed on it if it is reported.
        ``epoch``: its number, counted from 1, for a function that continues from its state in ``folder``; an epoch that
        was reported before is ignored. ``model``: the path of a file, or of a folder, that is the model as it is now;
        a copy of that of the best epoch stays with the trial, and is what ``skipstack export`` exports. ``metrics``:
        the further objectives, and any other numbers. Raises ReportError for a value that is no number, and for an
        objective without a value.
        """
        if score is not None and self._score in metrics:
            raise ReportError(f"report({self._score}=...): got it twice (allowed: once, by its name or as the first)")
        if score is not None:
            metrics[self._score] = score
        self._check_objectives(metrics)
        given = {SCORE: _number(self._score, metrics.pop(self._score))}
        given |= {column(name): _finite(name, metrics.pop(name)) for name in self._further}
        _check_names(metrics, self._taken, "report")
        told = {"test_score": test} if test is not None else {}
        given |= {name: _number(name, value) for name, value in {**told, **metrics}.items()}
        numbers = {name: fmean(values) for name, values in self._figures.items()} | given
        following = self.epoch + 1 if epoch is None else epoch
        if isinstance(following, bool) or not isinstance(following, int) or following < 1:
            raise ReportError(f"report(epoch=...): got {epoch!r} (allowed: an epoch counted from 1)")
        if self.epoch and following != self.epoch + 1:
            raise ReportError(f"report(epoch=...): got {following} after {self.epoch} (allowed: {self.epoch + 1})")
        if model is not None:
            self._models.write(_path(model, "report(model=...)"), following)
        self._figures = {}
        self.epoch, self._latest, self._has_reported = following, dict(numbers), True
        self._checkpoints.reports(following, self._latest)
        self._hand_over(following, numbers.pop(SCORE), numbers)
        self._checkpoints.reported(following)
        self._models.reported(following)

    def returned(self, value: Any) -> None:
        """End the only epoch of a function that returned ``value``: its score, or a mapping of arguments."""
        if isinstance(value, Mapping):
            self(**value)
        elif self._further:
            form = ", ".join(f'"{name}": ...' for name in (self._score, *self._further))
            raise ReportError(f"the function returned {shown(value)} (allowed: {{{form}}})")
        else:
            self(value)

    def _check_objectives(self, given: Mapping[str, object]) -> None:
        """Raises ReportError if an objective has no value."""
        wanted = (self._score, *self._further)
        if missing := [name for name in wanted if name not in given]:
            near = get_close_matches(missing[0], [name for name in given if name not in wanted], n=1)
            raise ReportError(
                f"report(...): got {', '.join(given) or 'nothing'} without {', '.join(missing)} "
                f"({f'nearest: {near[0]!r}; ' if near else ''}allowed: {', '.join(wanted)}, and others beside)"
            )

    def log(self, **figures: float) -> None:
        """Note figures of the current epoch, such as a loss: its report gets the mean of each as a metric. None of them
        ranks a trial.
        """
        taken = (*self._taken, SCORE, TEST, EPOCH, MODEL, self._score, *self._further)
        _check_names(figures, taken, "report.log")
        for name, value in figures.items():
            self._figures.setdefault(name, []).append(_number(name, value, "report.log"))

    def artifact(self, path: Path | str) -> None:
        """Keep a copy of a file, or of a folder's files, with the trial; one of the same name is replaced. It is
        uploaded to the trial's run in MLflow when the trial ends.
        """
        given = _path(path, "report.artifact(...)")
        name = given.resolve().name
        files = [given] if given.is_file() else [each for each in sorted(given.rglob("*")) if each.is_file()]
        make_trial_folder(self._artifacts)
        for each in files:
            to = self._artifacts / name / each.relative_to(given)
            to.parent.mkdir(parents=True, exist_ok=True)
            with atomic_file(to) as beside:
                shutil.copyfile(each, beside)

    def checkpoint(self, state: Path | str | bytes, *, epoch: int | None = None) -> None:
        """Save the state to resume from if the process ends: a copy of a file or a folder, or bytes.

        The last one stays until the trial ends. ``epoch``: the epoch at whose end the state was taken, by default the
        last one reported; the next one if its report follows, so that a trial that is paused there resumes from it.
        """
        self._check_goes_on()
        whose = self.epoch if epoch is None else epoch
        if isinstance(whose, bool) or whose not in (self.epoch, self.epoch + 1):
            raise ReportError(
                f"report.checkpoint(epoch=...): got {epoch!r} (allowed: {self.epoch}, the last that was reported, or "
                f"{self.epoch + 1}, the next)"
            )
        if isinstance(state, bytearray | memoryview):
            state = bytes(state)
        given = state if isinstance(state, bytes) else _path(state, "report.checkpoint(...)", "a path, or bytes")
        report = self._latest if whose == self.epoch else None
        self._checkpoints.write(given, whose, chance=written_states(), report=report)

    def restore(self) -> Path | None:
        """The last checkpoint of this call, a file or a folder; None if there is none, at the beginning.

        ``epoch`` and the global random generators are set back to it; later epochs that were reported already are not
        counted again. The path is valid until the next checkpoint. Call it before the first report.
        """
        if self._has_reported:
            raise ReportError(f"report.restore(): called after epoch {self.epoch} (allowed: before the first report)")
        self._check_goes_on()
        found = self._checkpoints.latest()
        if found is None:
            return None
        self.epoch, self._latest = found.epoch, found.report
        restore_written(found.chance)
        self._restored(found)
        return found.path


class Reporting(Protocol):
    """A user's function that reports."""

    def __call__(self, config: Mapping[str, Any], report: Report, /) -> object:
        """Train with the values of ``config``, and report each epoch."""


class Scoring(Protocol):
    """A user's function of one epoch."""

    def __call__(self, config: Mapping[str, Any], /) -> float | Mapping[str, float]:
        """Train with the values of ``config``, and return the score, or the named arguments of a report."""


Objective = Reporting | Scoring
"""A user's function, called once for each seed of each trial, or each replicate of each seed."""


def _check_names(numbers: Iterable[str], taken: Sequence[str], call: str) -> None:
    for name in numbers:
        if name in taken:
            raise ReportError(f"{call}({name}=...): the study keeps its own under this name (allowed: another)")


def _path(given: Path | str, call: str, allowed: str = "the path of a file or a folder") -> Path:
    """The path of a file or a folder that exists."""
    if not isinstance(given, Path | str):
        raise ReportError(f"{call}: got {type(given).__name__} (allowed: {allowed})")
    path = Path(given)
    if not (path.is_file() or path.is_dir()):
        raise ReportError(f"{call}: {path} is not there (allowed: a file or a folder)")
    return path


def _finite(name: str, value: Any) -> float:
    """A number by which trials can be ranked."""
    if isfinite(number := _number(name, value)):
        return number
    raise ReportError(f"report({name}=...): got {number} (allowed: a finite number)")


def _number(name: str, value: Any, call: str = "report") -> float:
    """Convert a number of any library to a Python float."""
    try:
        return float(value)
    except (TypeError, ValueError):
        named = "test" if name == "test_score" else name
        raise ReportError(f"{call}({named}=...): got {value!r} (allowed: a number)") from None
