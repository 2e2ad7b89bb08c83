"""Four studies at once: whether a tracking server that all of them share slows a study down."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import pytest

from skipstack.search.ledger.events import Finished, Proposed
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.folder import StudyFolder
from tests.benchmarks.page import record
from tests.search.publishing.tracking.servers import POSTGRES, mlflow_server, postgresql

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(3600)]

STUDIES, ROUNDS, LIMIT = 4, 3, 1.05

PROGRAM = """
import sys, time
from pathlib import Path
from skipstack.search.api.options import Execution
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.execution.engines.serial import SerialEngine
from skipstack.search.execution.driver.engine import run_study
from skipstack.search.publishing.tracking.tracking_process import TrackingProcess
from tests.search.toy import ToyWorker, open_toy, toy_driver, toy_study

class Sleeping(ToyWorker):
    def run_epoch(self):
        time.sleep(0.25)
        return super().run_epoch()

folder = open_toy(Path(sys.argv[1]), toy_study(40, proposer="random", epochs=4))
with Ledger(folder.ledger) as ledger:
    driver = toy_driver(folder, ledger)
    tracker = TrackingProcess()
    where = Execution(tracking_uri=sys.argv[2] or None)
    where.track(tracker, folder)
    run_study(driver, SerialEngine(Sleeping))
assert tracker.close() is None
"""
"""A study whose epochs take a quarter of a second and no processor, so that it only waits for what it does beside."""


def seconds(folder: Path, uri: str) -> list[float]:
    """Of each of the studies, from its first proposal to its end."""
    folders = [folder / str(number) for number in range(STUDIES)]
    running = [subprocess.Popen([sys.executable, "-c", PROGRAM, str(each), uri]) for each in folders]
    assert all(process.wait() == 0 for process in running)
    return [_took(each) for each in folders]


def _took(folder: Path) -> float:
    events = Ledger(StudyFolder(folder).ledger).read()
    begins: Sequence[float] = [event.time for event in events if isinstance(event, Proposed)]
    (end,) = (event.time for event in events if isinstance(event, Finished))
    return end - begins[0]


def test_studies_that_share_a_server_are_as_fast_as_with_stores_of_their_own(tmp_path: Path) -> None:
    with mlflow_server(tmp_path / "sqlite", f"sqlite:///{tmp_path / 'mlflow.db'}") as sqlite:
        _compare(tmp_path / "by sqlite", "sqlite", sqlite)
    if POSTGRES.is_dir():
        with postgresql() as store, mlflow_server(tmp_path / "postgresql", store) as uri:
            _compare(tmp_path / "by postgresql", "PostgreSQL", uri)


def _compare(folder: Path, name: str, uri: str) -> None:
    """In turns, so that both have the same load of the machine."""
    shared, own = [], []
    for number in range(ROUNDS):
        own += seconds(folder / f"own {number}", "")
        shared += seconds(folder / f"shared {number}", uri)
    ratio = median(one / other for one, other in zip(shared, own, strict=True))
    row = {"private stores": median(own), "one server": median(shared), "ratio": ratio}
    record("tracking server", {name: row}, "seconds")
    assert ratio < LIMIT
