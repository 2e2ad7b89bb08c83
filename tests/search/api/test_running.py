"""What is done beside a study that has ended, and of one that was interrupted is not."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from skipstack.search.api.asking import ask_for
from skipstack.search.api.options import Execution
from skipstack.search.api.run import Run, next_part
from skipstack.search.execution.driver.faults import StudyGoneError
from skipstack.search.execution.engines.serial import SerialEngine
from skipstack.search.ledger.events import Finished
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.task import EpochResult
from tests.search.analysis.ablation.toys import beginning, grid_search, made, run_ablation
from tests.search.toy import KeepingWorker, ToyWorker, open_toy, toy_study

PUBLISH = Run.publish
"""The method itself: while tests run, another one stands in its place, which publishes nothing."""


class StoppedWorker(ToyWorker):
    """The user asks to end."""

    def run_epoch(self) -> EpochResult:
        raise KeyboardInterrupt


class Closed(SerialEngine):
    """It says whether it has been closed."""

    closed = False

    def close(self) -> None:
        super().close()
        self.closed = True


def run(path: Path, worker: type[ToyWorker]) -> tuple[Run, Closed, Event]:
    loaded, engine = Event(), Closed(worker)
    execution = Execution(engine="serial", meanwhile=loaded.set)
    return Run(open_toy(path, toy_study(trials=2)), execution, engine, resuming=False), engine, loaded


def test_a_study_is_reported_before_its_engine_closes_with_what_a_report_needs_loaded(tmp_path: Path) -> None:
    over, engine, loaded = run(tmp_path / "study", ToyWorker)
    with over.finished() as record:
        assert record.finished
        assert loaded.is_set()
        assert not engine.closed
    assert engine.closed


@pytest.mark.slow
def test_an_engine_closes_although_the_report_fails(tmp_path: Path) -> None:
    over, engine, _ = run(tmp_path / "study", ToyWorker)
    with pytest.raises(BrokenPipeError), over.finished():
        raise BrokenPipeError
    assert engine.closed
    assert not over.missing


def test_a_study_that_was_interrupted_needs_no_report(tmp_path: Path) -> None:
    stopped, engine, loaded = run(tmp_path / "study", StoppedWorker)
    with pytest.raises(KeyboardInterrupt):
        stopped.finish()
    assert engine.closed
    assert not loaded.is_set()


@pytest.mark.parametrize("points", [1, 2])
def test_points_that_come_after_the_last_look_at_them_are_said_to_wait(points: int, tmp_path: Path) -> None:
    said = list[str]()

    def ask(event: object) -> None:
        if isinstance(event, Finished):
            ask_for(tmp_path / "study", [{"learning_rate": 0.5 + number / 10} for number in range(points)])

    over, _, _ = run(tmp_path / "study", ToyWorker)
    over.execution = replace(over.execution, say=said.append, watch=lambda *_: nullcontext(ask))
    over.finish()
    (line,) = (line for line in said if "too late" in line)
    assert line.startswith({1: "1 point was asked", 2: "2 points were asked"}[points])


def test_a_study_that_is_moved_before_its_report_is_published_is_gone_and_can_be_resumed(tmp_path: Path) -> None:
    over, _, _ = run(tmp_path / "study", ToyWorker)
    over.finish()
    (tmp_path / "study").rename(tmp_path / "elsewhere")
    steps: list[Callable[[], object]] = [
        lambda: PUBLISH(over, lambda *_: pytest.fail("nothing can be made of it")),
        lambda: next_part(replace(over, ablation=1)),
    ]
    for step in steps:
        with pytest.raises(StudyGoneError, match="moved or deleted before its report was in MLflow"):
            step()


def test_what_an_ablation_left_that_was_killed_as_it_ended_is_deleted_with_the_next(tmp_path: Path) -> None:
    path = grid_search(tmp_path / "study", {"model.stack.depth": {"choice": [1, 3]}})
    run_ablation(path, 1, beginning(path, made(path)), worker=KeepingWorker)  # the driver alone, as if killed after it
    assert list((path / "ablations/1").rglob("best*"))
    log = StudyFolder(path, 1).log(0)
    log.write_text("said by trial 0")
    own, execution, engine = StudyFolder(path, 2), Execution(engine="serial"), SerialEngine(ToyWorker)
    Run(own, execution, engine, resuming=False, first=beginning(path, made(path)), ablation=2).finish()
    assert [file for file in (path / "ablations").rglob("*") if file.is_file()] == [log]
