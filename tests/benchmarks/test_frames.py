"""The report of a study of ten thousand trials of thirty epochs, nothing stopped: from its raw ledger, and from what an
earlier reading kept.

Seconds and memory of ``skipstack report`` as a process of its own, its start included; medians of several.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import pytest

from tests.benchmarks.page import record
from tests.search.large import large_study, write_large

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(1200)]

TRIALS, EPOCHS, ROUNDS = 10_000, 30, 5
FIRST_SECONDS, SECONDS, MEGABYTES = 10, 2, 1000
REPORT = "from skipstack.dashboards.cli import app; app()"
FRAMES = """
import sys
from pathlib import Path
from skipstack.search.analysis.study_frames import study_frames
frames = study_frames(Path(sys.argv[2]))
frames.trials, frames.seeds, frames.curves
"""


def spent(program: str, study: Path) -> tuple[float, float, float]:
    """Seconds that passed, processor seconds, and megabytes at most; modules are compiled once, as where they are
    installed.
    """
    installed = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-c", program, "report", str(study)], stdout=subprocess.DEVNULL, env=installed
    )
    _, status, usage = os.wait4(process.pid, 0)
    passed = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)  # which Popen did not see
    assert process.returncode == 0
    return passed, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e3


def test_a_large_study_is_reported_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # how the ledger is written is not measured
    study = large_study(TRIALS, epochs=EPOCHS, proposer="random", scheduler={"kind": "none"})
    write_large(tmp_path / "ledger", study, TRIALS)
    found = {}
    for name, program in (("frames", FRAMES), ("report", REPORT)):
        for when in ("from the ledger", "kept"):
            rounds = []
            for _ in range(ROUNDS):
                if when == "from the ledger":
                    shutil.rmtree(tmp_path / "frames", ignore_errors=True)
                rounds.append(spent(program, tmp_path))
            found[name, when] = [median(values) for values in zip(*rounds, strict=True)]
    columns = ("seconds", "seconds of the processor", "MB")
    rows = {", ".join(key): dict(zip(columns, values, strict=True)) for key, values in found.items()}
    record("report", rows)
    assert found["report", "from the ledger"][0] < FIRST_SECONDS
    assert found["report", "kept"][0] < SECONDS
    assert found["report", "kept"][2] < MEGABYTES
