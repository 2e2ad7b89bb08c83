"""What each trial gets of a real cluster whose GPUs are pretended."""

import os
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest
import ray

import skipstack
from skipstack.search.execution.driver.driver import Driver
from skipstack.search.execution.driver.engine import run_study
from skipstack.search.execution.engines.capacity import Allotment
from skipstack.search.execution.engines.ray.engine import RayEngine
from skipstack.search.ledger.events import Metrics
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.task import EpochResult, TrialTask
from tests.search.toy import ToyWorker, open_toy, toy_study

pytestmark = [pytest.mark.cluster, pytest.mark.filterwarnings("default")]  # ray's own warnings are not ours to mend

GB = 10**9


class TellingWorker(ToyWorker):
    """Says on what it was to compute, and which GPUs it finds there."""

    def run_epoch(self) -> EpochResult:
        result = super().run_epoch()
        seen = os.environ.get("CUDA_VISIBLE_DEVICES")
        metrics: Metrics = {
            **result.metrics,
            "on_gpu": (float(self.task.device == "cuda"),),
            "gpus": (-1.0 if seen is None else float(len(seen.split(",")) if seen else 0),),
            "limit": (float(self.task.gpu_share or 0),),
        }
        return EpochResult(epoch=result.epoch, score=result.score, metrics=metrics, seconds=0.0)


def of_depth(task: TrialTask) -> int:
    """Bytes that a worker is said to need: 2 GB a layer, and of three layers nobody can say."""
    if task.config.model.stack.depth == 3:
        raise MemoryError("too large to be counted")
    return task.config.model.stack.depth * 2 * GB


def test_on_a_cluster_that_has_gpus_a_trial_computes_on_its_own_share_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The GPUs are pretended, which ray believes; the workers train nothing."""
    monkeypatch.setattr(ray, "init", partial(ray.init, num_gpus=2, num_cpus=4))
    engine = RayEngine(TellingWorker, address=None, gpus_per_trial="auto", gpu_memory=lambda: 10 * GB, memory=of_depth)
    found = {}
    try:
        for given in (engine.allotment, Allotment({"cpu": 1.0}, ""), Allotment({"cpu": 1.0, "gpu": 0.34}, "")):
            engine._allocator._allotment = given
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
    limits = {1: 0.33, 2: 0.58, 3: 0.0}
    assert by_need == {(depth, 1.0, 1.0, limits[depth]) for depth, *_ in by_need}
    assert {each[1:] for each in without} == {(0.0, 0.0, 0.0)}
    assert {each[1:] for each in fixed} == {(1.0, 1.0, 0.34)}


def told(metrics: Metrics) -> tuple[float, float, float]:
    return metrics["on_gpu"][0], metrics["gpus"][0], metrics["limit"][0]


def gpus_seen(config: Mapping[str, float], report: skipstack.Report) -> None:
    """Waits for another trial, so that two hold their GPUs at the same time."""
    seen = [int(each) for each in os.environ["CUDA_VISIBLE_DEVICES"].split(",")]
    time.sleep(0.5)
    report(config["x"], gpus=float(len(seen)), first=float(min(seen)))


def test_a_function_gets_as_many_whole_gpus_as_it_asked_for(tmp_path: Path) -> None:
    ray.init(address="local", num_cpus=2, num_gpus=4, include_dashboard=False, log_to_driver=False)
    try:
        space = skipstack.Space(x=skipstack.uniform(0, 1))
        study = skipstack.search(
            space, gpus_seen, trials=6, seeds=1, epochs=1, gpus_per_trial=2, out=tmp_path / "study"
        )
    finally:
        ray.shutdown()
    told = study.curves()
    assert told["metric.gpus"].tolist() == [2.0] * 6
    assert set(told["metric.first"]) == {0.0, 2.0}, "no card is two trials' at a time"
