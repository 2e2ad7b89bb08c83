"""Programs whose stdout and stderr are lost: none, as without a console, closed, or of a class that raises."""

import subprocess
import sys
from pathlib import Path

import pytest

from skipstack.search.study.record.reading import read_study
from tests.test_house import ROOT

PROGRAM = """
import io, sys
import skipstack
from skipstack.data.basis import child_process
from tests.search.publishing.tracking.forked import Launcher

child_process.subprocess = Launcher()  # seconds less for each study


class Raising:
    def write(self, text):
        raise RuntimeError("no window")

    flush = isatty = write

closed = io.StringIO()
closed.close()
small = {"data.corpus.train": 60, "data.corpus.dev": 20, "data.corpus.test": 20, "model.stack.hidden": 8}
for number, stream in enumerate((None, closed, Raising())):
    for progress in (False, True):
        before, sys.stdout, sys.stderr = (sys.stdout, sys.stderr), stream, stream
        try:
            skipstack.search(
                "quickstart", trials=1, epochs=1, seeds=1, settings=small, engine="serial", progress=progress,
                out=f"{sys.argv[1]}/{number}-{progress}",
            )
            assert sys.stdout is stream and sys.stderr is stream, "the program's streams are not its own"
        finally:
            sys.stdout, sys.stderr = before
"""


@pytest.mark.slow
def test_a_study_is_finished_in_a_program_whose_streams_are_lost(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    studies = list(tmp_path.iterdir())
    assert len(studies) == 6
    for study in studies:
        assert read_study(study).finished
        assert list(study.glob("mlartifacts/**/report.html"))
