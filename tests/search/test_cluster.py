"""Tests on real clusters: hosts with addresses, an unplugged host, and jobs that are submitted and stopped."""

import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import psutil
import pytest

from skipstack.search.ledger.events import Event, Interrupted, Reported, Started
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.search.study.task import trial_task
from tests.search.chaos import SMALL, runs
from tests.search.head import RAY, Head
from tests.search.hosts import ROOT, Hosts, missing
from tests.search.sleeping import EPOCHS, SECONDS
from tests.search.toy import ToyWorker
from tests.search.tracking_server import TrackingServer

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(1800),
]

CPUS = 2
"""The CPUs of each host."""


@pytest.fixture
def hosts() -> Iterator[Hosts]:
    """A network without hosts. The test is skipped if there can be no hosts here."""
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    with Hosts() as network:
        yield network


def sleeping(
    hosts: Hosts, folder: Path, *, trials: int, seconds: float, uri: str = "", retries: int = 10
) -> subprocess.Popen[str]:
    """Start the driver of a study whose trials sleep, on host 1."""
    study = [str(folder), hosts.head, str(trials), str(seconds), str(retries), uri]
    arguments = [sys.executable, "-m", "tests.search.sleeping", *study]
    return subprocess.Popen(
        hosts.command(1, arguments),
        env=hosts.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def ended(process: subprocess.Popen[str]) -> str:
    out, _ = process.communicate(timeout=900)
    assert process.returncode == 0, out
    return out


def events(folder: Path) -> list[Event]:
    return Ledger(StudyFolder(folder).ledger).read()


def wait_for(there: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 600
    while not there():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.2)


def on_host(folder: Path, host: int, after: float = 0.0) -> list[Reported]:
    found = [event for event in events(folder) if isinstance(event, Reported) and event.time > after]
    return [report for report in found if report.metrics["host"][0] == host]


def alone(record: StudyRecord, folder: Path, trial: TrialRecord) -> list[float]:
    """Return the scores of an undisturbed trial."""
    study = StudyFolder(folder)
    task = trial_task(record, study, trial.config, number=trial.number, seeds=trial.seeds, device="cpu")
    worker = ToyWorker(task)
    return [worker.run_epoch().score for _ in range(EPOCHS)]


def test_one_host_of_three_is_unplugged_another_is_added_and_the_study_ends_right(hosts: Hosts, tmp_path: Path) -> None:
    folder = tmp_path / "study"
    for host in (1, 2, 3):
        hosts.add(host)
        hosts.start_ray(host, cpus=CPUS)
    with TrackingServer(tmp_path, host=hosts.address(254)) as server:
        process = sleeping(hosts, folder, trials=30, seconds=1.0, uri=server.uri)
        wait_for(lambda: folder.exists() and all(on_host(folder, host) for host in (1, 2, 3)), process)
        hosts.unplug(2)
        unplugged = time.time()
        set_seconds(folder, 3600.0)  # so that the study does not end before the next host joins
        hosts.add(4)
        hosts.start_ray(4, cpus=CPUS)
        wait_for(lambda: (folder / "host-4").exists(), process)
        set_seconds(folder, 0.1)
        ended(process)
        record = read_study(folder)
        assert record.finished
        assert on_host(folder, 4), "the host that was added took part"
        assert not on_host(folder, 2, after=unplugged + 5), "and the one that was unplugged no longer"
        assert {trial.reason for trial in record.trials.values()} == {"completed"}
        causes = [retry.cause for trial in record.trials.values() for retry in trial.retries]
        assert set(causes) == {"lost"}, "its trials were tried again elsewhere, and none has crashed"
        for trial in record.trials.values():
            assert [report.epoch for report in trial.reports] == list(range(1, EPOCHS + 1))
            assert [report.score for report in trial.reports] == alone(record, folder, trial)
        assert sorted(runs(server.store)) == sorted(["toy", *(f"trial {number}" for number in record.trials)])


@pytest.mark.parametrize(("announced", "cause"), [(False, "lost"), (True, "preempted")])
def test_a_host_that_is_killed_fails_no_trial_even_without_retries(
    announced: bool, cause: str, hosts: Hosts, tmp_path: Path
) -> None:
    folder = tmp_path / "study"
    for host in (1, 2):
        hosts.add(host)
        hosts.start_ray(host, cpus=CPUS)
    process = sleeping(hosts, folder, trials=8, seconds=1.0, retries=0)
    wait_for(lambda: folder.exists() and len(on_host(folder, 2)) >= 3, process)
    if announced:
        hosts.announce(2)
    hosts.kill(2)
    out = ended(process)
    record = read_study(folder)
    assert {trial.reason for trial in record.trials.values()} == {"completed"}, out
    assert {retry.cause for trial in record.trials.values() for retry in trial.retries} == {cause}
    for trial in record.trials.values():
        assert [report.score for report in trial.reports] == alone(record, folder, trial)
    assert record.lost == sum(len(trial.retries) for trial in record.trials.values()) >= 1


def set_seconds(folder: Path, seconds: float) -> None:
    """Set the seconds that an epoch sleeps, also for epochs that are running."""
    beside = folder / f".{SECONDS}"
    beside.write_text(str(seconds))
    beside.replace(folder / SECONDS)


def throughput(folder: Path, slots: int) -> float:
    """Return the reports per second while all slots were busy: from the moment when ``slots`` trials had reported until
    the last trial began.
    """
    told = events(folder)
    reports = [event for event in told if isinstance(event, Reported)]
    began = next(
        report.time
        for place, report in enumerate(reports)
        if len({each.trial for each in reports[: place + 1]}) >= slots
    )
    until = max(event.time for event in told if isinstance(event, Started))
    assert until > began
    return sum(began < report.time <= until for report in reports) / (until - began)


def test_three_hosts_do_at_least_2_7_times_the_work_of_one(hosts: Hosts, tmp_path: Path) -> None:
    hosts.add(1)
    hosts.start_ray(1, cpus=CPUS)
    ended(sleeping(hosts, tmp_path / "one", trials=10, seconds=2.0))
    for host in (2, 3):
        hosts.add(host)
        hosts.start_ray(host, cpus=CPUS)
    ended(sleeping(hosts, tmp_path / "three", trials=30, seconds=2.0))
    one, three = throughput(tmp_path / "one", CPUS), throughput(tmp_path / "three", 3 * CPUS)
    print(f"epochs a second: one host {one:.2f}, three hosts {three:.2f}, {three / one:.2f} times as many")
    assert three >= 2.7 * one


def test_a_host_with_other_code_is_named_before_the_first_trial(hosts: Hosts, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(ROOT / "skipstack", other / "skipstack", ignore=shutil.ignore_patterns("__pycache__"))
    (other / "skipstack" / "search" / "another.py").write_text('"""Another version."""\n')
    hosts.add(1)
    hosts.start_ray(1, cpus=CPUS)
    hosts.add(2)
    hosts.start_ray(2, cpus=CPUS, PYTHONPATH=str(other))
    code = "from skipstack.dashboards.cli import main; main()"
    arguments = ["search", "quickstart", *SMALL, "--address", hosts.head, "--out", str(tmp_path / "study")]
    ran = subprocess.run(
        hosts.command(1, [sys.executable, "-c", code, *arguments]),
        cwd=tmp_path,  # Ray's processes look for code in the working directory first
        env=hosts.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 2, ran.stderr
    (line,) = [line for line in ran.stderr.splitlines() if line.startswith("skipstack: ")]
    assert f"({hosts.address(2)}): its code is " in line
    assert not (tmp_path / "study").exists()


@pytest.fixture(scope="module")
def head() -> Iterator[Head]:
    with Head(PYTHONPATH=str(ROOT)) as started:
        yield started


SKIPSTACK = f"{sys.executable} -c 'from skipstack.dashboards.cli import main; main()'"


def test_a_job_that_is_stopped_ends_its_study_in_order_and_another_job_goes_on(head: Head, tmp_path: Path) -> None:
    folder = tmp_path / "study"
    study = shlex.join([*SMALL, "--trials", "40", "--epochs", "4"])
    submitted = f"{SKIPSTACK} search quickstart {study} --address auto --out {folder}"
    assert head.job("submit", "study", submitted) == "RUNNING"
    end = time.monotonic() + 600
    while not folder.exists() or sum(isinstance(event, Reported) for event in events(folder)) < 3:
        assert time.monotonic() < end, head.logs("study")
        time.sleep(0.5)
    assert head.job("stop", "study") == "STOPPED"
    told = events(folder)
    assert isinstance(told[-1], Interrupted), head.logs("study")
    assert shlex.join(["skipstack", "resume", str(folder)]) in head.logs("study")
    head.job("submit", "again", f"{SKIPSTACK} resume {folder} --address auto")
    assert head.job("wait", "again") == "SUCCEEDED", head.logs("again")
    assert read_study(folder).finished
    assert events(folder)[: len(told)] == told


@pytest.mark.parametrize(("given", "sessions"), [([], 1), (["--address", "local"], 2)])
def test_a_job_without_an_address_trains_on_the_cluster_that_it_was_submitted_to(
    head: Head, tmp_path: Path, given: list[str], sessions: int
) -> None:
    folder, job = tmp_path / "study", f"sessions-{sessions}"
    study = shlex.join([*SMALL, "--trials", "40", "--epochs", "4", *given])
    head.job("submit", job, f"{SKIPSTACK} search quickstart {study} --out {folder}")
    end = time.monotonic() + 600
    while not folder.exists() or not any(isinstance(event, Reported) for event in events(folder)):
        assert time.monotonic() < end, head.logs(job)
        time.sleep(0.5)
    assert sum(each.name() == "gcs_server" for each in psutil.Process(head.process.pid).children(recursive=True)) == (
        sessions
    )
    assert head.job("stop", job) == "STOPPED"
    assert ("RAY_ADDRESS=" in head.logs(job)) == (sessions == 1), "it is said where it trains"


def test_rays_own_command_submits_a_study_with_the_token_and_is_refused_without(tmp_path: Path) -> None:
    """With the environment that the guide names, and with none."""
    pytest.importorskip("aiohttp_cors", reason="Ray's web server is part of ray[default], which is not installed")
    folder = tmp_path / "study"
    with Head(web_server=True) as head:
        nothing = {key: value for key, value in head.environment.items() if not key.startswith("RAY_AUTH")}
        assert "Authentication required" in submit(head, "refused", "true", nothing)
        study = shlex.join([*SMALL, "--trials", "2", "--epochs", "1"])
        submit(head, "study", f"{SKIPSTACK} search quickstart {study} --out {folder}", head.environment)
        assert head.job("wait", "study") == "SUCCEEDED", head.logs("study")
    assert read_study(folder).finished


def submit(head: Head, job: str, command: str, environment: Mapping[str, str]) -> str:
    """Call `ray job submit` until Ray's web server, which starts after the cluster, takes the job or asks for a token.
    Return what it printed.
    """
    asked = ["job", "submit", "--address", head.web_address, "--no-wait", "--submission-id", job, "--"]
    end = time.monotonic() + 300
    while True:
        ran = subprocess.run(
            [sys.executable, "-P", "-c", RAY, *asked, *shlex.split(command)],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        printed = ran.stdout + ran.stderr
        if ran.returncode == 0 or "Authentication required" in printed or f"{job} already exists" in printed:
            return printed
        assert time.monotonic() < end, printed
        time.sleep(1)


def test_who_does_not_know_the_token_is_told_so_in_one_line(head: Head, tmp_path: Path) -> None:
    ran = subprocess.run(
        f"{SKIPSTACK} search quickstart {shlex.join(SMALL)} --address {head.address} --out {tmp_path / 'study'}",
        shell=True,
        env={**head.environment, "RAY_AUTH_TOKEN": "0" * 64},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 2, ran.stderr
    assert f"skipstack: --address {head.address}: no Ray cluster answers" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert not (tmp_path / "study").exists()
