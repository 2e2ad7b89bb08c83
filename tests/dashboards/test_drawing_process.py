"""Pictures are drawn apart, in one process: what happens to it costs pictures, and nothing else."""

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from skipstack.dashboards.reports.pictures import drawing_process
from skipstack.dashboards.reports.pictures.drawing_process import DrawingProcess, UndrawnError
from skipstack.search.ledger.ledger import Ledger
from tests.data.basis import works
from tests.search.chaos import SMALL
from tests.search.made_up import history, study
from tests.test_house import ROOT

POINTS = {"data": {"values": [{"x": 1}, {"x": 2}]}, "mark": "point", "encoding": {"x": {"field": "x"}}}
VERSION = "5.20"
REPORT = (
    "import sys; from skipstack.dashboards.cli import app; app(sys.argv[1:], standalone_mode=False); "
    "assert not {'vl_convert', 'torch'} & set(sys.modules), 'loaded into the process of the report'"
)


@pytest.fixture
def drawing() -> Iterator[DrawingProcess]:
    found = DrawingProcess()
    yield found
    found.end()


def test_one_process_draws_all_pictures_also_after_one_that_cannot_be_drawn(drawing: DrawingProcess) -> None:
    one = drawing.svg(POINTS, VERSION)
    assert one.startswith("<svg")
    assert drawing._child is not None
    process = drawing._child.pid
    with pytest.raises(UndrawnError, match=r"^ValueError: [^\n]+$"):
        drawing.svg({"mark": "nonsense"}, VERSION)
    assert drawing.svg(POINTS, VERSION) == one
    assert (drawing._child.pid, drawing.trouble) == (process, None)


@pytest.mark.slow
def test_a_process_that_dies_is_told_and_is_not_started_again_for_the_same_page(drawing: DrawingProcess) -> None:
    drawing.svg(POINTS, VERSION)
    assert drawing._child is not None
    os.kill(drawing._child.pid, signal.SIGKILL)
    for _ in range(2):
        with pytest.raises(UndrawnError, match=r"^its process ended by SIGKILL$"):
            drawing.svg(POINTS, VERSION)
    assert drawing._child is None
    drawing.end()
    assert drawing.svg(POINTS, VERSION).startswith("<svg"), "the next page finds no process"


def test_one_that_hangs_is_not_waited_for_twice(drawing: DrawingProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing_process, "serve", works.hang)
    monkeypatch.setattr(drawing_process, "PATIENCE", 0.5)
    with pytest.raises(UndrawnError, match=r"^drawing took more than 0 s$"):
        drawing.svg(POINTS, VERSION)
    monkeypatch.setattr(drawing_process, "PATIENCE", 1e9)
    with pytest.raises(UndrawnError, match="took more"):
        drawing.svg(POINTS, VERSION)


@pytest.mark.slow
def test_a_report_has_its_words_where_addresses_are_limited_and_its_pictures_where_not(tmp_path: Path) -> None:
    with Ledger(tmp_path / "study" / "ledger") as ledger:
        ledger.append(*history(study(trials=30), seed=1))

    def reported(most: int) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", REPORT, "report", str(tmp_path / "study"), "--format", "html"],
            cwd=ROOT,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)),
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
        )

    whole, limited = reported(resource.RLIM_INFINITY), reported(12_000_000_000)
    assert (whole.stdout.count("<svg "), whole.stderr) == (5, "")
    assert "<svg" not in limited.stdout
    words = whole.stdout.partition("<details><summary>pictures of the search")[0]
    assert limited.stdout.startswith(words)
    (line,) = limited.stderr.splitlines()
    why = "(`ulimit -v` allows 12.0 GB of addresses, and drawing reserves more)"
    assert line.startswith("pictures are left out: its process ended by SIG")
    assert line.endswith(why)
    assert limited.stdout.count(why) == 1


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(("engine", "most"), [("ray", 3_900_000_000), ("serial", 2_900_000_000)])
def test_a_study_with_too_few_addresses_is_refused_in_one_line(engine: str, most: int, tmp_path: Path) -> None:
    code = "from skipstack.dashboards.cli import main; main()"
    ended = subprocess.run(
        [sys.executable, "-c", code, "search", "quickstart", *SMALL, "--engine", engine, "--out", tmp_path / "study"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    allowed = "(allowed: at least 4 GB with --engine ray or 3 GB with --engine serial)"
    told = f"skipstack: `ulimit -v` allows {most / 1e9:.1f} GB of addresses {allowed}\n"
    assert (ended.returncode, ended.stderr) == (2, told)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_study_where_addresses_are_limited_is_finished_and_shown_without_pictures(tmp_path: Path) -> None:
    code = "from skipstack.dashboards.cli import main; main()"
    tiny = [*SMALL, "--engine", "serial", "--trials", "2", "--epochs", "1", "--seeds", "1"]
    ended = subprocess.run(
        [sys.executable, "-c", code, "search", "quickstart", *tiny, "--out", tmp_path / "study"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (12_000_000_000, 12_000_000_000)),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.count("pictures are left out: ") == 1
    (report,) = (tmp_path / "study").glob("mlartifacts/**/report.html")
    assert "Pictures that are left out: " in report.read_text()
