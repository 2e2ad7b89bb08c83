"""The resource usage of workers is measured correctly, recorded beside the reports, and not used for decisions."""

import mmap
import os
import platform
from pathlib import Path

import pytest
import torch
from pynvml import NVMLError_NotSupported

from skipstack.models.ground.device import gpu_usage
from skipstack.search.analysis.frames.columns import COLUMNS
from skipstack.search.analysis.study_frames import study_frames
from skipstack.search.execution.workers.metered import MeteredWorkers
from skipstack.search.ledger.events import Event, Usage, Used
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.publishing.tracking.runs import ExpectedRuns
from skipstack.search.study.task import EpochResult, Workers
from tests.command_line import typed
from tests.install.environments import SMALL
from tests.search.changed import searched
from tests.search.toy import FailingWorker, ToyWorker, open_toy, run_toy, toy_study

RACING = {"scheduler": {"kind": "asha", "grace": 1, "reduction": 2, "resource": "seeds"}, "seeds": 4}


def told(path: Path) -> list[Event]:
    return Ledger(path / "ledger").read()


def used(path: Path) -> list[Used]:
    return [event for event in told(path) if isinstance(event, Used)]


@pytest.fixture(scope="module", params=[{}, RACING], ids=["asha", "racing"])
def study(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study whose workers measure themselves, and of which some trials fail; beside it ``without``, not measured."""
    folder = tmp_path_factory.mktemp("metered")
    workers: dict[str, Workers] = {"without": FailingWorker, "with": MeteredWorkers(FailingWorker)}
    for name, worker in workers.items():
        run_toy(open_toy(folder / name, searched(toy_study(), **request.param)), worker=worker)
    return folder / "with"


def test_a_study_takes_the_same_decisions_with_it_and_without(study: Path) -> None:
    without = told(study.parent / "without")
    same = [event.model_copy(update={"time": 0.0}) for event in told(study) if not isinstance(event, Used)]
    assert len(same) < len(told(study))
    assert repr(same) == repr([event.model_copy(update={"time": 0.0}) for event in without])
    reports = [(event.trial, event.epoch, event.seeds) for event in same if event.kind == "reported"]
    assert [(event.trial, event.epoch, event.seeds) for event in used(study)] == reports


def test_the_frame_has_a_row_for_each_epoch(study: Path) -> None:
    frame = study_frames(study).usage
    events = {number: event for number, event in enumerate(told(study)) if isinstance(event, Used)}
    assert list(frame["event"]) == list(events)
    own = [column.name for column in COLUMNS["usage"] if column.name in Usage.model_fields]
    assert {*own, "trial", "epoch", "event"} == set(frame.columns)
    for row, event in zip(frame.astype(object).to_dict("records"), events.values(), strict=True):
        assert (row["trial"], row["epoch"]) == (event.trial, event.epoch)
        assert {name: row[name] for name in own if not name.startswith("gpu")} == event.usage.model_dump(
            exclude={"gpu", "gpu_memory", "gpu_memory_total"}
        )
    assert frame[["gpu", "gpu_memory", "gpu_memory_total"]].isna().all(axis=None)


def test_mlflow_is_told_by_its_own_names(study: Path) -> None:
    runs, expected = ExpectedRuns(), dict[tuple[int, str, int], float]()
    for event in told(study):
        runs.apply(event)
        if isinstance(event, Used) and event.seeds in ((), (0,)):  # further seeds of a race start again at epoch 1
            usage = event.usage
            expected |= {
                (event.trial, f"system/{name}", event.epoch): value
                for name, value in {
                    "cpu_utilization_percentage": usage.machine_cpu,
                    "system_memory_usage_megabytes": usage.machine_memory / 1_000_000,
                    "system_memory_usage_percentage": 100 * usage.machine_memory / usage.machine_memory_total,
                    "process_cpu_utilization_percentage": usage.process_cpu,
                    "process_memory_usage_megabytes": usage.process_memory / 1_000_000,
                }.items()
            }
    found = {
        (trial, name, step): value
        for (_, trial), entry in runs.pending.items()
        for (name, step), (value, _) in entry.metrics.items()
        if trial is not None and name.startswith("system/")
    }
    assert found == expected


def test_a_gpu_has_metrics_of_its_own() -> None:
    from skipstack.search.publishing.tracking.entry import system_metrics

    plain = {"machine": "m", "process": 1, "process_cpu": 99.0, "process_memory": 10**9}
    beside = {"machine_cpu": 50.0, "machine_memory": 2 * 10**9, "machine_memory_total": 8 * 10**9}
    memory = {"gpu_memory": 20 * 10**9, "gpu_memory_total": 80 * 10**9}
    for busy in (35.0, None):
        metrics = system_metrics(Usage.model_validate({**plain, **beside, **memory, "gpu": busy}))
        assert metrics["system/gpu_0_memory_usage_megabytes"] == 20_000
        assert metrics["system/gpu_0_memory_usage_percentage"] == 25
        assert metrics.get("system/gpu_0_utilization_percentage") == busy


class BusyWorker(ToyWorker):
    """A worker that computes for a while and keeps memory, and records the system's measurements of the epoch."""

    percent = 0.0

    def run_epoch(self) -> EpochResult:
        before = os.times()
        self.kept = mmap.mmap(-1, 100_000_000)  # new memory from the system, not freed memory of this process
        for page in range(0, len(self.kept), mmap.PAGESIZE):
            self.kept[page] = 1
        while os.times().user - before.user < 0.25:
            pass
        after = os.times()
        own = after.user + after.system - before.user - before.system
        BusyWorker.percent = 100 * own / (after.elapsed - before.elapsed)
        return super().run_epoch()


def test_what_is_measured_is_what_the_system_says(tmp_path: Path) -> None:
    folder = open_toy(tmp_path, toy_study(trials=1, epochs=1))
    before = _held()
    run_toy(folder, worker=MeteredWorkers(BusyWorker))
    (event,) = used(tmp_path)
    usage = event.usage
    assert usage.process_cpu == pytest.approx(BusyWorker.percent, rel=0.2)
    assert 0 < usage.machine_cpu <= 100
    assert before + 90_000_000 < usage.process_memory < before + 500_000_000
    assert (usage.machine, usage.process) == (platform.node(), os.getpid())
    (total,) = [line.split()[1] for line in Path("/proc/meminfo").read_text().splitlines() if "MemTotal" in line]
    assert usage.machine_memory_total == 1024 * int(total)
    assert usage.process_memory < usage.machine_memory < usage.machine_memory_total


def _held() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_how_busy_a_part_of_a_gpu_is_nobody_says(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(device: torch.device) -> int:
        raise NVMLError_NotSupported

    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (60, 80))
    monkeypatch.setattr(torch.cuda, "utilization", lambda device: 35)
    assert gpu_usage(torch.device("cuda")) == (35.0, 20, 80)
    monkeypatch.setattr(torch.cuda, "utilization", unknown)
    assert gpu_usage(torch.device("cuda")) == (None, 20, 80)


@pytest.mark.gpu
def test_a_real_gpu_is_measured() -> None:
    device = torch.device("cuda")
    kept = torch.empty(2**30, dtype=torch.uint8, device=device)
    busy, taken, total = gpu_usage(device)
    assert kept.numel() <= taken < total == torch.cuda.get_device_properties(device).total_memory
    assert busy is None or 0 <= busy <= 100


@pytest.mark.cluster
@pytest.mark.filterwarnings("default")  # Ray's own warnings are allowed
def test_workers_on_ray_measure_themselves(tmp_path: Path) -> None:
    """A study of real networks has the same numbers with the measurement as without."""
    for name, option in (("with", "--system-metrics"), ("without", "--no-system-metrics")):
        typed("search", "quickstart", *SMALL, option, "--out", tmp_path / name, "--gpus-per-trial", "0")
    frames, plain = (study_frames(tmp_path / name) for name in ("with", "without"))
    same = ["trial", "epoch", "seed", "score", "train_loss", "dev_loss"]
    assert (
        frames.curves[same].sort_values(same[:3]).values.tolist()
        == plain.curves[same].sort_values(same[:3]).values.tolist()
    )
    assert len(plain.usage) == 0
    assert sorted(frames.usage["trial"]) == [0, 1]
    assert set(frames.usage["machine"]) == {platform.node()}
    assert os.getpid() not in set(frames.usage["process"])
    assert (frames.usage["process_cpu"] > 0).all()
