"""Runs a study for the user's own training loop, which asks the study for trials and reports to it.

The study runs in a thread, with an engine that trains nothing and lends the study's driver to the loop.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Condition, RLock, Thread
from types import TracebackType
from typing import Final, Self, final

from skipstack.data.basis.errors import UserError, one_line, unknown
from skipstack.search.api.run import Run
from skipstack.search.execution.driver.driver import Driver
from skipstack.search.execution.driver.engine import Engine
from skipstack.search.execution.driver.faults import Fault, StudyInterruptedError
from skipstack.search.execution.workers.call_models import CallModels
from skipstack.search.execution.workers.function_worker import joined
from skipstack.search.execution.workers.reporting import (
    Report,
    ReportError,
    SeedReport,
    TrackedRun,
    TrackedRuns,
    Values,
)
from skipstack.search.study.task import TrialTask
from skipstack.spaces.function import FunctionConfig

NO_REPORT: Final = (
    "end() before a report of every seed (allowed: report(score=...), once or more, before end(); or fail(ERROR))"
)


class LeftOpenError(StudyInterruptedError):
    """Raised in the thread of a study when the user's loop leaves the study before its end."""


@final
class OwnLoop:
    """A running study for the user's own training loop. ``ask`` returns the next trial. The loop trains the trial, and
    reports with ``AskedTrial.report``. Several threads may use the object.

    Use it as a context manager. On exit without an error, the study is finished if no trial is open and no further
    trial can be asked for. Otherwise the study is left as if interrupted. ``skipstack.begin`` with the same folder then
    continues it, and its open trials are returned again.

    ``run``: the started study. ``ended``: called once the study is finished.
    """

    def __init__(self, run: Run, ended: Callable[[], None]) -> None:
        assert isinstance(run.engine, OwnLoopEngine)
        self.folder: Path = run.folder.path
        self._engine = run.engine
        self._ended = ended
        self._next: TrialTask | None = None
        """A trial that was requested from the driver only to check for further trials; ``ask`` returns it next."""
        self._thread = Thread(target=self._run, args=[run], name="study", daemon=True)
        self._thread.start()

    def ask(self) -> "AskedTrial | None":
        """The next trial to train; None if there is none now. Once all trials that ``ask`` returned have ended, None
        means that the study has no more trials.

        Trials that an earlier loop left open come first. A paused trial is returned again once it is promoted. If an
        exception has ended the study, such as one for a full disk, raises it. Raises UserError if the study has ended
        without an exception.
        """
        with self._engine.lent() as driver:
            task, self._next = self._next or driver.next(), None
        return None if task is None else AskedTrial(task, self._engine)

    def finish(self) -> None:
        """Finish the study and publish it in MLflow. Raises UserError if a trial is open or can still be asked for, and
        any exception that ended the study.
        """
        with self._engine.turn:
            if not self._at_end():
                raise UserError(
                    f"{self.folder}: the study has more trials, or open ones (allowed: to ask until there is none, and "
                    "to report each to its end)"
                )
            self._engine.leave(finished=True)
        self._thread.join()
        if self._engine.error is not None:
            raise self._engine.error
        self._ended()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None and self._engine.is_joined and self._at_end():
                self.finish()
        finally:
            self._engine.leave(finished=False)
            self._thread.join()
        failed = self._engine.error
        if kind is None and failed is not None and not isinstance(failed, LeftOpenError):
            raise failed

    def _at_end(self) -> bool:
        """Whether no trial is open and the study has no further trials."""
        with self._engine.lent() as driver:
            if driver.over and self._next is None:
                self._next = driver.next()
            return driver.over and self._next is None

    def _run(self, run: Run) -> None:
        failed = None
        try:
            run.finish()
        except BaseException as error:  # noqa: BLE001 (it is raised in the user's loop, at the next call)
            failed = error
        self._engine.leave(finished=True, error=failed)


@final
class AskedTrial:
    """A trial that the user's loop trains. ``config`` has the values of its axes. ``report(score=0.93)`` ends an epoch.

    With several seeds, ``configs[seed]`` is the config for each seed. An epoch of the trial then ends once
    ``report(score=..., seed=seed)`` was called for each seed. With replicates, each replicate of each seed has a
    number. This number replaces the seed in ``configs`` and in the methods; the config has the seed and the replicate.
    """

    def __init__(self, task: TrialTask, engine: "OwnLoopEngine") -> None:
        assert isinstance(task.config, FunctionConfig)
        self.number = task.number
        replicates, values = task.replicates, task.config.values
        self.configs: Mapping[int, Values] = {each: Values(values, replicates.arguments(each)) for each in task.seeds}
        self.epoch = task.reported
        """The last epoch that all seeds have reported, in this loop or an earlier one; 0 before the first."""
        self.goes_on = True
        """Whether the study wants another epoch of this trial."""
        self._measure = task.config.measure
        self._engine = engine
        self._told: dict[int, SeedReport] = {}
        self._began = dict.fromkeys(task.seeds, time.monotonic())
        self._models = {each: CallModels.of(task, each) for each in task.seeds}
        self._tracked = {each: engine.runs(task, each) for each in task.seeds}
        self._reports = {
            each: Report(task, each, partial(self._hand_over, each), models=models, tracked=self._tracked[each])
            for each, models in self._models.items()
        }

    @property
    def seeds(self) -> Sequence[int]:
        """The seeds of the trial; with replicates, the numbers that are the keys of ``configs``."""
        return tuple(self.configs)

    @property
    def config(self) -> Values:
        """The values of the trial's axes, and its seed under ``seed``. Raises UserError for several seeds."""
        return self.configs[self._only(None)]

    def folder(self, seed: int | None = None) -> Path:
        """The folder in which the files of a seed survive interruptions. ``seed``: optional for a single seed."""
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
        """End an epoch of a seed, as ``Report`` does, and return whether the trial continues. The study decides only
        once all seeds have reported the epoch; until then, True is returned. Reports of a trial that does not continue
        are ignored.

        Of a trial that an earlier loop left open, the first report counts as epoch ``trial.epoch`` + 1. A training that
        starts from its first epoch again passes ``epoch``, as one with checkpoints calls ``restore``: epochs that the
        ledger has do not count twice.

        Raises ReportError for an invalid report, and for a seed's next epoch before every seed has reported the last
        one. Raises UserError for a seed that the trial does not have.
        """
        seed = self._only(seed)
        report = self._reports[seed]
        if report.epoch == 0 and epoch is None and self.epoch:
            epoch = self.epoch + 1
        with self._engine.turn:
            if self.goes_on:
                self._engine.wait()
                if report.epoch > self.epoch:
                    waiting = next(each for each in self.seeds if each not in self._told)
                    raise ReportError(
                        f"report(seed={seed}): got a second epoch before epoch {report.epoch} of seed {waiting} "
                        "(allowed: each epoch of every seed, one epoch after another)"
                    )
                report(score, epoch=epoch, test=test, model=model, **metrics)
            return self.goes_on

    def log(self, *, seed: int | None = None, **figures: float) -> None:
        """Log figures of a seed within its current epoch, as ``Report.log`` does."""
        with self._engine.turn:
            self._reports[self._only(seed)].log(**figures)

    def artifact(self, path: Path | str, *, seed: int | None = None) -> None:
        """Store a copy of a file, or of a folder's files, for a seed, as ``Report.artifact`` does."""
        with self._engine.turn:
            self._reports[self._only(seed)].artifact(path)

    def checkpoint(self, state: Path | str | bytes, *, seed: int | None = None, epoch: int | None = None) -> None:
        """Save the state from which a seed resumes (``Report.checkpoint``). Ignored if the trial does not continue."""
        report = self._reports[self._only(seed)]
        with self._engine.turn:
            if self.goes_on:
                self._engine.wait()
                report.checkpoint(state, epoch=epoch)

    def restore(self, seed: int | None = None) -> Path | None:
        """The path of a seed's last checkpoint (``Report.restore``); None if the seed has none. Call this before the
        seed's first report.

        After this call, the seed's reports continue with the epoch after the checkpoint. Reports of epochs that are
        already in the ledger do not count again.
        """
        with self._engine.turn:
            return self._reports[self._only(seed)].restore()

    def mlflow_run(self, seed: int | None = None) -> TrackedRun:
        """The MLflow run of a seed, as ``Report.mlflow_run`` returns it. Within ``with trial.mlflow_run():`` it is the
        active run of the current thread.
        """
        return self._tracked[self._only(seed)]

    def end(self) -> None:
        """Report that training ended before the last possible epoch. If no epoch was reported by all seeds, the trial
        fails. Ignored if the trial does not continue.
        """
        with self._engine.turn:
            if self.epoch == 0:
                self.fail(NO_REPORT)
            elif self.goes_on:
                with self._engine.lent() as driver:
                    driver.returned(self.number)
                self.goes_on = False

    def fail(self, error: BaseException | str) -> None:
        """Report that training failed. The trial ends with the reason ``failed``, and is not returned again. Ignored if
        the trial does not continue. ``error``: the error, or a line that describes it.
        """
        with self._engine.turn:
            if self.goes_on:
                message = error if isinstance(error, str) else one_line(error)
                with self._engine.lent() as driver:
                    driver.faulted(self.number, Fault("failed", message))
                self.goes_on = False

    def _only(self, seed: int | None) -> int:
        seed = self.seeds[0] if seed is None and len(self.configs) == 1 else seed
        if seed is None:
            first = next(iter(self.seeds))
            raise UserError(
                f"got no seed for a trial of {len(self.seeds)} seeds (allowed: seed={first} and so on, one of "
                "trial.seeds; or a study that begins with seeds=1)"
            )
        if seed not in self.configs:
            raise UserError(unknown("seed", seed, self.seeds))
        return seed

    def _hand_over(self, seed: int, epoch: int, score: float, metrics: Mapping[str, float]) -> bool:
        """Take a report of a seed, hand the epoch to the driver once all seeds have reported it, and return whether the
        ledger has the epoch.
        """
        if epoch <= self.epoch:
            return True
        now = time.monotonic()
        self._told[seed] = SeedReport(epoch, score, metrics, now - self._began[seed])
        self._began[seed] = now
        if self._told.keys() == self.configs.keys():
            told = [self._told.pop(each) for each in self.configs]
            result = joined(self._measure, self.epoch + 1, told, told)
            with self._engine.lent() as driver:
                for models in self._models.values():
                    models.scored(result.epoch, result.score)
                decision = driver.report(self.number, result)
            self.epoch += 1
            self.goes_on = decision.action == "continue"
            for report in self._reports.values():
                report.recorded(self.epoch)
        return epoch <= self.epoch


@final
class OwnLoopEngine(Engine):
    """An engine that lends the driver to the user's loop, and waits until the loop leaves the study."""

    words = "trials are trained by your own loop"

    def __init__(self, runs: TrackedRuns) -> None:
        self.runs: Final = runs
        self.turn: Final = Condition(RLock())
        """The lock for any use of the driver, notified when the driver is available and when the loop has left."""
        self.error: BaseException | None = None
        """The exception that ended the study; None if there is none yet."""
        self._driver: Driver | None = None
        self._left: bool | None = None

    @property
    def is_joined(self) -> bool:
        """Whether the loop has not left the study, and no exception has ended it."""
        return self._left is None

    def run(self, driver: Driver) -> None:
        """Wait until the loop has left. Raises LeftOpenError if it left early, or had left before this call. Raises the
        exception of a driver that was lent.
        """
        with self.turn:
            # If further points were requested at the last moment, the study runs the engine again.
            again = self._left is not None
            self._driver = driver
            self.turn.notify_all()
            self.turn.wait_for(lambda: self._left is not None)
            self._driver = None
        if self.error is not None:
            raise self.error
        if again or not self._left:
            raise LeftOpenError("whoever asked for trials has left")

    def wait(self) -> Driver:
        """Wait for the driver, and return it. Raises the exception that ended the study, and UserError if the loop has
        left the study.
        """
        with self.turn:
            self.turn.wait_for(lambda: self._driver is not None or self._left is not None)
            if self._left is None and self._driver is not None:
                return self._driver
            raise self.error or UserError("the study has ended (allowed: skipstack.begin with its folder goes on)")

    @contextmanager
    def lent(self) -> Iterator[Driver]:
        """Lends the driver to one thread at a time. Raises the exceptions of ``wait``. An exception in the body ends
        the study: the driver's state may then have events that the ledger lacks.
        """
        with self.turn:
            driver = self.wait()
            try:
                yield driver
            except BaseException as error:
                self.leave(finished=False, error=error)
                raise

    def leave(self, *, finished: bool, error: BaseException | None = None) -> None:
        """Record that the loop has left the study, at its end if ``finished``, or that ``error`` has ended the study.
        Only the first ``finished`` counts.
        """
        with self.turn:
            self._left = finished if self._left is None else self._left
            self.error = error or self.error
            self.turn.notify_all()
