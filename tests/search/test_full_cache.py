"""If the cache's disk is full, each process compiles for itself, and no trial or prediction is lost."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from skipstack.models.ground.kernel_names import VARIABLE
from skipstack.search.study.record.reading import read_study
from tests.search.chaos import SMALL

SAID = "machine code is not kept"


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a file system without a free byte. The test is skipped if none can be mounted."""
    folder = tmp_path / "full"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)], capture_output=True, text=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"no small disk can be mounted here ({mounted.stderr.strip()})")
    try:
        with pytest.raises(OSError, match="No space left"):
            fill(folder / "filling")
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(path: Path) -> None:
    with open(path, "wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


def skipstack(cache: Path, *arguments: str, read: str = "") -> subprocess.CompletedProcess[str]:
    run = subprocess.run(
        [sys.executable, "-c", "from skipstack.dashboards.cli import main; main()", *arguments],
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache), VARIABLE: "compiled"},
        input=read,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_study_and_a_prediction_on_a_full_disk(full_disk: Path, tmp_path: Path) -> None:
    study, bundle = tmp_path / "study", tmp_path / "bundle"
    settings = "search.trials=3", "search.seeds=1", "training.epochs=2"
    options = ["--engine", "serial", *(part for each in settings for part in ("--set", each))]
    searched = skipstack(full_disk, "search", "quickstart", "--out", str(study), *options, *SMALL)
    assert searched.stderr.count(SAID) == 1, searched.stderr
    record = read_study(study)
    assert record.finished
    assert len(record.trials) == 3
    assert {trial.reason for trial in record.trials.values()} <= {"completed", "stopped"}
    assert not any(trial.retries for trial in record.trials.values())
    skipstack(full_disk, "export", str(study), "--to", str(bundle))
    predicted = skipstack(full_disk, "predict", str(bundle), read="the old dogs sleep\n")
    assert predicted.stdout.count("\t") == 4, predicted.stdout
    assert predicted.stderr.count(SAID) == 1, predicted.stderr
    assert [each.name for each in full_disk.rglob("*") if each.is_file()] == ["filling"]
