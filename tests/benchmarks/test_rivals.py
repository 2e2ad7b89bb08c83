"""The quickstart beside scripts that search the same space with the same number of trials, from Enter to prompt."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.benchmarks.page import record

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(1200)]

TRIALS = 16
ROOT = Path(__file__).parents[2]


@pytest.fixture
def plain() -> Iterator[Path]:
    """A folder with links to this checkout and to its environment: plain Ray starts no worker whose interpreter is in a
    path with a space.
    """
    with TemporaryDirectory(prefix="skipstack-rivals-") as folder:
        assert " " not in folder, "TMPDIR must have no space either"
        (Path(folder) / "checkout").symlink_to(ROOT)
        (Path(folder) / "environment").symlink_to(sys.prefix)
        yield Path(folder)


def seconds(command: list[str], folder: Path = ROOT) -> float:
    """How long a command takes in a folder, which has to end well."""
    started = time.monotonic()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return time.monotonic() - started


def test_the_quickstart_is_quicker_than_plain_scripts(tmp_path: Path, plain: Path) -> None:
    skipstack = str(Path(sys.executable).parent / "skipstack")
    taken = {"skipstack": seconds([skipstack, "search", "quickstart", "--out", str(tmp_path / "study")])}
    for name in ("plain_ray_tune", "plain_optuna"):
        folder = plain / name
        folder.mkdir()
        module = f"tests.benchmarks.rivals.{name}"
        python = plain / "environment" / "bin" / Path(sys.executable).name
        taken[name] = seconds([str(python), "-m", module, str(folder), str(TRIALS)], plain / "checkout")
    columns = ("skipstack", "plain Ray Tune", "plain Optuna")
    record("rivals", {"the quickstart": dict(zip(columns, taken.values(), strict=True))}, "seconds")
    # the other does without a cluster, and takes about as long
    assert taken["plain_ray_tune"] / taken["skipstack"] >= 2.5
