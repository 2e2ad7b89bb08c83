"""The test phase amid faults: they are events, each is answered once and for all, and the study comes to its end."""

import os
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from skipstack.data.basis.errors import UserError
from skipstack.search.execution.driver.faults import WeightsLostError
from skipstack.search.execution.engines.ray.copying.copying_workers import PartedError
from skipstack.search.execution.engines.ray.copying.file_server import FileServer
from skipstack.search.ledger.events import Ended, Event, Extended, Untested
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.folder import BEST, StudyFolder
from skipstack.search.study.record.reading import is_finished, read_study
from skipstack.search.study.task import EpochResult, Measured, TrialTask
from tests.search.changed import searched
from tests.search.killing import DyingLedger, Killed, appends, timeless
from tests.search.toy import KeepingWorker, open_toy, run_toy, toy_study


class TroubledTests(KeepingWorker):
    """Trial 0 needs twice the memory; trial 1 finds a bug; the weights of trial 2 are lost once, of trial 3 always."""

    @classmethod
    def test(cls, task: TrialTask) -> Measured:
        if task.number == 0 and task.share == 1:
            raise MemoryError("no room")
        if task.number == 1:
            raise ValueError("a bug")
        if not (task.folder / BEST).exists():
            raise WeightsLostError("lost")
        if task.number in (2, 3) and not (task.folder / "once").exists():
            (task.folder / BEST).unlink()
            if task.number == 2:
                (task.folder / "once").touch()
            raise WeightsLostError("lost")
        return super().test(task)


def begun(path: Path) -> StudyFolder:
    return open_toy(path, searched(toy_study(trials=5, proposer="grid"), scheduler="none", retries=1))


run = partial(run_toy, worker=TroubledTests)


def untested(folder: StudyFolder) -> list[tuple[int, str, str]]:
    told = [event for event in Ledger(folder.ledger).read() if isinstance(event, Untested)]
    return sorted((event.trial, event.reason, event.then) for event in told)


def test_what_fails_is_measured_again_trained_again_or_given_up_on_and_all_others_are_tested(tmp_path: Path) -> None:
    folder = begun(tmp_path)
    record = run(folder)
    assert record.finished
    assert is_finished(folder.path)
    assert Counter(untested(folder)) == {
        (0, "out_of_memory", "measure"): 1,
        (1, "failed", "measure"): 1,
        (1, "failed", "give_up"): 1,
        (2, "failed", "train"): 1,
        (3, "failed", "train"): 1,
        (3, "failed", "give_up"): 1,
    }
    assert [bool(trial.tested) for trial in record.trials.values()] == [True, False, True, False, True]
    assert record.trials[1].given_up == "ValueError: a bug"
    assert record.trials[3].given_up == "lost"
    assert {trial.reason for trial in record.trials.values()} == {"completed"}
    trained = record.trials[2]
    assert (folder.trial(2) / BEST).read_text() == f"{trained.config.identity} {len(trained.reports)}"
    again = run(folder, first=[Extended(time=9.0, trials=1)])
    assert again.trials[5].tested, "a study that gave up on a trial goes on"
    assert untested(folder).count((1, "failed", "give_up")) == 2, "and asks it once more"


@pytest.mark.slow
def test_a_driver_killed_at_any_append_of_the_test_phase_and_resumed_does_the_same(tmp_path: Path) -> None:
    whole = begun(tmp_path / "whole")
    run(whole)
    expected = timeless(Ledger(whole.ledger).read())
    phase = sum(event.kind in ("measuring", "untested", "tested", "finished") for event in expected)
    for kill in range(appends(whole) - phase, appends(whole)):
        folder = begun(tmp_path / f"killed-{kill}")
        with pytest.raises(Killed):
            run(folder, DyingLedger(folder.ledger, kill, after=kill % 4 < 2))
        run(folder)
        told = timeless(Ledger(folder.ledger).read())
        assert Counter(map(repr, told)) == Counter(map(repr, expected)), kill


def test_what_no_trial_could_do_without_ends_the_test_phase(tmp_path: Path) -> None:
    class NoCorpus(KeepingWorker):
        @classmethod
        def test(cls, task: TrialTask) -> Measured:
            raise UserError("the corpus is gone")

    folder = begun(tmp_path)
    with pytest.raises(UserError, match="the corpus is gone"):
        run_toy(folder, worker=NoCorpus)
    assert not is_finished(folder.path)
    assert not any(trial.given_up for trial in read_study(folder.path).trials.values())


def test_weights_are_on_the_disk_before_it_is_written_that_their_trial_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = begun(tmp_path)
    synced: list[Path] = []
    ended: list[tuple[int, list[Path]]] = []
    real = os.fsync

    def watched(descriptor: int) -> None:
        synced.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")))
        real(descriptor)

    class Watching(Ledger):
        def append(self, *events: Event) -> None:
            ended.extend((event.trial, list(synced)) for event in events if isinstance(event, Ended))
            super().append(*events)

    monkeypatch.setattr(os, "fsync", watched)
    run(folder, Watching(folder.ledger))
    assert [trial for trial, _ in ended] == [0, 1, 2, 3, 4]
    for trial, before in ended:
        assert {folder.trial(trial) / BEST, folder.trial(trial), folder.trials} <= set(before)


def test_a_worker_is_told_which_epoch_s_weights_it_measures_unless_they_were_trained_again(tmp_path: Path) -> None:
    told: list[tuple[int, int | None]] = []

    class Told(TroubledTests):
        @classmethod
        def test(cls, task: TrialTask) -> Measured:
            told.append((task.number, task.best))
            return super().test(task)

    record = run_toy(begun(tmp_path), worker=Told)
    best = {trial.number: trial.best.epoch for trial in record.trials.values() if trial.best is not None}
    first = dict(reversed(told))
    assert first == best
    assert [epoch for number, epoch in told if number == 2] == [best[2], None]
    assert record.trials[2].weights_epoch is None


def test_a_trial_whose_worker_was_told_to_part_is_trained_again_for_its_test(tmp_path: Path) -> None:
    folder = begun(tmp_path)
    server = FileServer(folder)

    class Parting(TroubledTests):
        def run_epoch(self) -> EpochResult | None:
            if not server.goes_on(self.task.number, self.task.attempt):
                raise PartedError
            return super().run_epoch()

        @classmethod
        def test(cls, task: TrialTask) -> Measured:
            server.part(task.number, 1)  # as the loop on Ray does for a trial that ends with unsent files
            return super().test(task)

    assert run_toy(folder, worker=Parting).trials[2].tested
