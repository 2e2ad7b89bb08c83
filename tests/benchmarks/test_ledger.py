"""A ledger of ten thousand trials: how long until a driver that takes it up has a task, and what it keeps in memory.

Processor seconds of a process of its own, which runs what ``skipstack resume`` runs until the first new trial; memory
is what it has resident then, Ray and MLflow loaded.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from skipstack.search.api.simulation.recordings import recordings
from skipstack.search.api.simulation.simulation import SCHEDULERS, simulate, with_scheduler
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.reading import read_study
from tests.benchmarks.page import record
from tests.search.large import large_study, write_large

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(1200)]

TRIALS = 10_000
SECONDS, SIMULATED_SECONDS, MEGABYTES = 10, 60, 500

RESUME = """
import json, sys, time
from pathlib import Path
import psutil
import skipstack.search.execution.engines.ray.engine, skipstack.search.execution.workers.training_workers
from mlflow import MlflowClient
from skipstack.search.execution.driver.driver import Driver
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.reading import is_finished
from skipstack.search.study.record.study_record import StudyRecord

def resident():
    return psutil.Process().memory_info().rss / 1e6

folder = StudyFolder(Path(sys.argv[1]))
loaded, began, since = resident(), time.process_time(), time.perf_counter()
assert not is_finished(folder.path)
before = StudyRecord()
with Ledger(folder.ledger) as ledger:
    driver = Driver(folder, ledger, device="cpu", clock=time.time, replay_to=[before.apply])
    known = len(driver.record.trials)
    while (task := driver.next()).number < known:
        pass
    seconds, elapsed, memory = time.process_time() - began, time.perf_counter() - since, resident()
found = {"seconds": seconds, "elapsed": elapsed, "loaded": loaded, "memory": memory, "events": before.events}
print(json.dumps(found))
"""


def measured(program: str, *arguments: object) -> dict[str, float]:
    ran = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)], capture_output=True, text=True, check=True
    )
    found: dict[str, float] = json.loads(ran.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("proposer", ["random", "tpe"])
def test_a_long_ledger_is_soon_resumed_in_little_memory(
    proposer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # how the ledger is written is not measured
    found = {}
    for trials in (TRIALS // 10, TRIALS):
        folder = tmp_path / str(trials)
        write_large(folder / "ledger", large_study(trials + 100, proposer=proposer), trials)
        found[trials] = measured(RESUME, folder)
        row = {"seconds": found[trials]["seconds"], "MB resident": found[trials]["memory"]}
        record("ledger", {f"resume, {proposer}, {trials:,} trials": row})
    assert found[TRIALS]["seconds"] < SECONDS
    assert found[TRIALS]["memory"] < MEGABYTES


def test_a_long_ledger_is_compacted_and_simulated_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    write_large(tmp_path / "ledger", large_study(TRIALS, proposer="random"), TRIALS)
    began = time.process_time()
    with Ledger(tmp_path / "ledger"):
        pass
    compacting = time.process_time() - began
    after = sum(path.stat().st_size for path in (tmp_path / "ledger").iterdir()) / 1e6
    began = time.process_time()
    study = read_study(tmp_path)
    recorded = recordings(study, extrapolate=True)
    reading = time.process_time() - began
    rows = {"compress": {"seconds": compacting, "MB on disk": after}, "read the curves": {"seconds": reading}}
    for scheduler in SCHEDULERS:
        began = time.process_time()
        outcome = simulate(study, recorded, with_scheduler(study.study.search, scheduler), workers=10_000)
        rows[f"simulate on 10,000 workers, {scheduler}"] = {"seconds": time.process_time() - began}
        assert outcome.trials == TRIALS
    record("ledger", rows)
    assert reading + max(each["seconds"] for each in rows.values()) < SIMULATED_SECONDS
