"""The arguments of a user's function: the values of its config, and the object by which it reports an epoch."""

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
"""Names of metrics that the study itself uses. A function must not report them."""


UNRECORDED: Final = "report.mlflow_run: the study is not recorded in MLflow (allowed: one that is)"


class TrialOver(BaseException):
    """The trial has ended, or continues in another process. ``except Exception`` does not catch this error."""


class ReportError(Exception):
    """A user's function made an invalid report, or none."""


@final
class Values(Mapping[str, Any]):
    """The values that a user's function is called with: a read-only mapping by dotted path. ``values``: the config's
    values. ``own``: the values of this call alone, which are its seed (``seed``) and its replicate.

    Iteration yields the paths of single values. The path of a group of values gives a mapping of the group.
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
    """A seed's report of an epoch: its score, further metrics, and the seconds that the function took."""

    epoch: int
    score: float
    metrics: Mapping[str, float]
    seconds: float


class TrackedRun(ABC):
    """The MLflow run of one call of a user's function. From ``begin`` to ``end``, or in a ``with`` block, it is the
    active run of the call's thread.
    """

    @property
    @abstractmethod
    def id(self) -> str:
        """The run's id in MLflow. Raises ReportError if there is no run."""

    @abstractmethod
    def begin(self) -> Self:
        """Make this the active run, so that MLflow logs to it. Raises ReportError if there is no run."""

    @abstractmethod
    def end(self, *, failed: bool = False) -> None:
        """Make the run inactive. ``failed``: whether the call raised an error."""

    @abstractmethod
    def returned(self, *, failed: bool = False) -> None:
        """``end`` the run. Also end in MLflow all other runs that the call has left active in its thread, since nothing
        more is logged to them.
        """

    def __enter__(self) -> Self:
        return self.begin()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end(failed=isinstance(error, Exception))


TrackedRuns = Callable[[TrialTask, int], TrackedRun]
"""A function that returns the MLflow run of a call of a user's function, given the trial's task and the number of the
call. MLflow is first contacted when the run is used.
"""


@final
class NoRun(TrackedRun):
    """Stands for the MLflow run of a call in a study that is not recorded in MLflow."""

    @property
    def id(self) -> str:
        """Raises ReportError, since there is no run."""
        raise ReportError(UNRECORDED)

    def begin(self) -> Self:
        """Raise ReportError, since there is no run."""
        raise ReportError(UNRECORDED)

    def end(self, *, failed: bool = False) -> None:
        """Do nothing: the run never began."""

    def returned(self, *, failed: bool = False) -> None:
        """Do nothing: there is no run to end."""


def no_run(task: TrialTask, call: int) -> TrackedRun:
    """Return a run that raises ReportError when it is used: the ``TrackedRuns`` of a study without MLflow."""
    return NoRun()


def _nothing(*_: object) -> None:
    """Do nothing: the default of callbacks."""


@final
class Report:
    """The second argument of a user's function, by which it reports: ``report(score=0.93)`` ends an epoch. Each call of
    the function, for one seed of a trial, has its own report object.

    If the trial continues, reporting returns. Otherwise it raises TrialOver, which ends the function. If the study has
    several objectives, a report needs a value for each: ``report(accuracy=0.93, seconds=12.0)``. ``folder``: a folder
    for this seed of this trial, which survives interruptions and is created on first access. ``epoch``: the last
    reported epoch, 0 before the first.
    """

    def __init__(
        self,
        task: TrialTask,
        number: int,
        hand_over: Callable[[int, float, Mapping[str, float]], bool],
        *,
        models: CallModels,
        tracked: TrackedRun,
        restored: Callable[[CallCheckpoint], None] = _nothing,
        check_goes_on: Callable[[], None] = _nothing,
    ) -> None:
        """Create the report of call ``number`` of a ``task``.

        ``hand_over`` receives the epoch, score and metrics of each report, and returns whether the ledger has the
        epoch; if not, ``recorded`` is called later. ``models``: stores the models that the call reports. ``tracked``:
        the call's run in MLflow. ``restored`` is called with a checkpoint that the function has restored. ``hand_over``
        and ``check_goes_on`` raise TrialOver if the trial is over.
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
        """The folder in which the function may save its state and results. Created if it does not exist."""
        make_trial_folder(self._folder)
        return self._folder

    @property
    def mlflow_run(self) -> TrackedRun:
        """The run of this call in MLflow. Reading this property makes the run active: ``mlflow.log_figure``, logged
        models and autologging write to it. It stays active until the function ends, or until a block ``with
        report.mlflow_run:`` ends.

        If the trial has a single call, this is the trial's run. If it has several, each call has its own run below the
        trial's run.
        Raises ReportError if the study is not recorded in MLflow, or if this process cannot reach MLflow's store.
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
        """End an epoch by reporting its results.

        ``score``: the number that ranks the trials. It may instead be passed by its name in the study's objectives.
        ``epoch``: the epoch's number, counted from 1, for a function that continues from its state in ``folder``. An
        epoch that was reported before is ignored. ``test``: the same measure on test data. It never selects a trial,
        but it confirms ablations. ``model``: the path of a file or a folder that holds the present model. A copy of the
        model of the best epoch stays with the trial, and ``skipstack export`` exports it. ``metrics``: the other
        objectives, and any other numbers.

        Raises ReportError for a value that is no number, for an objective without a value, for a metric with a name
        that the study uses itself, for a model that does not exist, and for an epoch that does not follow the last
        reported epoch.
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
        if self._hand_over(following, numbers.pop(SCORE), numbers):
            self.recorded(following)

    def recorded(self, epoch: int) -> None:
        """Note that the ledger has an epoch, and delete checkpoints and models that are no longer needed."""
        self._checkpoints.reported(epoch)
        self._models.reported(epoch)

    def returned(self, value: Any) -> None:
        """Report the only epoch of a function that has returned without a report. ``value``: its return value. This is
        the score, or a mapping of the named arguments of a report.
        """
        if isinstance(value, Mapping):
            self(**value)
        elif self._further:
            form = ", ".join(f'"{name}": ...' for name in (self._score, *self._further))
            raise ReportError(f"the function returned {shown(value)} (allowed: {{{form}}})")
        else:
            self(value)

    def _check_objectives(self, given: Mapping[str, object]) -> None:
        """Raise ReportError if an objective has no value in ``given``."""
        wanted = (self._score, *self._further)
        if missing := [name for name in wanted if name not in given]:
            near = get_close_matches(missing[0], [name for name in given if name not in wanted], n=1)
            raise ReportError(
                f"report(...): got {', '.join(given) or 'nothing'} without {', '.join(missing)} "
                f"({f'nearest: {near[0]!r}; ' if near else ''}allowed: {', '.join(wanted)}, and others beside)"
            )

    def log(self, **figures: float) -> None:
        """Note figures of the current epoch, such as a loss. This may be called many times in an epoch. The epoch's
        report gets the mean of each figure as a metric. No figure ranks a trial.
        """
        taken = (*self._taken, SCORE, TEST, EPOCH, MODEL, self._score, *self._further)
        _check_names(figures, taken, "report.log")
        for name, value in figures.items():
            self._figures.setdefault(name, []).append(_number(name, value, "report.log"))

    def artifact(self, path: Path | str) -> None:
        """Keep a copy of a file, or of a folder's files, with the trial. Copies replace earlier files of the same
        names, and are uploaded to the trial's run in MLflow when the trial ends.
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
        """Save the state to resume from if the process ends: a copy of a file or a folder, or bytes. The latest
        checkpoint is kept until the trial ends.

        ``epoch``: the epoch at whose end the state was taken; None means the last reported epoch. Pass the next epoch
        if its report follows this call: a trial that is paused at that report then resumes from the end of the epoch.
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
        """Return the path of the latest checkpoint of this call, a file or a folder; None if there is none. Call this
        before the first report.

        ``epoch`` and the global random generators are reset to their values at the checkpoint. Later epochs that were
        already reported do not count twice. The path is valid until the next checkpoint.
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
    """A user's function that reports its epochs."""

    def __call__(self, config: Mapping[str, Any], report: Report, /) -> object:
        """Train with the values of ``config``, and report each epoch."""


class Scoring(Protocol):
    """A user's function of a single epoch, which returns its score instead of reporting it."""

    def __call__(self, config: Mapping[str, Any], /) -> float | Mapping[str, float]:
        """Train with the values of ``config``, and return the score, or the named arguments of a report."""


Objective = Reporting | Scoring
"""A user's function. It is called once for each seed of each trial, or for each replicate of each seed."""


def _check_names(numbers: Iterable[str], taken: Sequence[str], call: str) -> None:
    for name in numbers:
        if name in taken:
            raise ReportError(f"{call}({name}=...): the study keeps its own under this name (allowed: another)")


def _path(given: Path | str, call: str, allowed: str = "the path of a file or a folder") -> Path:
    """Return ``given`` as a path. Raises ReportError, which names ``call``, unless ``given`` exists."""
    if not isinstance(given, Path | str):
        raise ReportError(f"{call}: got {type(given).__name__} (allowed: {allowed})")
    path = Path(given)
    if not (path.is_file() or path.is_dir()):
        raise ReportError(f"{call}: {path} is not there (allowed: a file or a folder)")
    return path


def _finite(name: str, value: Any) -> float:
    """Convert a value to a finite float. Raises ReportError if that is impossible."""
    if isfinite(number := _number(name, value)):
        return number
    raise ReportError(f"report({name}=...): got {number} (allowed: a finite number)")


def _number(name: str, value: Any, call: str = "report") -> float:
    """Convert a number of any library to a Python float. Raises ReportError for a value that is no number."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        named = "test" if name == "test_score" else name
        raise ReportError(f"{call}({named}=...): got {value!r} (allowed: a number)") from None
