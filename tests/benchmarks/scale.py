"""Studies of many trials or many workers: ``python -m tests.benchmarks.scale ROW FOLDER [SHARE]``, a driver.

``SHARE`` of the row's trials, or of its epochs where all trials run side by side. The last line is what was measured.
"""

import cProfile
import json
import os
import resource
import sys
import time
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import psutil
import ray

from skipstack.search.api.options import Execution
from skipstack.search.execution.driver.engine import run_study
from skipstack.search.execution.engines.ray import engine as module
from skipstack.search.execution.engines.ray.engine import RayEngine
from skipstack.search.ledger.events import Ended, Event, Reported, Started
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.publishing.tracking.tracking_process import TrackingProcess
from skipstack.search.study.config import SearchConfig, StudyConfig
from skipstack.search.study.task import EpochResult
from tests.benchmarks.copying import asking
from tests.benchmarks.hosted import hosted
from tests.benchmarks.page import Value, record
from tests.search.toy import ToyWorker, open_toy, toy_driver, toy_study

PLACES = 10
"""At which the driver's memory is looked at, evenly over the study."""


@dataclass(frozen=True)
class Row:
    """A study: ``workers`` run at a time, for epochs of so many ``seconds``; ``processes`` host them; None: each has
    its own.
    """

    workers: int
    trials: int
    epochs: int
    seconds: float
    scheduler: str
    processes: int | None

    @property
    def name(self) -> str:
        """Name on the page."""
        if self.scheduler != "none":
            return f"{self.trials:,} trials under {self.scheduler.upper()} on {self.workers} workers"
        if self.trials > self.workers:
            return f"{self.trials:,} trials of {self.seconds:g} s on {self.workers} workers"
        return f"{self.workers} workers that report once a second, {self.epochs} times"

    @property
    def least(self) -> float | None:
        """Seconds that it takes at least; None where a scheduler stops trials."""
        together = self.trials * self.epochs * self.seconds / self.workers
        return together if self.scheduler == "none" else None


ROWS = {
    "trials": Row(workers=16, trials=10_000, epochs=1, seconds=1.0, scheduler="none", processes=None),
    "workers": Row(workers=200, trials=200, epochs=300, seconds=1.0, scheduler="none", processes=4),
    "asha": Row(workers=500, trials=5_000, epochs=27, seconds=5.0, scheduler="asha", processes=5),
}


@dataclass
class Found:
    """``seconds`` from the first start to the last end; ``driver_ms``: of the processor, a report, in the driver's own
    process; ``memory_mb``: resident in it, over the study; ``waits_ms``: the median and the largest hundredth of what
    workers wait from a report to what they are to do next; ``recorded_after``: seconds from the end until MLflow has it
    all; ``tracker_ms``, ``tracker_mb``: as the driver's, of the process that writes MLflow.
    """

    reports: int = 0
    trials: int = 0
    seconds: float = 0.0
    driver_ms: float = 0.0
    recorded_after: float = 0.0
    memory_mb: list[int] = field(default_factory=list)
    waits_ms: list[float] = field(default_factory=list)
    tracker_mb: int = 0
    tracker_ms: float = 0.0
    load: float = 0.0


class SleepingWorker(ToyWorker):
    """Computes next to nothing, and takes its time; unless its process is another's."""

    asleep = 0.0

    def run_epoch(self) -> EpochResult:
        time.sleep(self.asleep)
        self.epoch += 1
        lane = (self.task.number * 7919 % 1000 / 1000 + self.epoch) / 1000
        accuracies = (lane,) * len(self.task.seeds)
        return EpochResult(epoch=self.epoch, score=lane, metrics={"dev_accuracy": accuracies}, seconds=self.asleep)


class SecondWorker(SleepingWorker):
    asleep = 1.0


class Watch:
    """Measures this process while events pass."""

    def __init__(self, expected: int) -> None:
        self.found = Found()
        self._every = max(1, expected // PLACES)
        self._process = psutil.Process()
        self._began: tuple[float, float] | None = None

    def __call__(self, event: Event) -> None:
        now, own = time.monotonic(), time.process_time()
        found = self.found
        if isinstance(event, Started) and self._began is None:
            self._began = now, own
        if isinstance(event, Ended):
            assert self._began is not None
            found.trials += 1
            found.seconds = now - self._began[0]
            found.driver_ms = own - self._began[1]
        if isinstance(event, Reported):
            found.reports += 1
            if found.reports % self._every == 1:
                found.memory_mb.append(self._process.memory_info().rss // 2**20)


def study(row: Row) -> StudyConfig:
    made = toy_study(trials=row.trials, proposer="random", epochs=row.epochs)
    told = made.search.model_dump(mode="json")
    if row.scheduler == "none":
        told["scheduler"] = {"kind": "none"}
    else:
        told["scheduler"] = {"kind": row.scheduler, "grace": 1, "reduction": 3}
    return made.model_copy(update={"search": SearchConfig.model_validate(told)})


def measured(row: Row, folder: Path, profile: Path | None) -> Found:
    module.Preflight = asking(True, corpora=False)  # type: ignore[misc]
    expected = row.trials * row.epochs if row.scheduler == "none" else row.trials * 2
    watch, opened = Watch(expected), open_toy(folder, study(row))
    (opened.corpora / "none").mkdir(parents=True, exist_ok=True)
    ray.init(
        "local",
        num_cpus=row.workers,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="error",
        object_store_memory=200 * 2**20,
    )
    profiler = cProfile.Profile(time.thread_time) if profile else None
    with (
        closing(
            RayEngine(SecondWorker if row.processes is None else SleepingWorker, address=None, gpus_per_trial=0)
        ) as engine,
        Ledger(opened.ledger) as ledger,
    ):
        tracker = TrackingProcess()
        Execution().track(tracker, opened)
        driver = toy_driver(opened, ledger)
        driver.listen(watch)
        if profiler:
            profiler.enable()
        waits: list[float] = []
        if row.processes is None:
            run_study(driver, engine)
        else:
            with hosted(row.processes, row.seconds) as hosts:
                run_study(driver, engine)
                waits = [each for host in hosts for each in ray.get(host.waits.remote())]
        if profiler and profile:
            profiler.disable()
            profiler.dump_stats(profile)
        began = time.monotonic()
        trouble = tracker.close()
        assert trouble is None, trouble
        found = watch.found
        found.recorded_after = time.monotonic() - began
        process = psutil.Process(tracker.pid)
        found.tracker_mb = process.memory_info().rss // 2**20
        found.tracker_ms = 1000 * sum(process.cpu_times()[:2]) / found.reports
        tracker.end()
    found.driver_ms *= 1000 / found.reports
    if waits:
        found.waits_ms = [round(1000 * each, 1) for each in np.quantile(waits, (0.5, 0.99))]
    found.load = os.getloadavg()[1]
    ray.shutdown()
    return found


def main(name: str, folder: str, share: str = "1", profile: str = "") -> None:
    row = ROWS[name]
    if row.trials > row.workers:
        row = Row(**{**asdict(row), "trials": int(row.trials * float(share))})
    else:
        row = Row(**{**asdict(row), "epochs": int(row.epochs * float(share))})
    found = measured(row, Path(folder), Path(profile) if profile else None)
    values: dict[str, Value] = {
        "seconds": found.seconds,
        **({} if row.least is None else {"at least": row.least}),
        "driver's CPU, ms a report": found.driver_ms,
        "driver, MB": [min(found.memory_mb), max(found.memory_mb)],
        **({"a worker waits, median ms": found.waits_ms[0]} if found.waits_ms else {}),
    }
    record("scale", {row.name: values})
    print(json.dumps({**asdict(found), "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}))


if __name__ == "__main__":
    main(*sys.argv[1:])
