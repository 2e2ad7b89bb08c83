"""A study on the command line to which bad things happen at random, and what it must be in the end."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import psutil

from skipstack.data.basis.seeding import generator
from skipstack.search.ledger.events import Event, Reported
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.records.folder import StudyFolder
from skipstack.search.study.records.study_record import StudyRecord
from skipstack.search.study.records.trial_record import TrialRecord
from skipstack.search.study.task import trial_task
from tests.search.tracking_server import TrackingServer

Trouble = Literal["driver", "worker", "raylet", "tracking", "disk"]
"""What may happen: SIGKILL of a process, the tracking server killed and started again, a full disk."""

RESUMABLE = 130
LONGEST = 600
"""Seconds that a study may stand still."""

SMALL = [
    *("--set", "data.corpus.train=120", "--set", "data.corpus.dev=40", "--set", "data.corpus.test=40"),
    *("--set", "model.stack.hidden=8", "--set", "search.retries=1000"),
]


def skipstack(*arguments: str) -> subprocess.Popen[str]:
    """The command line in a process of its own, which heeds Ctrl-C even where the tests run in the background."""
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    code += "from skipstack.dashboards.cli import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "RAY_worker_niceness": "0"},
    )


def finish(process: subprocess.Popen[str]) -> str:
    out, error = process.communicate(timeout=LONGEST)
    assert process.returncode == 0, error
    return out


@dataclass
class Chaos:
    """A study that is searched with ``arguments``, and its driver. ``seed`` draws what happens to it, and when."""

    folder: Path
    arguments: Sequence[str]
    seed: int
    engine: Literal["ray", "serial"] = "serial"
    tracking: TrackingServer | None = None
    told: list[str] = field(default_factory=list)
    """What happened, for the message of a failure."""

    def __post_init__(self) -> None:
        self.draw: np.random.Generator = generator(self.seed, "chaos")
        self._options = ["--engine", self.engine, *(["--tracking-uri", self.tracking.uri] if self.tracking else [])]
        self._log = self.folder.with_name(f"{self.folder.name}.log")
        self._before: list[Event] = []
        self._process = skipstack("search", *self.arguments, *self._options, "--out", str(self.folder))

    def run(self, troubles: Sequence[Trouble]) -> str:
        """Let the study run to its end amid ``troubles``, one after some more appends each. Its report."""
        for trouble in troubles:
            if not self._advance(int(self.draw.integers(1, 6))):
                break
            time.sleep(self.draw.uniform(0, 0.1))
            self.told.append(f"{trouble} after {self.appends()} appends")
            self._strike(trouble)
        while True:
            out, error = self._process.communicate(timeout=LONGEST)
            self._check_ledger()
            if self._process.returncode not in (RESUMABLE, -signal.SIGKILL):
                assert self._process.returncode == 0, f"{self}\n{error}"
                return out
            self._resume()

    def appends(self) -> int:
        return sum(segment.read_bytes().count(b"\n") for segment in self.folder.glob("ledger/*.jsonl"))

    def events(self) -> list[Event]:
        return Ledger(StudyFolder(self.folder).ledger).read()

    def _advance(self, more: int) -> bool:
        """Wait until the ledger has grown, over drivers that end in order; False where the study is at its end."""
        wanted, begun = self.appends() + more, time.monotonic()
        while self.appends() < wanted:
            assert time.monotonic() < begun + LONGEST, f"{self}: it stands still"
            code = self._process.poll()
            if code == 0:
                return False
            if code is not None:
                assert code in (RESUMABLE, -signal.SIGKILL), f"{self}\n{self._process.communicate()}"
                self._resume()
            time.sleep(0.01)
        return True

    def _resume(self) -> None:
        self._process.communicate()
        self._check_ledger()
        self._process = skipstack("resume", str(self.folder), *self._options)

    def _check_ledger(self) -> None:
        """No event that was in the ledger is ever lost or changed."""
        now = self.events()
        assert now[: len(self._before)] == self._before, f"{self}: the ledger has lost events"
        self._before = now

    def _strike(self, trouble: Trouble) -> None:
        match trouble:
            case "driver":
                self._kill([psutil.Process(self._process.pid)])
            case "worker" | "raylet":
                named: Callable[[str], bool] = (
                    (lambda name: name == "raylet")
                    if trouble == "raylet"
                    else (lambda name: name.startswith(("ray::_Trial", "ray::Resource")))
                )
                self._kill([each for each in self._descendants() if named(_name(each))])
            case "tracking":
                assert self.tracking is not None
                self.tracking.kill()
                self.tracking.start(wait=False)
            case "disk":
                self._fill_the_disk()

    def _descendants(self) -> list[psutil.Process]:
        try:
            return psutil.Process(self._process.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return []

    def _kill(self, candidates: list[psutil.Process]) -> None:
        """One of them, by its id. What a killed driver leaves behind is ended too, as its machine would."""
        if not candidates:
            return
        victim = candidates[int(self.draw.integers(len(candidates)))]
        left = self._descendants() if victim.pid == self._process.pid else []
        for process in (victim, *left):
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue

    def _fill_the_disk(self) -> None:
        """Until the driver has ended for want of room, which it must by itself."""
        filler = self.folder.parent / "filler"
        with filler.open("wb", buffering=0) as file:
            while True:
                try:
                    file.write(bytes(4096))
                except OSError:
                    break
        _, error = self._process.communicate(timeout=LONGEST)
        filler.unlink()
        if self._process.returncode != 0:  # it may just have ended
            assert self._process.returncode == RESUMABLE, f"{self}\n{error}"
            assert "the disk is full" in error, f"{self}\n{error}"
            assert "Traceback" not in error, f"{self}\n{error}"
            self._resume()


def _name(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline()[:1]) if process.name() != "raylet" else "raylet"
    except psutil.NoSuchProcess:
        return ""


def essence(events: Sequence[Event]) -> list[dict[str, Any]]:
    """What was proposed, reported, decided, ended and tested, without the clock."""
    kinds = {"proposed", "reported", "decided", "ended", "tested", "finished"}
    return [event.model_dump(exclude={"time", "seconds"}) for event in events if event.kind in kinds]


def reports(events: Sequence[Event]) -> dict[int, list[tuple[int, float, object]]]:
    """By trial: epoch, score and metrics, in the order of the ledger."""
    found: dict[int, list[tuple[int, float, object]]] = {}
    for event in events:
        if isinstance(event, Reported):
            found.setdefault(event.trial, []).append((event.epoch, event.score, event.metrics))
    return found


def alone(record: StudyRecord, folder: Path, trial: TrialRecord, scratch: Path) -> list[tuple[int, float, object]]:
    """The curve of a trial that is trained by itself, without engine, driver or ledger."""
    from skipstack.search.trials.worker import TrainingWorker

    task = trial_task(record, StudyFolder(folder), trial.config, number=trial.number, seeds=trial.seeds, device="cpu")
    worker = TrainingWorker(_elsewhere(task, scratch / str(trial.number)))
    results = [worker.run_epoch() for _ in trial.reports]
    return [(result.epoch, result.score, result.metrics) for result in results]


def _elsewhere(task: Any, folder: Path) -> Any:
    from dataclasses import replace

    return replace(task, folder=folder)


def runs(uri: str) -> dict[str, Any]:
    """Every run of the only study in a store, by name, without what the clock gave: no name may come twice."""
    from mlflow import MlflowClient

    client = MlflowClient(uri)
    found: dict[str, Any] = {}
    experiments = [each.experiment_id for each in client.search_experiments() if each.name.startswith("skipstack/")]
    for run in client.search_runs(experiments, max_results=1000):
        assert run.info.run_name not in found, f"two runs for {run.info.run_name}"
        own = ("skipstack.study", "mlflow.parentRunId")
        tags = {name: value for name, value in run.data.tags.items() if name not in own}
        curves = {
            name: sorted((point.step, repr(point.value)) for point in client.get_metric_history(run.info.run_id, name))
            for name in run.data.metrics
            if name != "seconds"
        }
        found[str(run.info.run_name)] = (run.info.status, tags, run.data.params, curves)
    return found
