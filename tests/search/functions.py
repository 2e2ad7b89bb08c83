"""Studies of functions, run one trial after another, without MLflow and without Ray."""

import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from skipstack.search.api.opening import open_study
from skipstack.search.execution.driver.driver import Driver
from skipstack.search.execution.driver.engine import run_study
from skipstack.search.execution.driver.functions import source_of
from skipstack.search.execution.engines.serial import SerialEngine
from skipstack.search.execution.workers.function_worker import FunctionWorkers
from skipstack.search.execution.workers.reporting import Report
from skipstack.search.ledger.events import Event
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.strategy.schedulers.scheduler import Decision
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.study_files.study_file import load_study
from skipstack.search.study.task import EpochResult

Config = Mapping[str, Any]
Function = Callable[[Config, Report], object]

LINE: dict[str, Any] = {"axes": {"x": {"real": [0.0, 4.0]}}, "search": {"proposer": "random"}}


def peak(config: Config, epoch: int) -> float:
    """A curve that rises towards a height which is the greater the nearer x is to 1; the seeds lie a bit apart."""
    return (1 - (config["x"] - 1) ** 2) * (1 - 0.5**epoch) + 0.01 * math.sin(config["seed"])


def rising(config: Config, report: Report) -> None:
    """Four epochs of that curve."""
    for epoch in range(1, 5):
        report(score=peak(config, epoch))


def open_function(
    path: Path, function: Function, study: Any = LINE, *, direction: Any = "maximise", **options: Any
) -> StudyFolder:
    """A study's folder with a ledger that begins it."""
    config, corpora = load_study(study, function=source_of(function, direction), **options)
    folder = StudyFolder(path)
    open_study(config, folder, data_dir=None, corpus_folder=corpora, clock=lambda: 1.0)
    return folder


class Killed(BaseException):
    """Ends a study as a kill does: nothing is written afterwards."""


class KilledDriver(Driver):
    """Dies once a trial has reported its third epoch."""

    def report(self, number: int, result: EpochResult) -> Decision:
        decision = super().report(number, result)
        if result.epoch == 3:
            raise Killed
        return decision


def run_function(folder: StudyFolder, function: Function, kind: type[Driver] = Driver) -> StudyRecord:
    """Run what is left of it to its end."""
    with Ledger(folder.ledger) as ledger:
        driver = kind(folder, ledger, device="cpu", clock=time.time)
        run_study(driver, SerialEngine(FunctionWorkers(function)))
        return driver.record


def searched(path: Path, function: Function, study: Any = LINE, **options: Any) -> StudyRecord:
    """The record of a study from its beginning to its end."""
    return run_function(open_function(path, function, study, **options), function)


def told(folder: Path) -> list[Event]:
    """All that happened, whenever it did, and however long it took."""
    timeless = {"time": 0.0, "seconds": 0.0}
    return [
        event.model_copy(update={name: value for name, value in timeless.items() if hasattr(event, name)})
        for event in Ledger(folder / "ledger").read()
    ]
