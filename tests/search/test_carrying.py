"""Clusters whose machines share no disk: hosts that see nothing of the study carry its files, and leave nothing."""

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from skipstack.search.driver.task import task_of
from skipstack.search.ledger.events import Event
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.record.folder import ABLATIONS, BEST, CHECKPOINT, GROUP, TRIALS, StudyFolder
from skipstack.search.record.reading import read_study
from skipstack.search.record.seed_races import groups
from skipstack.search.record.study_record import StudyRecord
from skipstack.search.record.trial_record import TrialRecord
from skipstack.search.workers.worker import TrainingWorker
from tests.search.chaos import SMALL
from tests.search.hosts import Hosts, missing

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(1800),
]

CARRIED = "2 of 3 machines do not see the study's folder: files are carried"

MAIN = "from skipstack.dashboards.cli import main; main()"


@dataclass
class Cluster:
    """A head without CPUs, where drivers run, and hosts 2 and 3, which see neither ``disk`` nor each other's files."""

    hosts: Hosts
    disk: Path
    temporary: Path

    def start(self, *, seeing: Sequence[int] = ()) -> None:
        """Ray on three hosts; those ``seeing`` share the disk."""
        for host, cpus in ((1, 0), (2, 1), (3, 1)):
            hidden = [] if host == 1 else [self.temporary] if host in seeing else [self.temporary, self.disk]
            self.hosts.add(host)
            self.hosts.start_ray(host, cpus=cpus, hidden=hidden, TMPDIR=str(self.temporary))

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
        """What a command that succeeds says, on stdout and on stderr."""
        process = self.driver(*arguments)
        out, error = process.communicate(timeout=900)
        assert process.returncode == 0, error
        return out, error

    def check_nothing_stays(self) -> None:
        """Of the study on hosts 2 and 3; workers that are still ending have a few seconds."""
        end = time.monotonic() + 60
        while left := [self.hosts.files(host, folder) for host in (2, 3) for folder in (self.temporary, self.disk)]:
            if not any(left):
                return
            assert time.monotonic() < end, left
            time.sleep(0.5)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """The test is skipped, with the reason, where there can be no hosts."""
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    with made(tmp_path) as found:
        yield found


@contextmanager
def made(path: Path) -> Iterator[Cluster]:
    """Hosts without Ray, which end with the ``with``."""
    disk, temporary = path / "disk", path / "temporary"
    for folder in (disk, temporary):
        folder.mkdir(exist_ok=True)
    with Hosts() as hosts:
        yield Cluster(hosts, disk, temporary)


def events(folder: Path) -> list[Event]:
    return Ledger(StudyFolder(folder).ledger).read()


def check_as_alone(folder: Path, scratch: Path) -> StudyRecord:
    """Reports, tests and best weights of all trials, also of ablations, are those of one process that trains them with
    the same decisions; no checkpoint is left.
    """
    record = read_study(folder)
    studies = {None: record, **record.ablations}
    for ablation, own in studies.items():
        assert own.finished
        study = StudyFolder(folder, ablation)
        for trial in own.trials.values():
            check_trial(own, study, trial, scratch / str(ablation) / str(trial.number))
    for place in (TRIALS, ABLATIONS):
        assert not list((folder / place).rglob(CHECKPOINT))
        assert not list((folder / place).rglob(GROUP.format("*")))
        assert not list((folder / place).rglob(".arriving*"))
    return record


def check_trial(record: StudyRecord, study: StudyFolder, trial: TrialRecord, scratch: Path) -> None:
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
        assert left.read_bytes() == (scratch / BEST).read_bytes(), trial.number
    if trial.tested:
        assert trial.tested == TrainingWorker.test(replace(task, seeds=earlier)).metrics


def test_a_search_and_an_ablation_without_a_shared_disk_are_those_of_one_machine(
    cluster: Cluster, tmp_path: Path
) -> None:
    folder = cluster.disk / "study"
    cluster.start()
    where = ("--address", cluster.hosts.head)
    out, error = cluster.skipstack("search", "quickstart", *SMALL, "--trials", "6", "--out", str(folder), *where)
    assert CARRIED in error
    assert "baseline" in out
    cluster.check_nothing_stays()
    _, error = cluster.skipstack("ablate", str(folder), "--seeds", "2", *where)
    assert CARRIED in error
    cluster.check_nothing_stays()
    record = check_as_alone(folder, tmp_path / "alone")
    assert len(record.trials) == 6
    assert record.ablations
