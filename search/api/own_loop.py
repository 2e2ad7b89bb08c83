"""A study whose trials are trained by a loop of the user's, which asks the study for trials and reports to it.

The study runs in a thread, as with any other engine; the loop talks to its driver meanwhile.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Condition, RLock, Thread
from types import TracebackType
from typing import Any, Final, Self, final

from skipstack.data.basis.errors import UserError, one_line, unknown
from skipstack.search.api.options import Execution
from skipstack.search.api.run import Run
from skipstack.search.execution.driver.driver import Driver
from skipstack.search.execution.driver.engine import Engine
from skipstack.search.execution.driver.faults import Fault, StudyInterruptedError
from skipstack.search.execution.driver.functions import asked
from skipstack.search.execution.workers.call_models import CallModels
from skipstack.search.execution.workers.function_worker import joined
from skipstack.search.execution.workers.reporting import NoRuns, Report, SeedReport, TrackedRun, TrackedRuns, Values
from skipstack.search.study.task import TrialTask
from skipstack.spaces.function import FunctionConfig


class LeftOpenError(StudyInterruptedError):
    """A loop has left a study that is not at its end."""


@final
class OwnLoop:
    """A study that begins or goes on: ``ask`` for its trials, and ``report`` to each.

    As a context manager it ends the study if all trials have ended, and otherwise leaves it as an interruption does:
    ``skipstack.begin`` with its folder then hands out the open trials again. Several threads may use it.
    """

    def __init__(self, run: Run, ended: Callable[[], None]) -> None:
        assert isinstance(run.engine, _Asked)
        self.folder: Path = run.folder.path
        self._engine = run.engine
        self._ended = ended
        self._failed: BaseException | None = None
        self._next: TrialTask | None = None
        """A trial that was begun only to see whether there is one."""
        self._thread = Thread(target=self._run, args=[run], name="study", daemon=True)
        self._thread.start()

    def ask(self) -> "AskedTrial | None":
        """The next trial to train; None if there is none now. Once no asked trial is open, None means that the study
        has no more.

        Trials that were open when the last loop ended come first, and paused ones come again once they are promoted.
        Raises whatever ended the study, such as a full disk.
        """
        with self._engine.turn:
            driver = self._driver()
            task, self._next = self._next or driver.next(), None
            return None if task is None else AskedTrial(task, driver, self._engine)

    def finish(self) -> None:
        """End the study, and show it in MLflow. Raises UserError if it has more trials, or open ones."""
        with self._engine.turn:
            if not self._at_end():
                raise UserError(
                    f"{self.folder}: the study has more trials, or open ones (allowed: to ask until there is none, and "
                    "to report each to its end)"
                )
            self._engine.leave(finished=True)
        self._thread.join()
        if self._failed is not None:
            raise self._failed
        self._ended()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self._thread.is_alive() and self._at_end():
            self.finish()
        self._engine.leave(finished=False)
        self._thread.join()
        if kind is None and self._failed is not None and not isinstance(self._failed, LeftOpenError):
            raise self._failed

    def _at_end(self) -> bool:
        """Whether no trial is open and the study has no more."""
        with self._engine.turn:
            driver = self._driver()
            if driver.over and self._next is None:
                self._next = driver.next()
            return driver.over and self._next is None

    def _driver(self) -> Driver:
        driver = self._engine.wait()
        if driver is None:
            self._thread.join()
            if self._failed is not None:
                raise self._failed
            raise UserError(f"{self.folder}: the study has ended (allowed: skipstack.begin with its folder goes on)")
        return driver

    def _run(self, run: Run) -> None:
        try:
            run.finish()
        except BaseException as error:  # noqa: BLE001 (the loop that asks next raises it)
            self._failed = error
        self._engine.leave(finished=True)


@final
class AskedTrial:
    """A trial that a loop trains: ``config`` has the values of its axes, ``report(score=0.93)`` ends an epoch.

    With several seeds there is a config for each, ``configs[seed]``, and ``report(score=..., seed=seed)`` is needed of
    each of them to end an epoch. With replicates the keys are the numbers of the calls, and each config has its seed
    and its replicate.
    """

    def __init__(self, task: TrialTask, driver: Driver, engine: "_Asked") -> None:
        assert isinstance(task.config, FunctionConfig)
        self.number = task.number
        replicates, values = task.replicates, task.config.values
        self.configs: Mapping[int, Values] = {each: Values(values, replicates.arguments(each)) for each in task.seeds}
        self.epoch = task.reported
        """The last epoch that all seeds have reported, in this loop or an earlier one; 0 before the first."""
        self.goes_on = True
        """Whether the study wants another epoch of it."""
        self._measure = task.config.measure
        self._driver, self._turn = driver, engine.turn
        self._told: dict[int, SeedReport] = {}
        self._began = dict.fromkeys(task.seeds, time.monotonic())
        self._models = {each: CallModels.of(task, each) for each in task.seeds}
        self._tracked = {each: engine.runs.of(task, each) for each in task.seeds}
        self._reports = {
            each: Report(task, each, partial(self._hand_over, each), models=models, tracked=self._tracked[each])
            for each, models in self._models.items()
        }

    @property
    def seeds(self) -> Sequence[int]:
        """The seeds with which it is trained."""
        return tuple(self.configs)

    @property
    def config(self) -> Values:
        """The values of its axes, and its seed under ``seed``. Raises UserError if it has several seeds."""
        return self.configs[self._only(None)]

    def folder(self, seed: int | None = None) -> Path:
        """The folder for the files of a seed, which survives interruptions."""
        return self._reports[self._only(seed)].folder

    def report(
        self,
        score: float | None = None,
        *,
        seed: int | None = None,
        epoch: int | None = None,
        test: float | None = None,
        model: Path | str | None = None,
        **metrics: float,
    ) -> bool:
        """End an epoch of a seed, as ``Report`` does, and return whether the trial goes on. It does while other seeds
        are at an earlier epoch.

        Raises ReportError for an invalid report, and UserError for a seed that the trial does not have.
        """
        report = self._reports[self._only(seed)]
        if report.epoch == 0 and epoch is None and self.epoch:
            epoch = self.epoch + 1
        with self._turn:
            if self.goes_on:
                report(score, epoch=epoch, test=test, model=model, **metrics)
            return self.goes_on

    def log(self, *, seed: int | None = None, **figures: float) -> None:
        """Note figures of a seed's epoch that is under way, as ``Report.log`` does."""
        with self._turn:
            self._reports[self._only(seed)].log(**figures)

    def artifact(self, path: Path | str, *, seed: int | None = None) -> None:
        """Keep a copy of a file, or of a folder's files, as ``Report.artifact`` does."""
        with self._turn:
            self._reports[self._only(seed)].artifact(path)

    def checkpoint(self, state: Path | str | bytes, *, seed: int | None = None, epoch: int | None = None) -> None:
        """Save the state from which a seed resumes, as ``Report.checkpoint`` does, while the trial goes on."""
        report = self._reports[self._only(seed)]
        with self._turn:
            if self.goes_on:
                report.checkpoint(state, epoch=epoch)

    def restore(self, seed: int | None = None) -> Path | None:
        """The last checkpoint of a seed, as ``Report.restore`` gives it; None if it has none. Its reports then follow
        the epoch of that checkpoint: those that the ledger has already do not count again.
        """
        with self._turn:
            return self._reports[self._only(seed)].restore()

    def mlflow_run(self, seed: int | None = None) -> TrackedRun:
        """The run of a seed in MLflow, the one that ``Report.mlflow_run`` gives: it is the active run of this thread
        within ``with trial.mlflow_run():``.
        """
        return self._tracked[self._only(seed)]

    def end(self) -> None:
        """Note that the training ended before the last possible epoch."""
        with self._turn:
            if self.goes_on:
                self.goes_on = False
                self._driver.returned(self.number)

    def fail(self, error: BaseException | str) -> None:
        """Note that the training failed. The study hands out the trial again, or gives it up (``search.retries``)."""
        with self._turn:
            if self.goes_on:
                self.goes_on = False
                message = error if isinstance(error, str) else one_line(error)
                self._driver.faulted(self.number, Fault("failed", message))

    def _only(self, seed: int | None) -> int:
        seed = self.seeds[0] if seed is None and len(self.configs) == 1 else seed
        if seed is None or seed not in self.configs:
            raise UserError(unknown("seed", seed, self.seeds))
        return seed

    def _hand_over(self, seed: int, epoch: int, score: float, metrics: Mapping[str, float]) -> None:
        if epoch <= self.epoch:
            return
        now = time.monotonic()
        self._told[seed] = SeedReport(epoch, score, metrics, now - self._began[seed])
        self._began[seed] = now
        if self._told.keys() == self.configs.keys():
            told = [self._told.pop(each) for each in self.configs]
            result = joined(self._measure, self.epoch + 1, told, told)
            for models in self._models.values():
                models.scored(result.epoch, result.score)
            decision = self._driver.report(self.number, result)
            self.epoch += 1
            self.goes_on = decision.action == "continue"


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnLoopExecution(Execution):
    """The run options of a study whose trials a loop asks for."""

    function: Any = asked

    def start(self, runs: TrackedRuns | None = None) -> Engine:
        """The engine that hands the driver to the loop."""
        return _Asked(runs or NoRuns())


@final
class _Asked(Engine):
    """Hands the driver to the loop, until it leaves."""

    words = "trials are trained by who asks for them"

    def __init__(self, runs: TrackedRuns) -> None:
        self.runs: Final = runs
        self.turn: Final = Condition(RLock())
        """The lock that a thread holds while it uses the driver."""
        self._driver: Driver | None = None
        self._left: bool | None = None

    def run(self, driver: Driver) -> None:
        """Wait until the loop has left. Raises LeftOpenError if the study is not at its end then."""
        with self.turn:
            again = self._left is not None  # for points that were asked for in the last moment
            self._driver = driver
            self.turn.notify_all()
            self.turn.wait_for(lambda: self._left is not None)
            self._driver = None
        if again or not self._left:
            raise LeftOpenError("whoever asked for trials has left")

    def wait(self) -> Driver | None:
        """Wait for the driver and return it; None if the study ended, or the loop has left."""
        with self.turn:
            self.turn.wait_for(lambda: self._driver is not None or self._left is not None)
            return self._driver

    def leave(self, *, finished: bool) -> None:
        """Note that the loop has left."""
        with self.turn:
            self._left = finished if self._left is None else self._left
            self.turn.notify_all()
