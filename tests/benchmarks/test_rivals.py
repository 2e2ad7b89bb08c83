"""The quickstart beside scripts that search the same space with the same number of trials, from Enter to prompt."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.benchmarks.rivals.table import table

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(1200)]

TRIALS = 16
ROOT = Path(__file__).parents[2]


def seconds(command: list[str]) -> float:
    """How long a command takes, which has to end well."""
    started = time.monotonic()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return time.monotonic() - started


def test_the_quickstart_is_quicker_than_plain_scripts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    skipstack = str(Path(sys.executable).parent / "skipstack")
    taken = {"skipstack": seconds([skipstack, "search", "quickstart", "--out", str(tmp_path / "study")])}
    for name in ("plain_ray_tune", "plain_optuna"):
        folder = tmp_path / name
        folder.mkdir()
        module = f"tests.benchmarks.rivals.{name}"
        taken[name] = seconds([sys.executable, "-m", module, str(folder), str(TRIALS)])
    ours = taken["skipstack"]
    ratios = {
        "quickstart, beside a plain Ray Tune script": taken["plain_ray_tune"] / ours,
        "quickstart, beside a plain Optuna script in one process": taken["plain_optuna"] / ours,
    }
    with capsys.disabled():
        print(f"\n{TRIALS} trials on {os.cpu_count()} cores")
        print(", ".join(f"{name} {each:.0f} s" for name, each in taken.items()))
        print(table(ratios))
    assert taken["plain_ray_tune"] / ours >= 2.5  # the other does without a cluster, and takes about as long
