"""Clusters of machines without a shared disk, and checks of studies that ran on them."""

import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from skipstack.search.execution.workers.worker import TrainingWorker
from skipstack.search.ledger.events import Event
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.folder import ABLATIONS, BEST, CHECKPOINT, GROUP, TRIALS, StudyFolder
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.record.seed_races import groups
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.search.study.task import task_of
from tests.search.hosts import Hosts

UNTORN: Final[Mapping[Path, int]] = {}

MAIN = "from skipstack.dashboards.cli import main; main()"


@dataclass
class Cluster:
    """A head without CPUs, where drivers run, and hosts 2 and 3, which see neither ``disk`` nor each other's files."""

    hosts: Hosts
    disk: Path
    temporary: Path

    def start(self, hosts: Sequence[int] = (2, 3), *, seeing: Sequence[int] = ()) -> None:
        """Start Ray on the head and on other ``hosts``, of which those in ``seeing`` share the disk."""
        if 1 not in self.hosts:
            self.hosts.add(1)
        self.hosts.start_ray(1, cpus=0, TMPDIR=str(self.temporary))
        for host in hosts:
            self.add(host, sees=host in seeing)

    def add(self, host: int, *, sees: bool = False, wait: bool = True) -> None:
        """Add a host with one CPU. ``wait``: whether to wait until it has joined."""
        hidden = [self.temporary] if sees else [self.temporary, self.disk]
        self.hosts.add(host)
        self.hosts.start_ray(host, cpus=1, hidden=hidden, wait=wait, TMPDIR=str(self.temporary))

    def driver(self, *arguments: str, code: str = MAIN, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.hosts.command(1, [sys.executable, "-P", "-c", code, *arguments]),
            cwd=self.disk,
            env={**self.hosts.environment(), **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def skipstack(self, *arguments: str) -> tuple[str, str]:
        """Run a command, which must succeed, and return its output on stdout and on stderr."""
        process = self.driver(*arguments)
        out, error = process.communicate(timeout=900)
        assert process.returncode == 0, error
        return out, error

    def check_nothing_stays(self, hosts: Sequence[int] = (2, 3)) -> None:
        """Check that nothing of the study is left on hosts that do not see it, within a minute, since workers may still
        be ending. Files that torch keeps for the optimiser of a user's function are ignored.
        """
        end = time.monotonic() + 60
        while left := [
            name
            for host in hosts
            for each in (self.temporary, self.disk)
            for name in self.hosts.files(host, each)
            if not name.startswith("torchinductor_")
        ]:
            assert time.monotonic() < end, left
            time.sleep(0.5)


@contextmanager
def made(path: Path) -> Iterator[Cluster]:
    """Create hosts without Ray, which end with the ``with`` statement."""
    disk, temporary = path / "disk", path / "temporary"
    for folder in (disk, temporary):
        folder.mkdir(exist_ok=True)
    with Hosts() as hosts:
        yield Cluster(hosts, disk, temporary)


def events(folder: Path) -> list[Event]:
    return Ledger(StudyFolder(folder).ledger).read()


def check_as_alone(folder: Path, scratch: Path, torn: Mapping[Path, int] = UNTORN) -> StudyRecord:
    """Check that reports, tests and best weights of all trials, also of ablations, are those of one process that trains
    them with the same decisions, and that no checkpoint is left. ``torn``: by path in the study's folder, how often
    weights may have been cut in half.
    """
    record = read_study(folder)
    studies = {None: record, **record.ablations}
    for ablation, own in studies.items():
        assert own.finished
        study = StudyFolder(folder, ablation)
        for trial in own.trials.values():
            best = (study.trial(trial.number) / BEST).relative_to(folder)
            check_trial(own, study, trial, scratch / str(ablation) / str(trial.number), torn=torn.get(best, 0))
    for place in (TRIALS, ABLATIONS):
        assert not list((folder / place).rglob(CHECKPOINT))
        assert not list((folder / place).rglob(GROUP.format("*")))
        assert not list((folder / place).rglob(".arriving*"))
    return record


def check_trial(record: StudyRecord, study: StudyFolder, trial: TrialRecord, scratch: Path, *, torn: int = 0) -> None:
    assert trial.reason in ("completed", "stopped"), trial.message
    task = replace(task_of(record, study, trial.number, device="cpu"), folder=scratch, time_left=None)
    earlier: tuple[int, ...] = ()
    for group in groups(trial.reports):
        seeds = group[0].seeds or trial.seeds
        worker = TrainingWorker(replace(task, seeds=seeds, earlier=earlier, reported=0))
        for reported in group:
            result = worker.run_epoch()
            assert (reported.epoch, reported.score) == (result.epoch, result.score), trial.number
            assert reported.metrics == result.metrics
        earlier += seeds
    left = study.trial(trial.number) / BEST
    if study.trials.exists() and (left.exists() or record.study.search.keep_checkpoints is None):
        whole, found = (scratch / BEST).read_bytes(), left.read_bytes()
        halved = [whole[: len(whole) >> times] for times in range(torn + 1)]
        assert found in halved, f"trial {trial.number}: {len(found)} of {len(whole)} bytes, halved {torn} times"
    if trial.tested:
        assert trial.tested == TrainingWorker.test(replace(task, seeds=earlier)).metrics
