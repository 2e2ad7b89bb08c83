"""Trials that somebody stops while the study runs, and a study that is to start no more of them."""

from contextlib import closing
from pathlib import Path

import pytest

import skipstack
from skipstack.data.basis.errors import UserError
from skipstack.search.api import run
from skipstack.search.api.provenance import provenance
from skipstack.search.execution.driver.engine import run_study
from skipstack.search.execution.engines.ray.engine import RayEngine
from skipstack.search.ledger.events import Shortened
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.config import SearchConfig, StudyConfig
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.record.requests import Request, Requests
from skipstack.search.study.task import EpochResult
from tests.command_line import refusal, typed
from tests.search.toy import ToyWorker, open_toy, run_toy, toy_driver, toy_study


def study(trials: int, **scheduler: object) -> StudyConfig:
    given = toy_study(trials)
    search = SearchConfig.model_validate({**given.search.model_dump(), "scheduler": scheduler or {"kind": "none"}})
    return given.model_copy(update={"search": search})


def stopping(folder: Path, *options: object, at: int) -> type[ToyWorker]:
    """A worker during whose first epoch of trial ``at`` somebody types `skipstack stop` with these options."""

    class Stopping(ToyWorker):
        def run_epoch(self) -> EpochResult:
            if self.task.number == at and self.epoch == 0:
                assert typed("stop", folder, *options).code == 0
            return super().run_epoch()

    return Stopping


def test_a_trial_in_training_ends_at_its_next_report_and_keeps_its_score(tmp_path: Path) -> None:
    folder = open_toy(tmp_path / "study", study(4))
    record = run_toy(folder, worker=stopping(folder.path, "--trial", 1, at=1))
    stopped, *others = (record.trials[number] for number in (1, 0, 2, 3))
    assert stopped.reason == "stopped"
    assert stopped.message == f"stopped by {provenance()['user']}"
    assert len(stopped.reports) == 1
    assert stopped.score == stopped.reports[0].score
    assert {(each.reason, len(each.reports)) for each in others} == {("completed", record.trials[0].epochs)}
    assert read_study(folder.path).trials[1].reason == "stopped"
    assert not Requests(folder.asked).waiting()


def test_a_study_that_is_stopped_starts_no_further_trial_and_ends_as_usual(tmp_path: Path) -> None:
    folder = open_toy(tmp_path / "study", toy_study(6))
    record = run_toy(folder, worker=stopping(folder.path, at=2))
    assert len(record.trials) == 3
    assert record.finished
    assert record.ranked()[0].tested
    assert [event.trials for event in Ledger(folder.ledger).read() if isinstance(event, Shortened)] == [3]


def test_a_paused_trial_is_not_promoted_any_more(tmp_path: Path) -> None:
    folder = open_toy(tmp_path / "study", study(4, kind="asha", variant="promotion", grace=1))
    with Ledger(folder.ledger) as ledger:
        running = toy_driver(folder, ledger)
        base, task = running.next(), running.next()
        assert base is not None
        assert task is not None
        assert running.report(base.number, ToyWorker(base).run_epoch()).action == "continue"
        assert running.report(task.number, ToyWorker(task).run_epoch()).action == "pause"
        Requests(folder.asked).ask(Request(stop=(task.number,), asked_by="ada"))
        running.take_asked()
        ended = running.record.trials[task.number]
    assert (ended.reason, ended.message) == ("stopped", "stopped by ada")


def test_a_note_and_a_title_of_a_running_study_are_written_by_its_driver(tmp_path: Path) -> None:
    folder = open_toy(tmp_path / "study", toy_study(3))

    class Noting(ToyWorker):
        def run_epoch(self) -> EpochResult:
            if self.task.number == 1 and self.epoch == 0:
                assert typed("note", folder.path, "noisy", "--trial", 0).code == 0
                assert typed("rename", folder.path, "Warm-up").code == 0
            return super().run_epoch()

    record = run_toy(folder, worker=Noting)
    read = read_study(folder.path)
    assert (
        (record.trials[0].note, record.study.title) == (read.trials[0].note, read.study.title) == ("noisy", "Warm-up")
    )
    assert not Requests(folder.asked).waiting()


def test_a_driver_that_is_killed_leaves_the_request_to_the_next_one(tmp_path: Path) -> None:
    folder = open_toy(tmp_path / "study", study(3))
    with Ledger(folder.ledger) as ledger:
        assert toy_driver(folder, ledger).next() is not None
    Requests(folder.asked).ask(Request(stop=(0,), asked_by="ada"))
    assert Requests(folder.asked).waiting()
    record = run_toy(folder)
    assert record.trials[0].reason == "stopped"
    assert not record.trials[0].reports
    assert not Requests(folder.asked).waiting()


def test_a_request_to_end_that_came_too_late_does_not_cancel_an_extension(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "is_installed", lambda name: False)
    calls = list[float]()

    def objective(config: dict[str, float]) -> float:
        calls.append(config["x"])
        return config["x"]

    space = skipstack.Space(x=skipstack.uniform(0, 4))
    study = skipstack.search(space, objective, trials=1, seeds=1, engine="serial", out=tmp_path / "study")
    asked = Requests(StudyFolder(study.folder).asked)
    asked.ask(Request(enough=True, asked_by="ada"))
    skipstack.extend(study.folder, objective, trials=2, engine="serial")
    assert len(calls) == 3
    assert not asked.waiting()


@pytest.mark.cluster
def test_on_ray_as_well(tmp_path: Path) -> None:
    folder = open_toy(tmp_path / "study", study(4))
    with (
        Ledger(folder.ledger) as ledger,
        closing(RayEngine(stopping(folder.path, "--trial", 1, at=1), address=None, gpus_per_trial=0)) as engine,
    ):
        driver = toy_driver(folder, ledger)
        run_study(driver, engine)
    record = driver.record
    assert record.trials[1].reason == "stopped"
    assert len(record.trials[1].reports) < record.trials[0].epochs


def test_what_cannot_be_stopped_is_refused(tmp_path: Path) -> None:
    folder = open_toy(tmp_path / "study", toy_study(2))
    assert "no process runs this study now" in refusal("stop", folder.path)
    assert "trial 7 is not in this study" in refusal("stop", folder.path, "--trial", 7)
    run_toy(folder)
    assert "trial 1 has ended (allowed: none, all have ended)" in refusal("stop", folder.path, "--trial", 1)
    with pytest.raises(UserError, match="its search is over"), Ledger(folder.ledger).kept():
        skipstack.open(folder.path).stop()  # while an ablation runs, for one
    assert not Requests(StudyFolder(folder.path).asked).waiting()
