"""Many trials, many workers: those of Ray Tune's page on scalability, and 500 under ASHA, all at full size."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.benchmarks.scale import ROWS
from tests.pages import ROOT

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(7200)]

GROWTH_MB = 150
"""By which the driver may grow over a whole study, 10,000 trials included."""


@pytest.mark.parametrize("row", ROWS)
def test_a_study_of_many_trials_or_workers_keeps_its_driver_small(row: str, tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.scale", row, str(tmp_path / "study")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    print(ran.stdout)
    found = json.loads(ran.stdout.splitlines()[-1])
    assert found["memory_mb"][-1] - found["memory_mb"][0] < GROWTH_MB
