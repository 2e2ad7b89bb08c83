"""A notebook that a kernel runs: what it shows of a study, and what an interrupt and a second run of a cell do."""

import os
import re
import signal
import time
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from skipstack.search.ledger.events import Ended, Finished, Interrupted
from skipstack.search.ledger.following import Following
from skipstack.search.study.record.reading import read_study

nbclient = pytest.importorskip("nbclient", reason="needs the extra `notebook` (pip install -e '.[notebook]')")
nbformat = pytest.importorskip("nbformat")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.filterwarnings("default")]

BEGIN = """
import time
import skipstack

def objective(config, report):
    for epoch in range(3):
        time.sleep(config["pause"])
        report(score=1 - (config["x"] - 1) ** 2)

space = skipstack.Space(x=skipstack.uniform(0, 2), depth=skipstack.choice(1, 2, 3), pause=0.0)
study = skipstack.search(space, objective, trials=12, out="short", engine="serial")
study
"""

SLOW = """
slow = skipstack.Space(x=skipstack.uniform(0, 2), pause=0.1)
skipstack.search(slow, objective, trials=8, out="long", engine="serial")
"""

AGAIN = 'skipstack.resume("long", objective)'

FOLLOWED = """
import subprocess, sys, time
import skipstack
from pathlib import Path

Path("objective.py").write_text('''
import time
import skipstack

def objective(config, report):
    for epoch in range(3):
        time.sleep(0.3)
        report(score=config["x"])

if __name__ == "__main__":
    space = skipstack.Space(x=skipstack.uniform(0, 2))
    skipstack.search(space, objective, trials=6, out="followed", engine="serial")
''')
process = subprocess.Popen([sys.executable, "objective.py"])
while not any(Path("followed/ledger").glob("*.jsonl")):
    time.sleep(0.1)
time.sleep(1)
skipstack.follow("followed", every=0.5)
"""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Path]]:
    """A client with a running kernel, at home in the folder."""
    folder = tmp_path_factory.mktemp("notebook")
    cells = [nbformat.v4.new_code_cell(text.strip()) for text in (BEGIN, SLOW, AGAIN, FOLLOWED)]
    notebook = nbformat.v4.new_notebook(cells=cells)
    client = nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}})
    with client.setup_kernel():
        yield client, folder


@pytest.fixture(scope="module")
def shown(kernel: tuple[Any, Path]) -> Any:
    """The outputs of the first cell, which defines the function."""
    return run(kernel[0], 0)


def run(client: Any, place: int) -> Any:
    """The outputs of a cell."""
    return client.execute_cell(client.nb.cells[place], place).outputs


def pages(outputs: Any) -> list[str]:
    """The reports that a cell shows."""
    shown = [each["data"]["text/html"] for each in outputs if "text/html" in each.get("data", {})]
    return [unescape(page) for each in shown for page in re.findall(r'srcdoc="([^"]*)"', each)]


def test_a_cell_that_ends_in_a_study_shows_its_report_with_pictures(kernel: tuple[Any, Path], shown: Any) -> None:
    _, folder = kernel
    (page,) = pages(shown)
    assert f"best, trial {read_study(folder / 'short').ranked()[0].number}" in page
    assert page.count("<svg") >= 2


def test_a_study_that_another_process_runs_is_followed_to_its_end(kernel: tuple[Any, Path]) -> None:
    client, _ = kernel
    (page,) = pages(run(client, 3))
    (ends,) = re.findall(r"6 trials: ([^;]*);", page)
    assert "running" not in ends


def test_an_interrupt_ends_a_study_in_order_and_it_goes_on_from_there(kernel: tuple[Any, Path], shown: Any) -> None:
    client, folder = kernel
    assert shown
    thread = Thread(
        target=interrupt_after_the_first_trial, args=(client.km.provisioner.pid, folder / "long" / "ledger")
    )
    thread.start()
    with pytest.raises(nbclient.exceptions.CellExecutionError, match=r"KeyboardInterrupt|skipstack\.resume"):
        run(client, 1)
    thread.join()
    events = list(Following(folder / "long" / "ledger").events())
    assert isinstance(events[-1], Interrupted)
    run(client, 2)
    record = read_study(folder / "long")
    assert record.finished
    assert len(record.trials) == 8
    assert sum(isinstance(event, Finished) for event in Following(folder / "long" / "ledger").events()) == 1


def interrupt_after_the_first_trial(pid: int, ledger: Path) -> None:
    """What the button "interrupt the kernel" does."""
    while not (ledger.is_dir() and any(isinstance(event, Ended) for event in Following(ledger).events())):
        time.sleep(0.05)
    os.kill(pid, signal.SIGINT)
