"""On clusters without a shared disk, hosts copy the study's files, and leave nothing behind."""

import itertools
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from mlflow import MlflowClient

from skipstack.models.training.checkpoint import read_tensors
from skipstack.search.ledger.events import Interrupted, Reported
from skipstack.search.study.record.folder import CALL_CHECKPOINTS, CHECKPOINT, StudyFolder
from skipstack.search.study.record.reading import read_study
from tests.search.chaos import SMALL
from tests.search.hosts import missing
from tests.search.tracking_server import TrackingServer
from tests.search.unshared import Cluster, check_as_alone, events, made

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(1800),
]

COPIED = "2 of 3 machines do not see the study's folder: files are copied"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A cluster. The test is skipped if there can be no hosts here."""
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
    size = ("--trials", "6", "--set", "search.seed=3")  # the best trial is not the base, so it can be ablated
    out, error = cluster.skipstack("search", "quickstart", *SMALL, *size, "--out", str(folder), *where)
    assert COPIED in error
    assert "baseline" in out
    cluster.check_nothing_stays()
    _, error = cluster.skipstack("ablate", str(folder), "--seeds", "2", *where)
    assert COPIED in error
    cluster.check_nothing_stays()
    record = check_as_alone(folder, tmp_path / "alone")
    assert len(record.trials) == 6
    assert record.ablations


def test_racing_seeds_without_a_shared_disk_are_those_of_one_machine(cluster: Cluster, tmp_path: Path) -> None:
    """Each group of seeds is a separate task, which may continue on another host. One host shares the disk here."""
    folder = cluster.disk / "study"
    cluster.start(seeing=[2])
    race = ("--seeds", "4", "--set", "search.scheduler.resource=seeds", "--set", "search.scheduler.grace=1")
    size = ("--trials", "6", "--epochs", "3", "--address", cluster.hosts.head)
    _, error = cluster.skipstack("search", "quickstart", *SMALL, *race, *size, "--out", str(folder))
    assert COPIED.replace("2 of 3", "1 of 3") in error
    record = check_as_alone(folder, tmp_path / "alone")
    assert max(len(trial.seeds) for trial in record.trials.values()) > 1, "no trial had a second group"
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


LOGS = """
import sys
import mlflow
import skipstack
from matplotlib.figure import Figure
from sklearn.linear_model import SGDClassifier

def objective(config, report):
    with report.mlflow_run as run:
        for epoch in (1, 2, 3):
            mlflow.log_metric("inner", 10 * epoch + config["seed"], step=epoch)
            report(score=epoch * config["x"])
        mlflow.log_figure(Figure(), "figure.png")
        mlflow.log_text(f"{config['x']} {config['seed']}", "words.txt")
        model = SGDClassifier().fit([[0.0], [1.0]], [0, 1])
        mlflow.sklearn.log_model(model, name="linear", pip_requirements=["scikit-learn"])

folder, address, uri = sys.argv[1:]
space = {"axes": {"x": {"choice": [1.0, 2.0]}}, "search": {"proposer": "grid", "scheduler": "none"}}
skipstack.search(space, objective, trials=2, seeds=2, epochs=4, out=folder, address=address, tracking_uri=uri)
"""


def test_what_functions_log_on_hosts_stands_in_the_runs_of_a_server(cluster: Cluster, tmp_path: Path) -> None:
    cluster.start()
    with TrackingServer(tmp_path, host=cluster.hosts.address(254), passes_on=True) as server:
        process = cluster.driver(str(cluster.disk / "study"), cluster.hosts.head, server.uri, code=LOGS)
        _, error = process.communicate(timeout=600)
        assert process.returncode == 0, error
        client = MlflowClient(server.uri)
        found = client.search_runs([each.experiment_id for each in client.search_experiments()])
        runs = {run.info.run_name: run for run in found}
        assert len(runs) == len(found) == 7
        for trial, seed in itertools.product((0, 1), (0, 1)):
            own, run = runs[f"trial {trial}"], runs[f"trial {trial}, seed {seed}"]
            assert (own.info.status, run.info.status) == ("FINISHED", "FINISHED")
            assert run.data.tags["mlflow.parentRunId"] == own.info.run_id
            inner = [(each.step, each.value) for each in client.get_metric_history(run.info.run_id, "inner")]
            assert inner == [(1, 10.0 + seed), (2, 20.0 + seed), (3, 30.0 + seed)]
            words = Path(client.download_artifacts(run.info.run_id, "words.txt", str(tmp_path))).read_text()
            assert words == f"{trial + 1.0} {seed}"
            assert "figure.png" in {file.path for file in client.list_artifacts(run.info.run_id)}
            assert [each.name for each in client.search_logged_models([run.info.experiment_id])] == ["linear"] * 4
    cluster.check_nothing_stays()


TORCH = """
import io, sys, time
import torch
import skipstack

def objective(config, report):
    model = torch.nn.Linear(4, 1)
    optimiser = torch.optim.SGD(model.parameters(), lr=config["rate"], momentum=0.9)
    if (kept := report.restore()) is not None:
        model_state, optimiser_state = torch.load(kept)
        model.load_state_dict(model_state)
        optimiser.load_state_dict(optimiser_state)
        print("goes on after epoch", report.epoch)
    for epoch in range(report.epoch + 1, 13):
        inputs = torch.randn(64, 4)
        loss = (model(inputs) - inputs.sum(1, keepdim=True) - torch.rand(())).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        time.sleep(PAUSE)
        state = io.BytesIO()
        torch.save((model.state_dict(), optimiser.state_dict()), state)
        report.checkpoint(state.getvalue(), epoch=epoch)
        print("epoch", epoch, "is computed")
        report(score=loss.item(), epoch=epoch)

how, folder, *address = sys.argv[1:]
PAUSE = 0.25 if address else 0.0
space = skipstack.Space(rate=skipstack.loguniform(0.001, 0.1))
settings = {"search.scheduler": "none", "search.proposer": "random"}
if how == "search":
    where = {"address": address[0]} if address else {"engine": "serial"}
    options = {"trials": 4, "seeds": 2, "epochs": 12, "direction": "minimize"}
    skipstack.search(space, objective, settings=settings, out=folder, **options, **where)
else:
    skipstack.resume(folder, objective)
"""


def test_a_torch_function_goes_on_from_its_checkpoints_after_its_driver_was_killed(
    cluster: Cluster, tmp_path: Path
) -> None:
    """The result is bit for bit that of an uninterrupted study in one process; calls do not start from epoch 1."""
    folder, alone = cluster.disk / "study", tmp_path / "alone"
    cluster.start()
    process = cluster.driver("search", str(folder), cluster.hosts.head, code=TORCH)

    def eighth_reports() -> bool:
        return folder.exists() and any(isinstance(event, Reported) and event.epoch == 8 for event in events(folder))

    wait_for(eighth_reports, process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    reported = {number: len(trial.reports) for number, trial in read_study(folder).trials.items()}
    again = cluster.driver("resume", str(folder), cluster.hosts.head, code=TORCH)
    _, error = again.communicate(timeout=600)
    assert again.returncode == 0, error
    whole = cluster.driver("search", str(alone), code=TORCH)
    _, error = whole.communicate(timeout=600)
    assert whole.returncode == 0, error
    record, expected = read_study(folder), read_study(alone)
    assert len(record.trials) == 4
    for number, trial in expected.trials.items():
        mine = record.trials[number]
        assert [each.metrics for each in mine.reports] == [each.metrics for each in trial.reports]
        assert len(trial.reports) == 12
        log = StudyFolder(folder).log(number).read_text()
        if 8 <= reported.get(number, 0) < 12:
            assert log.count("goes on after epoch") == 2, "both seeds"
            assert log.count("epoch 1 is computed") == 2, "by each seed once: what comes later may not have been sent"
    assert any(8 <= count < 12 for count in reported.values())
    assert not list(folder.rglob(CALL_CHECKPOINTS))
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


def test_of_a_killed_host_only_what_it_had_not_sent_is_lost_and_one_that_joins_is_copied_to(
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


def test_that_files_are_copied_is_said_once_a_host_joins_that_needs_it(cluster: Cluster) -> None:
    folder = cluster.disk / "study"
    cluster.start(seeing=[2, 3])
    size = ("--trials", "12", "--epochs", "12", "--set", "search.scheduler.grace=6")
    process = cluster.driver("search", "quickstart", *size, "--out", str(folder), "--address", cluster.hosts.head)
    wait_for(lambda: third_reports(folder), process)
    cluster.add(4)
    _, error = process.communicate(timeout=900)
    assert process.returncode == 0, error
    assert error.count("files are copied") == 1
    assert COPIED.replace("2 of 3", "1 of 4") in error


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
