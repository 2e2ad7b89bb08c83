"""Runs studies of functions, one trial after another, without MLflow and without Ray."""

import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from skipstack.search.analysis.ablation.options import AblationOptions
from skipstack.search.api.ablation import AblationHistory, prepare_ablation
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
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.study_files.study_file import load_study
from skipstack.search.study.task import EpochResult

Config = Mapping[str, Any]
Function = Callable[[Config, Report], object]

LINE: dict[str, Any] = {"axes": {"x": {"real": [0.0, 4.0]}}, "search": {"proposer": "random"}}


def peak(config: Config, epoch: int) -> float:
    """Return a score that rises towards a maximum, which is higher the nearer x is to 1, and differs between seeds."""
    return (1 - (config["x"] - 1) ** 2) * (1 - 0.5**epoch) + 0.01 * math.sin(config["seed"])


def rising(config: Config, report: Report) -> None:
    """Report four epochs of ``peak``."""
    for epoch in range(1, 5):
        report(score=peak(config, epoch))


def open_function(
    path: Path, function: Function, study: Any = LINE, *, direction: Any = "maximise", **options: Any
) -> StudyFolder:
    """Create a study's folder, with a ledger that begins the study."""
    config, corpora = load_study(study, function=source_of(function, direction), **options)
    folder = StudyFolder(path)
    open_study(config, folder, data_dir=None, corpus_folder=corpora)
    return folder


class Killed(BaseException):
    """Ends a study like a kill: nothing is written afterwards."""


class KilledDriver(Driver):
    """A driver that dies once a trial has reported its third epoch."""

    def report(self, number: int, result: EpochResult) -> Decision:
        decision = super().report(number, result)
        if result.epoch == 3:
            raise Killed
        return decision


def run_function(folder: StudyFolder, function: Function, kind: type[Driver] = Driver) -> StudyRecord:
    """Run the rest of a study to its end."""
    with Ledger(folder.ledger) as ledger:
        driver = kind(folder, ledger, device="cpu", clock=time.time)
        run_study(driver, SerialEngine(FunctionWorkers(function)))
        return driver.record


def ablate_function(folder: StudyFolder, function: Function, *, seeds: int) -> StudyRecord:
    """Run the next ablation of a finished study, and return the study's record."""
    prepared = prepare_ablation(folder.path, AblationOptions(seeds=seeds), data_dir=None)
    number = prepared.experiment.number
    with Ledger(folder.ledger) as ledger:
        own, history = StudyFolder(folder.path, number), AblationHistory(ledger, number)
        driver = Driver(own, history, device="cpu", clock=time.time, first=list(prepared.first))
        run_study(driver, SerialEngine(FunctionWorkers(function)))
    return read_study(folder.path)


def searched(path: Path, function: Function, study: Any = LINE, **options: Any) -> StudyRecord:
    """Run a study from its beginning to its end, and return its record."""
    return run_function(open_function(path, function, study, **options), function)


def told(folder: Path) -> list[Event]:
    """Return all events of a study without times and durations."""
    timeless = {"time": 0.0, "seconds": 0.0}
    return [
        event.model_copy(update={name: value for name, value in timeless.items() if hasattr(event, name)})
        for event in Ledger(folder / "ledger").read()
    ]
