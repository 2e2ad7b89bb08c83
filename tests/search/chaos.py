"""A study on the command line that suffers random faults, and checks of its result."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal

import numpy as np
import psutil

from skipstack.data.basis.seeding import generator
from skipstack.search.ledger.events import Ablated, Event, Reported, StudyOpened
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.folder import BEST, StudyFolder
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.search.study.task import trial_task
from tests.search.tracking_server import TrackingServer

Trouble = Literal[
    *("driver", "compaction", "worker", "raylet", "tracking", "disk", "weights"),
    *("full_cache", "torn_cache", "moved", "stderr", "hangup", "address_space"),
    *("host", "taken_back", "cluster", "server", "stopped", "unplugged", "full_scratch", "lost_scratch"),
]
"""The faults.

SIGKILL of a process: the driver at any moment, or while it compacts the ledger (and, in each command, once while it
measures on test), a worker, a raylet, or the tracking server, which is started again. A full disk; a torn file of best
weights; a full disk or torn files of the compile cache when the next driver begins. The study's folder is moved under
its driver; the reader of its messages dies; its terminal hangs up; its address space is limited, as by batch systems.
The last eight are for clusters without a shared disk (``unshared_chaos.py``).
"""

RESUMABLE = 130
ADDRESS_SPACE = 12_000_000_000
"""The bytes that a driver with a limit may still reserve, a fraction of what drawing in its own process would need."""
LONGEST = 600
"""The maximum number of seconds without progress of a study."""

COMPACTED = 1
"""The number of appends from which a driver compacts the ledger: so small that every driver does."""

SMALL = [
    *("--set", "data.corpus.train=120", "--set", "data.corpus.dev=40", "--set", "data.corpus.test=40"),
    *("--set", "model.stack.hidden=8", "--set", "search.retries=1000"),
]


KILLED_WHILE_IT_MEASURES = """
import psutil
from pathlib import Path
from skipstack.search.ledger.ledger import Ledger

def append(self, *events, to_ledger=Ledger.append, once=Path({once!r})):
    to_ledger(self, *events)
    if any(getattr(each, "event", each).kind == "tested" for each in events) and once.exists():
        once.unlink()
        for process in (*psutil.Process().children(recursive=True), psutil.Process()):
            process.kill()

Ledger.append = append
"""
"""Code by which a driver kills itself and its children as soon as a test score is in its ledger, if a file exists,
which it deletes. A phase of a few milliseconds cannot be hit reliably from outside.
"""


def skipstack(*arguments: str, before: str = "", cache: Path | None = None) -> subprocess.Popen[str]:
    """Start the command line in a process, after the code ``before``. It reacts to Ctrl-C even if the tests run in the
    background. ``cache``: the folder of compiled code; None for the user's.
    """
    return subprocess.Popen(
        command(*arguments, before=before),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "RAY_worker_niceness": "0"} | ({"NUMBA_CACHE_DIR": str(cache)} if cache else {}),
    )


def command(*arguments: str, before: str = "") -> list[str]:
    """Return the command that runs the command line for ``skipstack``."""
    code = f"{before}\nimport signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    code += "from skipstack.search.ledger.ledger import Ledger; "
    code += f"Ledger.__init__.__kwdefaults__['worth_compacting'] = {COMPACTED}; "
    code += "from skipstack.dashboards.cli import main; main()"
    return [sys.executable, "-c", code, *arguments]


def finish(process: subprocess.Popen[str]) -> str:
    out, error = process.communicate(timeout=LONGEST)
    assert process.returncode == 0, error
    return out


@dataclass
class Chaos:
    """A study that ``commands`` run, a search and commands that follow it, with faults. ``seed``: determines the random
    faults and their moments.
    """

    folder: Path
    commands: Sequence[Sequence[str]]
    seed: int
    engine: Literal["ray", "serial"] = "serial"
    tracking: TrackingServer | None = None
    cache: Path | None = None
    """The folder of compiled code, alone on a small disk; None for the user's."""
    told: list[str] = field(default_factory=list)
    """The faults so far, for the messages of failures."""
    torn: Counter[Path] = field(default_factory=Counter)
    """The number of times that each file of best weights was cut in half, by its path in the study's folder."""

    def __post_init__(self) -> None:
        self.draw: np.random.Generator = generator(self.seed, "chaos")
        self._once = self.folder.parent / "killed-while-it-measures"
        self.before = KILLED_WHILE_IT_MEASURES.format(once=str(self._once))
        self._options = ["--engine", self.engine, *(["--tracking-uri", self.tracking.uri] if self.tracking else [])]
        self._before: list[Event] = []
        self._fillers: list[Path] = []
        self._stage = 0
        self._process = self._begin(0)

    def run(self, troubles: Sequence[Trouble]) -> str:
        """Run each command to its end amid its share of ``troubles``. Returns the output of the last command."""
        share = -(-len(troubles) // len(self.commands))
        for stage in range(len(self.commands)):
            if stage:
                self._stage, self._process = stage, self._begin(stage)
            self._once.touch()
            for trouble in troubles[stage * share : (stage + 1) * share]:
                if not self._wait(trouble):
                    break
                self.told.append(f"{trouble} at {len(self.events())} events of command {stage}")
                self._strike(trouble)
            report = self._end()
            if not self._once.exists():
                self.told.append(f"test in command {stage}")
        return report

    def events(self) -> list[Event]:
        return Ledger(StudyFolder(self.folder).ledger).read() if (self.folder / "ledger").exists() else []

    def _begin(self, stage: int) -> subprocess.Popen[str]:
        command, *rest = self.commands[stage]
        where = ["--out", str(self.folder)] if command == "search" else [str(self.folder)]
        return self._skipstack(command, *where, *rest)

    def _skipstack(self, *arguments: str) -> subprocess.Popen[str]:
        return skipstack(*arguments, *self._options, before=self.before, cache=self.cache)

    def _end(self) -> str:
        while True:
            out, error = self._said()
            self._check_ledger()
            if self._process.returncode not in (RESUMABLE, -signal.SIGKILL):
                assert self._process.returncode == 0, f"{self}\n{error}"
                return out
            self._resume()

    def _wait(self, trouble: Trouble) -> bool:
        """Wait for a random moment for a fault. Returns False if the command has ended before."""
        match trouble:
            case "compaction":
                self._strike("driver")
                self._resume()
                compacted = self._compacted()
                return self._until(lambda: self._compacted() != compacted)
            case _:
                wanted = len(self.events()) + int(self.draw.integers(1, 8))
                reached = self._until(lambda: len(self.events()) >= wanted)
                time.sleep(self.draw.uniform(0, 0.1))
                return reached

    def _until(self, there: Callable[[], bool]) -> bool:
        """Wait for a condition, resuming the study when a driver ends in order; return False if the command ends
        before.
        """
        begun = time.monotonic()
        while not there():
            assert time.monotonic() < begun + LONGEST, f"{self}: it stands still"
            self._tend()
            code = self._process.poll()
            if code == 0:
                return False
            if code is not None:
                assert code in (RESUMABLE, -signal.SIGKILL), f"{self}\n{self._process.communicate()}"
                self._resume()
            time.sleep(0.005)
        return True

    def _tend(self) -> None:
        """Do nothing; called repeatedly while the study is waited for."""

    def _said(self) -> tuple[str, str]:
        """Wait until the driver has ended, and return its output on stdout and on stderr."""
        end = time.monotonic() + LONGEST
        while True:
            self._tend()
            try:
                out, error = self._process.communicate(timeout=1)
            except subprocess.TimeoutExpired:
                assert time.monotonic() < end, f"{self}: it does not end"
            else:
                return out or "", error or ""

    def _compacted(self) -> set[str]:
        return {path.name for path in self.folder.glob("ledger/*.gz*")}

    def _resume(self) -> None:
        """Resume the study, or repeat the command if the ledger does not have it, as a user does."""
        self._process.communicate()
        self._check_ledger()
        if sum(map(_begins, self._before)) < self._stage:
            self._process = self._begin(self._stage)
        else:
            self._process = self._skipstack("resume", str(self.folder))

    def _check_ledger(self) -> None:
        """Check that no event of the ledger was lost or changed."""
        now = self.events()
        assert now[: len(self._before)] == self._before, f"{self}: the ledger has lost events"
        self._before = now

    def _strike(self, trouble: Trouble) -> None:
        match trouble:
            case "driver" | "compaction":
                with suppress(psutil.NoSuchProcess):  # it may just have ended
                    self._kill([psutil.Process(self._process.pid)])
            case "worker" | "raylet":
                named: Callable[[str], bool] = (
                    (lambda name: name == "raylet")
                    if trouble == "raylet"
                    else (lambda name: name.startswith(("ray::_Trial", "ray::Resource")))
                )
                self._kill([each for each in self._processes() if named(name_of(each))])
            case "tracking":
                assert self.tracking is not None
                self.tracking.kill()
                self.tracking.start(wait=False)
            case "disk":
                self._fill_the_disk()
            case "weights":
                self._tear_weights()
            case "full_cache" | "torn_cache":
                self._spoil_the_cache(full=trouble == "full_cache")
            case "moved":
                self._move()
            case "stderr":
                self._leave_stderr()
            case "hangup":
                self._ends_in_order(lambda: self._process.send_signal(signal.SIGHUP))
            case "address_space":
                self._limit_address_space()
            case _:
                raise NotImplementedError(trouble)

    def _processes(self) -> list[psutil.Process]:
        """Return the processes that may be killed."""
        return self._descendants()

    def _descendants(self) -> list[psutil.Process]:
        try:
            return psutil.Process(self._process.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return []

    def _kill(self, candidates: list[psutil.Process]) -> None:
        """Kill a random process by its id. If it is the driver, its children are killed too."""
        if not candidates:
            return
        victim = candidates[int(self.draw.integers(len(candidates)))]
        left = self._descendants() if victim.pid == self._process.pid else []
        for process in (victim, *left):
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue

    def _tear_weights(self) -> None:
        """Cut a random trial's best weights in half. It is trained again if it is to be measured on test."""
        found = sorted([*self.folder.glob(f"trials/*/{BEST}"), *self.folder.glob(f"ablations/*/*/{BEST}")])
        if found:
            torn = found[int(self.draw.integers(len(found)))]
            with suppress(FileNotFoundError):  # weights that are not needed are deleted at any moment
                os.truncate(torn, torn.stat().st_size // 2)
                self.torn[torn.relative_to(self.folder)] += 1

    def _fill_the_disk(self) -> None:
        """Fill the disk until the driver has ended by itself for lack of space."""
        filler = filled(self.folder.parent)
        error = self._ended()
        filler.unlink()
        if self._process.returncode != 0:  # it may just have ended
            unheard = self._process.stderr is None or self._process.returncode == -signal.SIGKILL
            assert "the disk is full" in error or unheard, f"{self}\n{error}"
            self._resume()

    def _ends_in_order(self, happens: Callable[[], object]) -> None:
        """Cause an event at which the driver must end with one line of output, and resume the study."""
        happens()
        self._ended()
        if self._process.returncode != 0:  # it may just have ended
            self._resume()

    def _ended(self) -> str:
        """Return the messages of a driver that has ended by itself: resumable, complete, or killed as it measured."""
        _, error = self._said()
        expected = (0, RESUMABLE) if self._once.exists() else (0, RESUMABLE, -signal.SIGKILL)
        assert self._process.returncode in expected, f"{self}\n{error}"
        assert "Traceback" not in error, f"{self}\n{error}"
        return error

    def _spoil_the_cache(self, *, full: bool) -> None:
        """Make the next driver start with torn files in the cache, or with an empty cache on a full disk. There is
        space again for the driver after it.
        """
        assert self.cache is not None
        files = [path for path in self.cache.rglob("*") if path.is_file() and path not in self._fillers]
        for path in self._fillers:
            path.unlink()
        self._fillers = []
        if full:
            for path in files:
                path.unlink(missing_ok=True)
            self._fillers = [filled(self.cache)]
        else:
            for path in files:
                with suppress(FileNotFoundError):
                    os.truncate(path, int(path.stat().st_size * self.draw.uniform(0, 1)))
        self._strike("driver")
        self._resume()

    def _move(self) -> None:
        """Rename the study's folder, and resume the study in its new place."""
        place = self.folder.with_name(f"moved-{len(self.told)}")

        def moves() -> None:
            os.rename(self.folder, place)
            self.folder = place

        self._ends_in_order(moves)

    def _leave_stderr(self) -> None:
        """Close the pipe from the driver's stderr."""
        if self._process.stderr is not None:
            self._process.stderr.close()
            self._process.stderr = None

    def _limit_address_space(self) -> None:
        """Limit the address space of this driver, and of the processes that it will start."""
        with suppress(psutil.NoSuchProcess):
            driver = psutil.Process(self._process.pid)
            limit = driver.memory_info().vms + ADDRESS_SPACE
            _, most = driver.rlimit(psutil.RLIMIT_AS)  # only a privileged process may raise the hard limit again
            driver.rlimit(psutil.RLIMIT_AS, (limit, most))


def filled(folder: Path) -> Path:
    """Fill the disk of ``folder`` with a file, and return the file's path."""
    filler = folder / f"filler-{time.monotonic_ns()}"
    with filler.open("wb", buffering=0) as file:
        while True:
            try:
                file.write(bytes(4096))
            except OSError:
                return filler


def _begins(event: Event) -> bool:
    """Whether an event begins an extension or an ablation."""
    return event.kind == "extended" or (isinstance(event, Ablated) and isinstance(event.event, StudyOpened))


def name_of(process: psutil.Process) -> str:
    """Return the name that a process of Ray gives itself."""
    try:
        return " ".join(process.cmdline()[:1]) if process.name() != "raylet" else "raylet"
    except psutil.NoSuchProcess:
        return ""


def essence(events: Sequence[Event]) -> list[dict[str, Any]]:
    """Return the essential events of the search and its ablations, without times.

    The trials of a test phase are ordered by number, since one whose weights were torn is measured later.
    """
    kinds = {"proposed", "reported", "decided", "ended", "tested", "finished"}
    found: list[dict[str, Any]] = []
    for (_, tested), together in groupby(
        (each for each in numbered(events) if each[1].kind in kinds), lambda each: (each[0], each[1].kind == "tested")
    ):
        dumped = [{"ablation": of, **event.model_dump(exclude={"time", "seconds"})} for of, event in together]
        found += sorted(dumped, key=itemgetter("trial")) if tested else dumped
    return found


def numbered(events: Sequence[Event]) -> list[tuple[int | None, Event]]:
    """Return each event with the number of its ablation; None for the search."""
    return [(event.ablation, event.event) if isinstance(event, Ablated) else (None, event) for event in events]


def reports(events: Sequence[Event]) -> dict[int, list[tuple[int, float, object]]]:
    """Return epoch, score and metrics of the reports by trial, in the order of the ledger."""
    found: dict[int, list[tuple[int, float, object]]] = {}
    for event in events:
        if isinstance(event, Reported):
            found.setdefault(event.trial, []).append((event.epoch, event.score, event.metrics))
    return found


def alone(
    record: StudyRecord, folder: StudyFolder, trial: TrialRecord, scratch: Path
) -> list[tuple[int, float, object]]:
    """Return the curve of a trial that is trained by itself, without engine, driver or ledger."""
    from skipstack.search.execution.workers.worker import TrainingWorker

    task = trial_task(record, folder, trial.config, number=trial.number, seeds=trial.seeds, device="cpu")
    worker = TrainingWorker(_elsewhere(task, scratch / str(trial.number)))
    results = [worker.run_epoch() for _ in trial.reports]
    return [(result.epoch, result.score, result.metrics) for result in results]


def _elsewhere(task: Any, folder: Path) -> Any:
    from dataclasses import replace

    return replace(task, folder=folder)


OF_A_STORE = (
    *("skipstack.study", "mlflow.parentRunId", "skipstack.ledger", "skipstack.files", "mlflow.source.name"),
    *("skipstack.written", "skipstack.published", "mlflow.source.git.commit"),
)
"""Tags that differ between two stores of the same decisions: ids, copies with their times, the command typed last and
the commit at that time, and how many events of a ledger a store has, the ends of killed drivers among them.
"""


def runs(uri: str) -> dict[str, Any]:
    """Return the content of all runs of the only study in a store, by name, without times. Names must be unique within
    an ablation.
    """
    from mlflow import MlflowClient

    client = MlflowClient(uri)
    found: dict[str, Any] = {}
    experiments = [each.experiment_id for each in client.search_experiments() if each.name.startswith("skipstack/")]
    for run in client.search_runs(experiments, max_results=1000):
        ablation = run.data.tags.get("skipstack.ablation") if "skipstack.row" in run.data.tags else None
        key = str(run.info.run_name) if ablation is None else f"ablation {ablation}: {run.info.run_name}"
        assert key not in found, f"two runs for {key}"
        tags = {name: value for name, value in run.data.tags.items() if name not in OF_A_STORE}
        if "skipstack.trial" not in tags:
            tags.pop("mlflow.note.content", None)  # the report, which has the times of trials
        curves = {
            name: sorted((point.step, repr(point.value)) for point in client.get_metric_history(run.info.run_id, name))
            for name in run.data.metrics
            if name != "seconds"
        }
        found[key] = (run.info.status, tags, run.data.params, curves)
    return found
