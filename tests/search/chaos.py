"""A study on the command line to which bad things happen at random, and what it must be in the end."""

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
"""What may happen: SIGKILL of a process (the driver at any moment, or while it compacts the ledger; and in each command
once while it measures on test), the tracking server killed and started again, a full disk, a file of best weights that
is torn; the disk of the compile cache full, or its files torn, when the next driver begins; the study's folder moved
under its driver; a reader of its messages that dies; a terminal that hangs up; a limit on its address space, as batch
systems set one. The last eight are those of clusters that share no disk (``unshared_chaos.py``)."""

RESUMABLE = 130
ADDRESS_SPACE = 12_000_000_000
"""Bytes that a driver under a limit may still reserve; drawing in its process would want several times as many."""
LONGEST = 600
"""Seconds that a study may stand still."""

COMPACTED = 1
"""Appends that are worth compacting here, so that every driver does."""

SMALL = [
    *("--set", "data.corpus.train=120", "--set", "data.corpus.dev=40", "--set", "data.corpus.test=40"),
    *("--set", "model.stack.hidden=8", "--set", "search.retries=1000"),
]


KILLED_WHILE_IT_MEASURES = """
import os, signal, psutil
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
"""Code of a driver that kills itself, and what it has started, as soon as a score on test is in its ledger, if a file
is there, which goes. From outside, a phase that takes some milliseconds cannot be hit for sure."""


def skipstack(*arguments: str, before: str = "", cache: Path | None = None) -> subprocess.Popen[str]:
    """The command line in a process of its own, which heeds Ctrl-C even where the tests run in the background, and runs
    other code ``before``. ``cache``: the folder of compiled code, in place of the user's.
    """
    return subprocess.Popen(
        command(*arguments, before=before),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "RAY_worker_niceness": "0"} | ({"NUMBA_CACHE_DIR": str(cache)} if cache else {}),
    )


def command(*arguments: str, before: str = "") -> list[str]:
    """What runs the command line so."""
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
    """A study that ``commands`` run, a search and what follows it. ``seed`` draws what happens to it, and when."""

    folder: Path
    commands: Sequence[Sequence[str]]
    seed: int
    engine: Literal["ray", "serial"] = "serial"
    tracking: TrackingServer | None = None
    cache: Path | None = None
    """The folder of compiled code, the only one on its small disk; None: the user's."""
    told: list[str] = field(default_factory=list)
    """What happened, for the message of a failure."""
    torn: Counter[Path] = field(default_factory=Counter)
    """How often best weights were torn, each time to half of what they were, from the study's folder on."""

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
        """Let each command run to its end amid its part of ``troubles``. The report of the last."""
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
        """Until the moment for a trouble has come; False where the command has ended before."""
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
        """Wait, over drivers that end in order; False where the command has ended before it was there."""
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
        """Called again and again while the study is waited for."""

    def _said(self) -> tuple[str, str]:
        """What the driver has said on stdout and on stderr, once it has ended."""
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
        """What a user does: resume, or type the command again where it did not come into the ledger."""
        self._process.communicate()
        self._check_ledger()
        if sum(map(_begins, self._before)) < self._stage:
            self._process = self._begin(self._stage)
        else:
            self._process = self._skipstack("resume", str(self.folder))

    def _check_ledger(self) -> None:
        """No event that was in the ledger is ever lost or changed."""
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
        """Those of Ray, and others."""
        return self._descendants()

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

    def _tear_weights(self) -> None:
        """Of one trial, ended or not, which is then trained again if it is to be measured."""
        found = sorted([*self.folder.glob(f"trials/*/{BEST}"), *self.folder.glob(f"ablations/*/*/{BEST}")])
        if found:
            torn = found[int(self.draw.integers(len(found)))]
            with suppress(FileNotFoundError):  # those that nobody needs go at any moment
                os.truncate(torn, torn.stat().st_size // 2)
                self.torn[torn.relative_to(self.folder)] += 1

    def _fill_the_disk(self) -> None:
        """Until the driver has ended for want of room, which it must by itself."""
        filler = filled(self.folder.parent)
        error = self._ended()
        filler.unlink()
        if self._process.returncode != 0:  # it may just have ended
            unheard = self._process.stderr is None or self._process.returncode == -signal.SIGKILL
            assert "the disk is full" in error or unheard, f"{self}\n{error}"
            self._resume()

    def _ends_in_order(self, happens: Callable[[], object]) -> None:
        """Something happens that ends the driver, which says so in one line, and is resumed."""
        happens()
        self._ended()
        if self._process.returncode != 0:  # it may just have ended
            self._resume()

    def _ended(self) -> str:
        """What the driver said, which has ended by itself: resumable, all done, or killed as it measured."""
        _, error = self._said()
        expected = (0, RESUMABLE) if self._once.exists() else (0, RESUMABLE, -signal.SIGKILL)
        assert self._process.returncode in expected, f"{self}\n{error}"
        assert "Traceback" not in error, f"{self}\n{error}"
        return error

    def _spoil_the_cache(self, *, full: bool) -> None:
        """The next driver finds torn files there, or none, and no room for any; the one after it has room again."""
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
        """To a name beside it, where the study is resumed."""
        place = self.folder.with_name(f"moved-{len(self.told)}")

        def moves() -> None:
            os.rename(self.folder, place)
            self.folder = place

        self._ends_in_order(moves)

    def _leave_stderr(self) -> None:
        """Nobody reads the messages of this driver any more."""
        if self._process.stderr is not None:
            self._process.stderr.close()
            self._process.stderr = None

    def _limit_address_space(self) -> None:
        """Of this driver, and of the processes that it is yet to start."""
        with suppress(psutil.NoSuchProcess):
            driver = psutil.Process(self._process.pid)
            limit = driver.memory_info().vms + ADDRESS_SPACE
            _, most = driver.rlimit(psutil.RLIMIT_AS)  # which only a privileged process may raise again
            driver.rlimit(psutil.RLIMIT_AS, (limit, most))


def filled(folder: Path) -> Path:
    """A file in ``folder`` that leaves no room on its disk."""
    filler = folder / f"filler-{time.monotonic_ns()}"
    with filler.open("wb", buffering=0) as file:
        while True:
            try:
                file.write(bytes(4096))
            except OSError:
                return filler


def _begins(event: Event) -> bool:
    """Whether an extension or an ablation begins with it."""
    return event.kind == "extended" or (isinstance(event, Ablated) and isinstance(event.event, StudyOpened))


def name_of(process: psutil.Process) -> str:
    """The name of a process of Ray, as it gives itself one."""
    try:
        return " ".join(process.cmdline()[:1]) if process.name() != "raylet" else "raylet"
    except psutil.NoSuchProcess:
        return ""


def essence(events: Sequence[Event]) -> list[dict[str, Any]]:
    """What was proposed, reported, decided, ended and tested, in the search and in its ablations, without the clock.

    The trials of a test phase stand in the order of their numbers: one whose weights were torn is measured later.
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
    """Each event with the number of the ablation that it belongs to; None: to the search."""
    return [(event.ablation, event.event) if isinstance(event, Ablated) else (None, event) for event in events]


def reports(events: Sequence[Event]) -> dict[int, list[tuple[int, float, object]]]:
    """By trial: epoch, score and metrics, in the order of the ledger."""
    found: dict[int, list[tuple[int, float, object]]] = {}
    for event in events:
        if isinstance(event, Reported):
            found.setdefault(event.trial, []).append((event.epoch, event.score, event.metrics))
    return found


def alone(
    record: StudyRecord, folder: StudyFolder, trial: TrialRecord, scratch: Path
) -> list[tuple[int, float, object]]:
    """The curve of a trial that is trained by itself, without engine, driver or ledger."""
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
    """Every run of the only study in a store, by name, without what the clock gave: no name may come twice, but in
    another ablation.
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
            tags.pop("mlflow.note.content", None)  # the report, which says how long trials took
        curves = {
            name: sorted((point.step, repr(point.value)) for point in client.get_metric_history(run.info.run_id, name))
            for name in run.data.metrics
            if name != "seconds"
        }
        found[key] = (run.info.status, tags, run.data.params, curves)
    return found
