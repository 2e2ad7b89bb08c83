"""What is done beside a study that has ended, and of one that was interrupted is not."""

from pathlib import Path
from threading import Event

import pytest

from skipstack.search.engines.serial import SerialEngine
from skipstack.search.execution import Execution
from skipstack.search.running import Run
from skipstack.search.study.task import EpochResult
from tests.search.toy import ToyWorker, open_toy, toy_study


class StoppedWorker(ToyWorker):
    """The user asks to end."""

    def run_epoch(self) -> EpochResult:
        raise KeyboardInterrupt


def run(path: Path, worker: type[ToyWorker]) -> tuple[Run, Event]:
    loaded = Event()
    execution = Execution(engine="serial", meanwhile=loaded.set)
    return Run(open_toy(path, toy_study(trials=2)), execution, SerialEngine(worker), again=False), loaded


def test_what_a_report_needs_is_loaded_while_a_study_that_is_over_is_closed(tmp_path: Path) -> None:
    over, loaded = run(tmp_path / "study", ToyWorker)
    assert over.finish().finished
    assert loaded.wait(60)


def test_a_study_that_was_interrupted_needs_no_report(tmp_path: Path) -> None:
    stopped, loaded = run(tmp_path / "study", StoppedWorker)
    with pytest.raises(KeyboardInterrupt):
        stopped.finish()
    assert not loaded.is_set()
