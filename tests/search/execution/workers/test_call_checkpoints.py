"""Checkpoints of a user's function: what is found after kills at any moment, and that nothing else stays."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from skipstack.search.execution.driver.driver import Driver
from skipstack.search.execution.driver.engine import run_study
from skipstack.search.execution.driver.retention import Retention
from skipstack.search.execution.engines.ray.copying.chunks import chunks
from skipstack.search.execution.engines.ray.copying.file_server import FileServer
from skipstack.search.execution.engines.ray.copying.scratch import files_of
from skipstack.search.execution.engines.serial import SerialEngine
from skipstack.search.execution.workers.attempts import SupersededError
from skipstack.search.execution.workers.call_checkpoints import CallCheckpoints
from skipstack.search.execution.workers.function_worker import FunctionWorkers
from skipstack.search.execution.workers.reporting import Report, TrialOver
from skipstack.search.ledger.events import Decided, Event, Reported
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.folder import CALL_CHECKPOINTS, StudyFolder
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.whole_copies import WHOLE
from tests.search.functions import LINE, Config, Function, open_function, searched
from tests.search.killing import DyingLedger, Killed, appends, timeless

NONE: dict[str, Any] = {**LINE, "search": {**LINE["search"], "scheduler": "none"}}
PROMOTING: dict[str, Any] = {
    **LINE,
    "search": {**LINE["search"], "scheduler": {"kind": "asha", "variant": "promotion", "reduction": 2}},
}

computed: list[tuple[float, int, int]] = []
"""Each epoch that a function has computed: x, seed, and its number."""


def drawn() -> float:
    return random.random() + np.random.random() + float(torch.rand(()))  # noqa: NPY002


def walking(config: Config, report: Report, *, before: bool, epochs: int = 5) -> None:
    """A walk whose every step is drawn from all global generators, so that it goes on from nowhere but its place."""
    kept = report.restore()
    place = float(kept.read_text()) if kept is not None else config["x"]
    for epoch in range(report.epoch + 1, epochs + 1):
        place += drawn()
        computed.append((config["x"], config["seed"], epoch))
        if before:
            report.checkpoint(repr(place).encode(), epoch=epoch)
        report(score=place, epoch=epoch, step=epoch)
        if not before:
            report.checkpoint(repr(place).encode())


def before(config: Config, report: Report) -> None:
    walking(config, report, before=True)


def after(config: Config, report: Report) -> None:
    walking(config, report, before=False)


def uneven(config: Config, report: Report) -> None:
    """Seed 0 ends two epochs before seed 1."""
    walking(config, report, before=True, epochs=3 + 2 * config["seed"])


def plain(config: Config, report: Report) -> None:
    """The walk of a function that knows no checkpoints."""
    place = config["x"]
    for _ in range(5):
        place += drawn()
        report(score=place)


def told(folder: StudyFolder) -> list[Event]:
    """All that happened, whenever it did, and however long it took."""
    return [
        event.model_copy(update={"seconds": 0.0}) if isinstance(event, Reported) else event
        for event in timeless(Ledger(folder.ledger).read())
    ]


def run(folder: StudyFolder, function: Function, ledger: Ledger) -> StudyRecord:
    with ledger:
        driver = Driver(folder, ledger, device="cpu", clock=lambda: 1.0)
        driver.listen(Retention(folder, lambda: driver.record))
        run_study(driver, SerialEngine(FunctionWorkers(function)))
        return driver.record


def left(folder: StudyFolder) -> list[Path]:
    return list(folder.trials.rglob(CALL_CHECKPOINTS))


@pytest.mark.slow
@pytest.mark.parametrize(("function", "study"), [(uneven, NONE), (before, PROMOTING), (after, PROMOTING)])
def test_a_driver_killed_at_any_append_leaves_the_ledger_of_one_that_was_not(
    function: Function, study: Any, tmp_path: Path
) -> None:
    whole = open_function(tmp_path / "whole", function, study, trials=3, seeds=2, epochs=5)
    run(whole, function, Ledger(whole.ledger))
    expected = told(whole)
    assert (study is NONE) != any(isinstance(event, Decided) and event.decision == "pause" for event in expected)
    for kill in range(3, appends(whole), appends(whole) // 4 | 1):
        folder = open_function(tmp_path / str(kill), function, study, trials=3, seeds=2, epochs=5)
        with pytest.raises(Killed):
            run(folder, function, DyingLedger(folder.ledger, kill, after=kill % 2 == 1))
        run(folder, function, Ledger(folder.ledger))
        assert told(folder) == expected
        assert not left(folder)


@pytest.mark.first(1)
@pytest.mark.parametrize("function", [before, after])
def test_scores_are_those_of_a_function_that_knows_no_checkpoints(function: Function, tmp_path: Path) -> None:
    alone = searched(tmp_path / "alone", plain, PROMOTING, trials=4, seeds=2, epochs=5)
    folder = open_function(tmp_path / "kept", function, PROMOTING, trials=4, seeds=2, epochs=5)
    computed.clear()
    record = run(folder, function, Ledger(folder.ledger))
    for number, trial in alone.trials.items():
        assert list(record.trials[number].reports.scores) == list(trial.reports.scores)
    again = len(computed) - len(set(computed))
    assert again == 0 if function is before else again > 0  # what is kept before a report is there after a pause


def test_a_killed_function_computes_no_epoch_again_that_it_has_kept(tmp_path: Path) -> None:
    folder = open_function(tmp_path, before, NONE, trials=1, seeds=2, epochs=5)
    computed.clear()
    with pytest.raises(Killed):
        run(folder, before, DyingLedger(folder.ledger, 5, after=True))
    had = list(computed)
    assert 2 < len(had) < 10
    assert len(left(folder)) == 1
    run(folder, before, Ledger(folder.ledger))
    assert sorted(computed) == sorted({(2.0, seed, epoch) for seed in (0, 1) for epoch in range(1, 6)})


def of_call(trial: Path, *, attempt: int = 1, reported: int = 0) -> CallCheckpoints:
    return CallCheckpoints(trial, Path("seed-0"), attempt=attempt, reported=reported)


def put(call: CallCheckpoints, state: Path | bytes, epoch: int) -> None:
    call.write(state, epoch, chance={}, report=None)


def found(trial: Path, *, reported: int, attempt: int = 2) -> bytes | None:
    latest = of_call(trial, attempt=attempt, reported=reported).latest()
    return None if latest is None else latest.path.read_bytes()


def test_only_the_latest_stays_and_one_of_an_unreported_epoch_does_not_count(tmp_path: Path) -> None:
    call = of_call(tmp_path / "a")
    for epoch in (0, 0, 1, 1):
        put(call, b"%d" % epoch, epoch)
    places = list((tmp_path / "a" / CALL_CHECKPOINTS / "seed-0").iterdir())
    assert len(places) == 2, "the latest, and the latest that counts"
    call.reported(1)
    assert len(list((tmp_path / "a" / CALL_CHECKPOINTS / "seed-0").iterdir())) == 1
    put(call, b"2", 2)
    assert found(tmp_path / "a", reported=1) == b"1"
    assert found(tmp_path / "a", reported=2) == b"1", "what did not count is gone: the epoch is trained again"
    assert found(tmp_path / "b", reported=0) is None


def test_one_that_is_not_whole_is_not_seen(tmp_path: Path) -> None:
    state = tmp_path / "state"
    (state / "deep").mkdir(parents=True)
    (state / "weights").write_bytes(b"12345")
    (state / "deep" / "notes").write_bytes(b"6")
    trial = tmp_path / "trial"
    put(of_call(trial), b"earlier", 1)
    put(of_call(trial, attempt=2, reported=1), state, 2)
    latest = of_call(trial, attempt=3, reported=2).latest()
    assert latest is not None
    assert latest.path.name == "state"
    assert {each.relative_to(latest.path).as_posix() for each in latest.path.rglob("*") if each.is_file()} == {
        "weights",
        "deep/notes",
    }
    for broken in (latest.path / "weights", latest.folder / WHOLE):
        whole = broken.read_bytes()
        broken.write_bytes(whole[:-1])
        assert [each.epoch for each in of_call(trial)._whole()] == []
        broken.unlink()
        assert [each.epoch for each in of_call(trial)._whole()] == []
        broken.write_bytes(whole)
        assert [each.epoch for each in of_call(trial)._whole()] == [2]


def test_an_attempt_that_was_given_up_writes_none(tmp_path: Path) -> None:
    first = of_call(tmp_path)
    put(first, b"1", 0)
    assert found(tmp_path, reported=0) == b"1"
    with pytest.raises(SupersededError):
        put(first, b"2", 0)
    assert found(tmp_path, reported=0) == b"1"


def test_the_file_server_takes_them_from_another_machine_until_the_trial_has_ended(tmp_path: Path) -> None:
    study = StudyFolder(tmp_path / "study")
    study.trials.mkdir(parents=True)
    server, here = FileServer(study), tmp_path / "here"
    put(of_call(here), b"1", 0)
    for chunk in chunks(here, files_of(here)):
        server.take(0, 1, chunk)
    assert found(study.trial(0), reported=0) == b"1"
    server.over(0)
    assert not left(study)
    for chunk in chunks(here, files_of(here)):
        server.take(0, 2, chunk)
    assert found(study.trial(0), reported=0) is None


def test_a_call_that_has_to_end_keeps_nothing_more(tmp_path: Path) -> None:
    said: list[str] = []

    def last_words(config: Config, report: Report) -> None:
        try:
            for _ in range(3):
                report(score=config["x"])
        finally:
            try:
                report.checkpoint(b"too late")
            except TrialOver:
                said.append("over")

    searched(tmp_path, last_words, {**LINE, "search": {"scheduler": {"kind": "asha", "grace": 1}}}, trials=8, seeds=1)
    assert "over" in said
    assert not [each for each in tmp_path.rglob(WHOLE) if b'"epoch": 1' in each.read_bytes()]


def wrong_epoch(config: Config, report: Report) -> None:
    report.checkpoint(b"", epoch=2)


def wrong_kind(config: Config, report: Report) -> None:
    report.checkpoint({"weights": 1})  # type: ignore[arg-type]


def wrong_path(config: Config, report: Report) -> None:
    report.checkpoint("nowhere.pt")


def wrong_time(config: Config, report: Report) -> None:
    report(score=1.0)
    report.restore()


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (wrong_epoch, "report.checkpoint(epoch=...): got 2 (allowed: 0, the last that was reported, or 1, the next)"),
        (wrong_kind, "report.checkpoint(...): got dict (allowed: a path, or bytes)"),
        (wrong_path, "report.checkpoint(...): nowhere.pt is not there (allowed: a file or a folder)"),
        (wrong_time, "report.restore(): called after epoch 1 (allowed: before the first report)"),
    ],
)
def test_a_mistake_is_told_in_one_line(function: Function, says: str, tmp_path: Path) -> None:
    record = searched(tmp_path, function, NONE, trials=1, seeds=1)
    assert says in record.trials[0].message
