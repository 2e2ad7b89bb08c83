"""The driver with a worker that trains nothing: what is proposed, judged and written, and what a kill loses."""

import math
from collections import Counter
from pathlib import Path

import pytest

from skipstack.data.basis.errors import UserError
from skipstack.search.execution.driver.faults import Fault
from skipstack.search.ledger.events import Decided, Ended, Event, Proposed, Reported
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.strategy.schedulers.config import AshaConfig
from skipstack.search.strategy.schedulers.halving import Asha
from skipstack.search.strategy.schedulers.scheduler import Decision
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.task import EpochResult
from tests.search.changed import searched
from tests.search.killing import killed_and_resumed
from tests.search.toy import FailingWorker, ToyWorker, open_toy, run_toy, toy_driver, toy_study

PROPOSERS = pytest.mark.parametrize("proposer", ["grid", "random", "tpe"])


@pytest.mark.first(1)
@PROPOSERS
def test_a_driver_killed_at_any_append_and_resumed_writes_what_an_uninterrupted_one_writes(
    proposer: str, tmp_path: Path
) -> None:
    study = toy_study(trials=6, proposer=proposer)
    killed_and_resumed(tmp_path, lambda path: open_toy(path, study), run_toy, moments=15)


@PROPOSERS
def test_decisions_are_those_of_asha_on_the_reports_in_the_order_of_the_ledger(proposer: str, tmp_path: Path) -> None:
    folder = open_toy(tmp_path, toy_study(proposer=proposer))
    run_toy(folder)
    asha = Asha(AshaConfig(grace=1, reduction=2), 4, spared=frozenset({0}))
    events = Ledger(folder.ledger).read()
    decided = [event for event in events if isinstance(event, Decided)]
    reported = [event for event in events if isinstance(event, Reported)]
    for report, decision in zip(reported, decided, strict=True):
        assert asha.report(report.trial, report.epoch, report.score) == Decision(decision.decision, decision.rung)
    assert {"stop", "complete", "continue"} == {decision.decision for decision in decided}


@pytest.mark.parametrize(("proposer", "trials", "expected"), [("tpe", 5, 5), ("grid", 20, 9), ("grid", 4, 4)])
def test_as_many_trials_are_ready_as_run_or_could_begin(
    proposer: str, trials: int, expected: int, tmp_path: Path
) -> None:
    folder = open_toy(tmp_path, searched(toy_study(trials=trials, proposer=proposer), scheduler="none"))
    with Ledger(folder.ledger) as ledger:
        driver = toy_driver(folder, ledger)
        left = expected
        assert driver.ready == left
        while (task := driver.next()) is not None:
            assert driver.ready == left, "one that runs is no longer one that could begin"
            driver.faulted(task.number, Fault("failed", "ValueError: a bug"))
            left -= 1
        assert driver.ready == left == 0
    assert len(driver.record.trials) == expected, "counting them has skipped none"


def test_the_base_comes_first_and_is_never_stopped(tmp_path: Path) -> None:
    record = run_toy(open_toy(tmp_path, toy_study(trials=20)))
    assert record.trials[0].config == record.study.space.base
    assert record.base is record.trials[0]
    assert record.trials[0].reason == "completed"
    assert "stopped" in {trial.reason for trial in record.trials.values()}


def test_a_grid_ends_with_its_last_point_and_no_config_runs_twice(tmp_path: Path) -> None:
    record = run_toy(open_toy(tmp_path, toy_study(trials=50, proposer="grid")))
    assert len(record.trials) == 9
    assert len({trial.config.identity for trial in record.trials.values()}) == 9
    assert record.finished


def test_a_failed_trial_and_a_diverged_one_end_by_themselves_and_take_no_place_in_the_ranking(tmp_path: Path) -> None:
    record = run_toy(open_toy(tmp_path, toy_study(trials=9, proposer="grid")), worker=FailingWorker)
    by_depth = {trial.config.model.stack.depth: trial for trial in record.trials.values() if len(trial.reports) > 1}
    assert by_depth[2].reason == "diverged"
    failed = [trial for trial in record.trials.values() if trial.reason == "failed"]
    assert failed
    assert {trial.message for trial in failed} == {"RuntimeError: out of luck"}
    assert all(trial.reason in ("completed", "stopped") for trial in record.ranked())


def test_report_decision_and_end_are_one_append(tmp_path: Path) -> None:
    batches: list[tuple[str, ...]] = []

    class Watching(Ledger):
        def append(self, *events: Event) -> None:
            batches.append(tuple(event.kind for event in events))
            super().append(*events)

    folder = open_toy(tmp_path, toy_study(trials=3))
    run_toy(folder, Watching(folder.ledger))
    kinds = Counter(batches)
    assert ("reported",) not in kinds
    assert kinds["reported", "decided", "ended"] == 3
    assert kinds["reported", "decided"] > 0


def test_only_selected_trials_are_tested_and_resuming_tests_nothing_twice(tmp_path: Path) -> None:
    folder = open_toy(tmp_path, toy_study())
    record = run_toy(folder)
    best = record.ranked()[0]
    tested = [trial.number for trial in record.trials.values() if trial.tested]
    assert best.number in tested
    assert 0 < len(tested) < len(record.trials)
    before = len([event for event in Ledger(folder.ledger).read() if event.kind == "tested"])
    run_toy(folder)
    assert len([event for event in Ledger(folder.ledger).read() if event.kind == "tested"]) == before


def test_a_ledger_whose_decisions_we_would_not_take_is_refused(tmp_path: Path) -> None:
    folder = open_toy(tmp_path, toy_study())
    with Ledger(folder.ledger) as ledger:
        driver = toy_driver(folder, ledger)
        task = driver.next()
        assert task is not None
        driver.report(0, ToyWorker(task).run_epoch())
        ledger.append(
            Reported(time=2.0, trial=0, epoch=2, score=0.9, metrics={"dev_accuracy": (0.9, 0.9)}, seconds=0.0),
            Decided(time=2.0, trial=0, epoch=2, decision="stop", rung=2),
        )
    with Ledger(folder.ledger) as ledger, pytest.raises(UserError, match=r"trial 0, epoch 2.*allowed"):
        toy_driver(folder, ledger)


def test_a_reader_hears_every_event_after_it_is_on_the_disk(tmp_path: Path) -> None:
    folder = open_toy(tmp_path, toy_study(trials=3))
    heard: list[Event] = []

    def reader(event: Event) -> None:
        heard.append(event)
        assert event in Ledger(folder.ledger).read()

    run_toy(folder, readers=[reader])
    assert heard == Ledger(folder.ledger).read()[2:]


def test_what_is_read_from_the_folder_is_what_the_driver_had(tmp_path: Path) -> None:
    folder = open_toy(tmp_path, toy_study())
    record = run_toy(folder)
    again = read_study(folder.path)
    assert again.trials == record.trials
    assert [trial.number for trial in again.ranked()] == [trial.number for trial in record.ranked()]
    assert math.isclose(again.ranked()[0].score or 0, max(trial.score or 0 for trial in again.trials.values()))


def test_interrupting_says_so_in_the_ledger_and_leaves_the_trial_to_the_next_driver(tmp_path: Path) -> None:
    class Interrupted(ToyWorker):
        def run_epoch(self) -> EpochResult:
            if self.task.number == 2:
                raise KeyboardInterrupt
            return super().run_epoch()

    folder = open_toy(tmp_path, toy_study(trials=5))
    with pytest.raises(KeyboardInterrupt):
        run_toy(folder, worker=Interrupted)
    events = Ledger(folder.ledger).read()
    assert events[-1].kind == "interrupted"
    assert not [event for event in events if isinstance(event, Ended) and event.trial == 2]
    record = run_toy(folder)
    assert len([event for event in Ledger(folder.ledger).read() if isinstance(event, Proposed)]) == 5
    assert record.trials[2].reason is not None
