"""Clusters whose machines share no disk: hosts that see nothing of the study carry its files, and leave nothing."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from skipstack.models.training.checkpoint import read_tensors
from skipstack.search.driver.task import task_of
from skipstack.search.ledger.events import Event, Reported
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
        self.hosts.add(1)
        self.hosts.start_ray(1, cpus=0, TMPDIR=str(self.temporary))
        for host in (2, 3):
            self.add(host, sees=host in seeing)

    def add(self, host: int, *, sees: bool = False) -> None:
        """Another host with a CPU."""
        hidden = [self.temporary] if sees else [self.temporary, self.disk]
        self.hosts.add(host)
        self.hosts.start_ray(host, cpus=1, hidden=hidden, TMPDIR=str(self.temporary))

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

    def check_nothing_stays(self, hosts: Sequence[int] = (2, 3)) -> None:
        """Of the study on hosts that do not see it; workers that are still ending have a few seconds."""
        end = time.monotonic() + 60
        while any(left := [self.hosts.files(host, each) for host in hosts for each in (self.temporary, self.disk)]):
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


def test_racing_seeds_without_a_shared_disk_are_those_of_one_machine(cluster: Cluster, tmp_path: Path) -> None:
    """Each group of seeds is another task, which may go on on another host. One host shares the disk here."""
    folder = cluster.disk / "study"
    cluster.start(seeing=[2])
    race = ("--seeds", "4", "--set", "search.scheduler.resource=seeds", "--set", "search.scheduler.grace=1")
    size = ("--trials", "6", "--epochs", "3", "--address", cluster.hosts.head)
    _, error = cluster.skipstack("search", "quickstart", *SMALL, *race, *size, "--out", str(folder))
    assert CARRIED.replace("2 of 3", "1 of 3") in error
    record = check_as_alone(folder, tmp_path / "alone")
    assert {len(trial.seeds) for trial in record.trials.values()} > {1}
    cluster.check_nothing_stays(hosts=[3])


FUNCTION = """
import sys
import skipstack

def objective(config, report):
    kept = report.folder / "state" / "epoch"
    kept.parent.mkdir(exist_ok=True)
    begun = int(kept.read_text()) if kept.exists() else 0
    for epoch in range(begun + 1, 10):
        weights = report.folder / f"weights-{epoch}"
        weights.write_bytes(bytes([epoch]) * int(10_000 * (1 + config["x"])))
        (report.folder / f"weights-{epoch - 1}").unlink(missing_ok=True)
        kept.write_text(str(epoch))
        print("epoch", epoch, "is saved")
        report(score=epoch / 10 - (config["x"] - 1) ** 2, epoch=epoch)

folder, address = sys.argv[1:]
skipstack.search({"axes": {"x": {"real": [0.0, 4.0]}}}, objective, trials=8, epochs=9, out=folder, address=address)
"""


def test_what_a_function_leaves_elsewhere_is_in_the_study_s_folder(cluster: Cluster) -> None:
    folder = cluster.disk / "study"
    cluster.start()
    process = cluster.driver(str(folder), cluster.hosts.head, code=FUNCTION)
    _, error = process.communicate(timeout=600)
    assert process.returncode == 0, error
    record = read_study(folder)
    assert len(record.trials) == 8
    assert {trial.reason for trial in record.trials.values()} == {"completed", "stopped"}
    for trial in record.trials.values():
        x, epochs = trial.point["x"], len(trial.reports)
        assert isinstance(x, float)
        assert [report.score for report in trial.reports] == [
            epoch / 10 - (x - 1) ** 2 for epoch in range(1, epochs + 1)
        ]
        assert f"epoch {epochs} is saved" in StudyFolder(folder).log(trial.number).read_text()
        for seed in trial.seeds:
            left = StudyFolder(folder).trial(trial.number) / f"seed-{seed}"
            files = [path for path in left.rglob("*") if path.is_file()]
            assert {path.relative_to(left).as_posix(): path.read_bytes() for path in files} == {
                f"weights-{epochs}": bytes([epochs]) * int(10_000 * (1 + x)),
                "state/epoch": str(epochs).encode(),
            }
    cluster.check_nothing_stays()


LONG = ("--trials", "6", "--epochs", "12", "--set", "search.scheduler.grace=6")


def third_reports(folder: Path) -> bool:
    """Whether a trial has reported three epochs."""
    return folder.exists() and any(isinstance(event, Reported) and event.epoch == 3 for event in events(folder))


def wait_for(there: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 600
    while not there():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.1)


def test_of_a_killed_host_only_what_it_had_not_sent_is_lost_and_one_that_joins_is_carried_to(
    cluster: Cluster, tmp_path: Path
) -> None:
    folder = cluster.disk / "study"
    cluster.start()
    size = ("--trials", "12", "--epochs", "12", "--set", "search.retries=0", "--set", "search.scheduler.grace=6")
    process = cluster.driver("search", "quickstart", *size, "--out", str(folder), "--address", cluster.hosts.head)
    wait_for(lambda: third_reports(folder), process)
    cluster.hosts.kill(3)
    cluster.add(4)
    wait_for(lambda: any("/corpora/" in name for name in cluster.hosts.files(4, cluster.temporary)), process)
    _, error = process.communicate(timeout=900)
    assert process.returncode == 0, error
    record = check_as_alone(folder, tmp_path / "alone")
    assert {retry.cause for trial in record.trials.values() for retry in trial.retries} == {"lost"}
    cluster.check_nothing_stays(hosts=[2, 4])


def test_after_driver_and_cluster_were_killed_fresh_hosts_go_on(tmp_path: Path) -> None:
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    with made(tmp_path) as cluster:
        folder, head = cluster.disk / "study", cluster.hosts.head
        cluster.start()
        process = cluster.driver("search", "quickstart", *SMALL, *LONG, "--out", str(folder), "--address", head)
        wait_for(lambda: third_reports(folder), process)
        process.kill()
        process.communicate()
    before = events(folder)
    with made(tmp_path) as cluster:
        cluster.start()
        cluster.skipstack("resume", str(folder), "--address", cluster.hosts.head)
        cluster.check_nothing_stays()
    assert events(folder)[: len(before)] == before
    check_as_alone(folder, tmp_path / "alone")


def test_an_interrupt_brings_home_what_was_trained_and_resume_goes_on_from_there(
    cluster: Cluster, tmp_path: Path
) -> None:
    folder = cluster.disk / "study"
    cluster.start()
    where = ("--address", cluster.hosts.head)
    process = cluster.driver("search", "quickstart", *SMALL, *LONG, "--out", str(folder), *where)
    wait_for(lambda: third_reports(folder), process)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=300)
    assert process.returncode == 130, error
    cluster.check_nothing_stays()
    record = read_study(folder)
    for trial in record.trials.values():
        if trial.reason is None and trial.reports:
            _, notes = read_tensors(StudyFolder(folder).trial(trial.number) / CHECKPOINT)
            assert notes["result"]["epoch"] >= len(trial.reports), "nothing has to be trained again"
    cluster.skipstack("resume", str(folder), *where)
    cluster.check_nothing_stays()
    check_as_alone(folder, tmp_path / "alone")
