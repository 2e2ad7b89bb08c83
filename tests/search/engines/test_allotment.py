"""What each trial gets of machines that are described, of questions that are answered here, and of a real cluster."""

import math
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import ray

from skipstack.data.basis.errors import UserError
from skipstack.search.api.start import run_study
from skipstack.search.driver.driver import Driver
from skipstack.search.driver.task import EpochResult, TrialTask
from skipstack.search.engines.allotment import Allotment, Answers, allotted
from skipstack.search.engines.capacity import Resources
from skipstack.search.engines.machines import own_cpus
from skipstack.search.engines.ray_tune import RayEngine
from skipstack.search.ledger.events import Metrics
from skipstack.search.ledger.ledger import Ledger
from tests.search.toy import ToyWorker, open_toy, toy_study

GB = 10**9
TWO_GPUS: list[Resources] = [{"CPU": 8.0, "GPU": 2.0}]
NONE_HERE = UserError("no GPU here")


class Counted:
    """A count that is over once it was asked for ``asks`` times."""

    def __init__(self, answer: int | UserError, asks: int = 0) -> None:
        self._answer, self.asks = answer, asks

    def is_over(self) -> bool:
        self.asks -= 1
        return self.asks < 0

    def answer(self) -> int | UserError:
        return self._answer


def allot(
    gpus: Any, device: str, machines: Sequence[Resources], sizes: Answers = (), counted: int | UserError = 0
) -> Allotment:
    return allotted(gpus, device, machines, sizes=lambda: sizes, count=lambda _: Counted(counted, asks=1))


@pytest.fixture
def trial() -> TrialTask:
    config = toy_study().space.base
    place = Path("none")
    return TrialTask(
        number=0, config=config, seeds=(0,), order_seed=0, lanes=1, corpus=place, folder=place, device="auto"
    )


@pytest.mark.parametrize(
    ("gpus", "device", "machines", "sizes", "resources", "words"),
    [
        (0.0, "auto", TWO_GPUS, (), {"cpu": 1.0}, "each trial gets 1 CPU and no GPU: 8 side by side"),
        (0.0, "cpu", TWO_GPUS, (), {"cpu": 1.0}, "each trial gets 1 CPU and no GPU: 8 side by side"),
        (
            0.3,
            "auto",
            TWO_GPUS,
            (),
            {"cpu": 1.0, "gpu": 0.3},
            "each trial gets 1 CPU and 0.3 of a GPU: 6 side by side",
        ),
        (2.0, "cuda", TWO_GPUS, (), {"cpu": 1.0, "gpu": 2.0}, "each trial gets 1 CPU and 2 GPUs: 1 side by side"),
        ("auto", "auto", [{"CPU": 4.0}], (), {"cpu": 1.0}, "each trial gets 1 CPU and no GPU: 4 side by side"),
        ("auto", "cpu", TWO_GPUS, (), {"cpu": 1.0}, "each trial gets 1 CPU and no GPU: 8 side by side"),
        (
            "auto",
            "auto",
            TWO_GPUS,
            (("a", NONE_HERE),),
            {"cpu": 1.0},
            "each trial gets 1 CPU and no GPU: 8 side by side; GPUs are left alone (machine a: no GPU here)",
        ),
    ],
)
def test_what_each_trial_gets_is_decided_and_said(
    gpus: Any, device: str, machines: list[Resources], sizes: Answers, resources: Resources, words: str
) -> None:
    made = allot(gpus, device, machines, sizes)
    assert (made.resources, made.words, made.shares) == (resources, words, None)


def test_auto_gives_each_trial_the_share_of_the_smallest_gpu_that_it_needs_once_that_is_counted(
    trial: TrialTask,
) -> None:
    sizes = (("a", 80 * GB), ("b", 10 * GB))
    made = allot("auto", "auto", TWO_GPUS * 2, sizes, counted=2 * GB)
    assert made.words == "each trial gets 1 CPU and as much of a GPU as it needs; the smallest GPU has 10.0 GB"
    assert not made.is_known(trial)
    assert made.is_known(trial)
    taken = made.ordinary(trial)
    assert taken == {"cpu": 1.0, "gpu": math.ceil((700 * 2**20 + 3 * GB) / GB * 10) / 100}
    confined = made.confined(trial, taken)
    assert made.confined(replace(trial, device="cuda-graphs"), taken).device == "cuda-graphs"
    assert (confined.device, confined.memory_limit) == ("cuda", int(taken["gpu"] * 10 * GB) - 700 * 2**20)
    uncounted = allot("auto", "auto", TWO_GPUS, sizes, counted=UserError("out of memory"))
    assert uncounted.ordinary(trial) == {"cpu": 1.0, "gpu": 1.0}


@pytest.mark.parametrize(
    ("gpus", "device", "machines", "sizes", "wrong"),
    [
        (0.0, "cuda", TWO_GPUS, (), "--device cuda: each trial gets 1 CPU and no GPU"),
        ("auto", "cuda-graphs", [{"CPU": 4.0}], (), "--device cuda-graphs: each trial gets 1 CPU and no GPU"),
        ("auto", "cuda", [{"CPU": 4.0}], (), "--device cuda: each trial gets 1 CPU and no GPU"),
        ("auto", "cuda", TWO_GPUS, (("a", NONE_HERE),), r"GPUs are left alone \(machine a: no GPU here\)"),
        ("auto", "auto", TWO_GPUS * 2, (("a", NONE_HERE), ("b", GB)), "other machines, but machine a: no GPU here"),
        (
            2.0,
            "auto",
            [{"CPU": 8.0, "GPU": 1.0}] * 2,
            (),
            r"it needs 1 CPU and 2 GPUs, and the machines have: 8 CPUs and 1 GPU \(2 of them\) \(allowed: .*per-trial",
        ),
        (0.5, "auto", [{"CPU": 8.0}, {"GPU": 1.0}], (), "the machines have: 8 CPUs and no GPU; no CPU and 1 GPU"),
        ("auto", "auto", [{"CPU": 8.0}, {"GPU": 1.0}], (("b", GB),), "it needs 1 CPU and 0.01 of a GPU"),
    ],
)
def test_what_can_never_fit_is_refused_at_once(
    gpus: Any, device: str, machines: list[Resources], sizes: Answers, wrong: str
) -> None:
    with pytest.raises(UserError, match=wrong):
        allot(gpus, device, machines, sizes)


class TellingWorker(ToyWorker):
    """Says on what it was to compute, and which GPUs it finds there."""

    def run_epoch(self) -> EpochResult:
        result = super().run_epoch()
        seen = os.environ.get("CUDA_VISIBLE_DEVICES")
        metrics: Metrics = {
            **result.metrics,
            "on_gpu": (float(self.task.device == "cuda"),),
            "gpus": (-1.0 if seen is None else float(len(seen.split(",")) if seen else 0),),
            "limit": (float(self.task.memory_limit or 0),),
        }
        return EpochResult(epoch=result.epoch, score=result.score, metrics=metrics, seconds=0.0)


def of_depth(task: TrialTask) -> int:
    """Bytes that a worker is said to need: 2 GB a layer, and of three layers nobody can say."""
    if task.config.model.stack.depth == 3:
        raise MemoryError("too large to be counted")
    return task.config.model.stack.depth * 2 * GB


@pytest.mark.cluster
@pytest.mark.filterwarnings("default")  # ray's own warnings are not ours to mend
def test_on_a_cluster_that_has_gpus_a_trial_computes_on_its_own_share_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The GPUs are pretended, which ray believes; the workers train nothing."""
    monkeypatch.setattr(ray, "init", partial(ray.init, num_gpus=2, num_cpus=4))
    engine = RayEngine(TellingWorker, address=None, gpus_per_trial="auto", gpu_memory=lambda: 10 * GB, memory=of_depth)
    found = {}
    try:
        for given in (engine.allotment, allot(0.0, "auto", TWO_GPUS), allot(0.34, "auto", TWO_GPUS)):
            engine.allotment = given
            folder = open_toy(tmp_path / str(len(found)), toy_study(trials=6, epochs=1))
            with Ledger(folder.ledger) as ledger:
                driver = Driver(folder, ledger, device="auto", clock=time.time)
                run_study(driver, engine)
            trials = driver.record.trials.values()
            assert [trial.reason for trial in trials] == ["completed"] * 6
            found[len(found)] = {(trial.config.model.stack.depth, *told(trial.reports[0].metrics)) for trial in trials}
    finally:
        engine.close()
    by_need, without, fixed = found.values()
    limits = {depth: int(share * 10 * GB) - 700 * 2**20 for depth, share in ((1, 0.38), (2, 0.68))} | {3: 0}
    assert by_need == {(depth, 1.0, 1.0, float(limits[depth])) for depth, *_ in by_need}
    assert {each[1:] for each in without} == {(0.0, 0.0, 0.0)}
    assert {each[1:] for each in fixed} == {(1.0, 1.0, 0.0)}


def told(metrics: Metrics) -> tuple[float, float, float]:
    return metrics["on_gpu"][0], metrics["gpus"][0], metrics["limit"][0]


def test_ray_counts_the_cpus_itself_unless_this_process_may_use_only_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)))
    assert own_cpus() is None
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 4})
    assert own_cpus() == 2
