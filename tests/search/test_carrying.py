"""Clusters whose machines share no disk: hosts that see nothing of the study carry its files, and leave nothing."""

import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from skipstack.models.training.checkpoint import read_tensors
from skipstack.search.ledger.events import Interrupted, Reported
from skipstack.search.record.folder import CHECKPOINT, StudyFolder
from skipstack.search.record.reading import read_study
from tests.search.chaos import SMALL
from tests.search.hosts import missing
from tests.search.unshared import Cluster, check_as_alone, events, made

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(1800),
]

CARRIED = "2 of 3 machines do not see the study's folder: files are carried"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """The test is skipped, with the reason, where there can be no hosts."""
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    with made(tmp_path) as found:
        yield found


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


def test_that_files_are_carried_is_said_once_a_host_joins_that_needs_it(cluster: Cluster) -> None:
    folder = cluster.disk / "study"
    cluster.start(seeing=[2, 3])
    size = ("--trials", "12", "--epochs", "12", "--set", "search.scheduler.grace=6")
    process = cluster.driver("search", "quickstart", *size, "--out", str(folder), "--address", cluster.hosts.head)
    wait_for(lambda: third_reports(folder), process)
    cluster.add(4)
    _, error = process.communicate(timeout=900)
    assert process.returncode == 0, error
    assert error.count("files are carried") == 1
    assert CARRIED.replace("2 of 3", "1 of 4") in error


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


@pytest.mark.parametrize("what", [signal.SIGKILL, signal.SIGSTOP], ids=["dies", "hangs"])
def test_a_head_whose_ray_is_gone_interrupts_the_study_in_order(cluster: Cluster, what: signal.Signals) -> None:
    folder = cluster.disk / "study"
    cluster.start()
    size = ("--trials", "30", "--epochs", "12", "--set", "data.corpus.train=1200")
    process = cluster.driver(
        "search", "quickstart", *SMALL, *size, "--out", str(folder), "--address", cluster.hosts.head
    )
    wait_for(lambda: third_reports(folder), process)
    for ray in cluster.hosts.processes(1):
        if ray.name() == "gcs_server" or (ray.name() == "raylet" and what == signal.SIGKILL):
            ray.send_signal(what)
    _, error = process.communicate(timeout=600)
    assert process.returncode == 130, error
    assert "nothing is lost" in error
    assert isinstance(events(folder)[-1], Interrupted)


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
