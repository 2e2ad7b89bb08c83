"""Many trials, many workers: rows of Ray Tune's own page on scalability, and 500 workers under ASHA, all at full size.

Ray's page names 715 s for the first (at least 625) and 2,281 s for the second (at least 300), on machines of its own.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(7200)]

GROWTH_MB = 150
"""By which the driver may grow over a whole study, 10,000 trials included."""


@pytest.mark.parametrize("row", ["trials", "workers", "asha"])
def test_a_study_of_many_trials_or_workers_keeps_its_driver_small(
    row: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.scale", row, str(tmp_path / "study")],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout.splitlines()[-1])
    with capsys.disabled():
        print(f"\n{os.cpu_count()} cores, {row}: {found}")
    assert found["memory_mb"][-1] - found["memory_mb"][0] < GROWTH_MB
