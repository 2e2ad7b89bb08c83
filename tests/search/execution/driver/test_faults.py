"""Faults told apart, tried again or not, and a driver that replays them as they were."""

from functools import partial
from pathlib import Path

import pytest
import torch

from skipstack.search.execution.driver import faults
from skipstack.search.execution.driver.driver import Driver
from skipstack.search.execution.driver.engine import run_study
from skipstack.search.execution.driver.faults import (
    DIED,
    GONE,
    TAKEN_BACK,
    Fault,
    LedgerLostError,
    OutOfSpaceError,
    StudyInterruptedError,
    TimeOverError,
    fault_of,
    kernel_kills,
)
from skipstack.search.execution.engines.serial import SerialEngine
from skipstack.search.ledger.events import FAULTS, Decided, Ended, Event, Reason, Retried, Started
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.ledger.segments import TakenOverError
from skipstack.search.strategy.proposers.build import proposer
from skipstack.search.study.config import SearchConfig
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.task import EpochResult
from skipstack.spaces.space import Space
from tests.search.changed import changed, searched
from tests.search.killing import killed_and_resumed
from tests.search.toy import ToyWorker, open_toy, run_toy, toy_driver, toy_study

CRASH = Fault("crashed", DIED)
LOST = Fault("lost", GONE)
PREEMPTED = Fault("preempted", TAKEN_BACK)
STARVED = Fault("out_of_memory", "MemoryError: no room")


class TroubledWorker(ToyWorker):
    """An epoch takes a second. Depth 2 needs twice the memory; depth 3 finds a bug in its second epoch."""

    def run_epoch(self) -> EpochResult:
        result = super().run_epoch()
        depth = self.task.config.model.stack.depth
        if depth == 2 and self.task.share == 1 and result.epoch == 2:
            raise MemoryError("no room")
        if depth == 3 and result.epoch == 2:
            raise ValueError("a bug")
        return EpochResult(epoch=result.epoch, score=result.score, metrics=result.metrics, seconds=1.0)


def limited(**search: object) -> SearchConfig:
    return changed(toy_study().search, **search)


def begun(path: Path, ledger: Ledger | None = None, **search: object) -> tuple[StudyFolder, Ledger]:
    study = toy_study(trials=9, proposer="grid")
    folder = open_toy(path, searched(study, **{"scheduler": "none", **search}))
    return folder, ledger or Ledger(folder.ledger)


def attempt(driver: Driver, fault: Fault | None, epochs: int = 1) -> int:
    """The next trial, trained for some epochs, and ended by a fault."""
    task = driver.next()
    assert task is not None
    worker = ToyWorker(task)
    for _ in range(epochs):
        driver.report(task.number, worker.run_epoch())
    if fault is not None:
        driver.faulted(task.number, fault)
    return task.number


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (MemoryError(), "out_of_memory"),
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."), "out_of_memory"),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: 8 bytes"), "out_of_memory"),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate`"), "out_of_memory"),
        (OSError(12, "Cannot allocate memory"), "out_of_memory"),
        (TimeOverError("too slow"), "timed_out"),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), "failed"),
        (ValueError("out of memory, said a value"), "failed"),
    ],
)
def test_an_error_is_known_by_its_class_and_by_what_it_says(error: Exception, reason: str) -> None:
    assert fault_of(error).reason == reason


def test_a_tensor_larger_than_any_memory_is_out_of_memory() -> None:
    with pytest.raises(RuntimeError) as raised:
        torch.empty(2**60)
    assert fault_of(raised.value).reason == "out_of_memory"


def test_the_kernel_counts_whom_it_killed_for_memory(tmp_path: Path) -> None:
    counters = tmp_path / "vmstat"
    counters.write_text("nr_free_pages 12\noom_kill 7\noom_kill_other 9\n")
    assert kernel_kills(counters) == 7
    counters.write_text("nr_free_pages 12\n")
    assert kernel_kills(counters) == 0
    assert kernel_kills(tmp_path / "none") == 0
    assert kernel_kills() >= 0


def test_a_crash_is_tried_again_before_anything_else_until_the_retries_are_used_up(tmp_path: Path) -> None:
    folder, ledger = begun(tmp_path, retries=2)
    with ledger:
        driver = toy_driver(folder, ledger)
        assert [attempt(driver, CRASH) for _ in range(4)] == [0, 0, 0, 1]
        assert driver.record.trials[0].reason == "crashed"
        assert [report.epoch for report in driver.record.trials[0].reports] == [1, 2, 3]
        assert attempt(driver, None) == 1
        assert driver.task(1).attempt == 2
        assert driver.task(1).reported == 2


def test_without_retries_the_first_crash_is_the_end(tmp_path: Path) -> None:
    folder, ledger = begun(tmp_path, retries=0)
    with ledger:
        driver = toy_driver(folder, ledger)
        assert [attempt(driver, CRASH) for _ in range(3)] == [0, 1, 2]


@pytest.mark.parametrize("retries", [0, 2])
def test_a_lost_machine_is_no_crash_and_a_trial_goes_on_elsewhere_up_to_a_high_bound(
    tmp_path: Path, retries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faults, "MOST_LOSSES", 5)
    folder, ledger = begun(tmp_path, retries=retries)
    with ledger:
        driver = toy_driver(folder, ledger)
        gone = [LOST, PREEMPTED, LOST, LOST, PREEMPTED]
        assert [attempt(driver, fault, epochs=0) for fault in [*gone, *[CRASH] * retries, LOST]] == [0] * (6 + retries)
        trial = driver.record.trials[0]
        assert (trial.reason, trial.message) == ("lost", GONE)
        assert [retry.cause for retry in trial.retries] == [fault.reason for fault in [*gone, *[CRASH] * retries]]
        assert driver.record.lost == 5
        assert attempt(driver, None) == 1
    assert StudyRecord.of(ledger.read()).trials == driver.record.trials


def test_a_measurement_whose_machine_is_lost_is_made_elsewhere_and_counts_no_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faults, "MOST_LOSSES", 2)
    folder, ledger = begun(tmp_path, retries=1)
    then = []
    with ledger:
        driver = toy_driver(folder, ledger)
        number = attempt(driver, Fault("failed", "ValueError: a bug"))
        for fault in (LOST, CRASH, PREEMPTED, LOST):
            driver.measured(number, fault)
            then.append(driver.record.trials[number].untested[-1].then)
    assert then == ["measure", "measure", "measure", "give_up"]


def test_missing_memory_is_tried_once_more_with_twice_the_share_whatever_the_retries(tmp_path: Path) -> None:
    folder, ledger = begun(tmp_path, retries=0)
    with ledger:
        driver = toy_driver(folder, ledger)
        assert attempt(driver, STARVED) == 0
        assert driver.task(0).share == 2
        assert attempt(driver, STARVED) == 0
        trial = driver.record.trials[0]
        assert (trial.reason, trial.message) == ("out_of_memory", "MemoryError: no room")
        assert attempt(driver, None) == 1
        assert driver.task(1).share == 1


def test_an_error_and_a_time_that_is_over_are_not_tried_again(tmp_path: Path) -> None:
    folder, ledger = begun(tmp_path)
    with ledger:
        driver = toy_driver(folder, ledger)
        attempt(driver, Fault("failed", "ValueError: a bug"))
        attempt(driver, Fault("timed_out", "slow"))
        assert [driver.record.trials[number].reason for number in (0, 1)] == ["failed", "timed_out"]


def test_a_trial_ends_with_the_epoch_that_uses_up_its_time_and_one_that_ends_by_itself_is_completed(
    tmp_path: Path,
) -> None:
    folder, ledger = begun(tmp_path, time_limit=2.5)
    record = run_toy(folder, ledger, worker=TroubledWorker)
    first = record.trials[0]
    assert (first.reason, len(first.reports)) == ("timed_out", 3)
    assert first.message == "it trained for 3.0 s (search.time_limit: 2.5)"
    told = [event.decision for event in Ledger(folder.ledger).read() if isinstance(event, Decided) and event.trial == 0]
    assert told == ["continue"] * 3, "it is not the scheduler who ended it"
    assert first.score is None
    folder, ledger = begun(tmp_path / "enough", time_limit=4.0)
    assert run_toy(folder, ledger, worker=TroubledWorker).trials[0].reason == "completed"


def test_the_time_that_is_left_counts_what_earlier_workers_used(tmp_path: Path) -> None:
    folder, ledger = begun(tmp_path, time_limit=10.0)
    with ledger:
        driver = toy_driver(folder, ledger)
        task = driver.next()
        assert task is not None
        assert task.time_left == 10.0
        driver.report(0, TroubledWorker(task).run_epoch())
    with ledger:
        task = toy_driver(folder, ledger).next()
    assert task is not None
    assert (task.number, task.time_left, task.reported, task.attempt) == (0, 9.0, 1, 2)


@pytest.mark.slow
def test_a_driver_killed_at_any_append_amid_faults_and_resumed_writes_what_an_uninterrupted_one_writes(
    tmp_path: Path,
) -> None:
    run = partial(run_toy, worker=TroubledWorker)
    expected = killed_and_resumed(tmp_path, lambda path: begun(path, time_limit=3.0)[0], run)
    reasons = {event.reason for event in expected if isinstance(event, Ended)}
    assert reasons == {"timed_out", "failed"}
    assert [event.cause for event in expected if isinstance(event, Retried)] == ["out_of_memory"] * 3


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", ["grid", "one_at_a_time", "random", "tpe"])
def test_no_fault_is_shown_to_a_proposer_as_a_score(name: str, fault: Reason) -> None:
    """Whatever the trial had reported, the next proposals are those after a trial that reported nothing."""
    study = toy_study(proposer="grid" if name in ("grid", "one_at_a_time") else "tpe")
    answers = []
    for curve in ([], [(1, 0.9), (2, 0.95)]):
        chosen = proposer(
            changed(study.search, proposer=name).proposer, Space(study.space), seed=0, objectives=1, trials=9
        )
        for number in range(12):
            point = chosen.ask(number)
            if point is None:
                break
            chosen.proposed(number, point)
            answers.append(point)
            good = number % 3 != 0
            chosen.ended(number, "completed" if good else fault, [(1, number / 10)] if good else curve)
    half = len(answers) // 2
    assert answers[:half] == answers[half:]


@pytest.mark.parametrize(
    ("trouble", "interruption", "told"),
    [
        (OSError(28, "No space left on device"), OutOfSpaceError, "not written, the disk is full"),
        (OSError(5, "Input/output error"), LedgerLostError, "cannot be written: OSError: .*Input/output error"),
        (TakenOverError("another driver has begun to write"), LedgerLostError, "another driver has begun to write"),
    ],
    ids=["full", "away", "taken over"],
)
def test_a_ledger_that_cannot_be_written_interrupts_the_study_which_goes_on_later(
    trouble: OSError,
    interruption: type[StudyInterruptedError],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder, ledger = begun(tmp_path)

    def refused(*events: Event) -> None:
        raise trouble

    with ledger:
        driver = toy_driver(folder, ledger, readers=[lambda event: monkeypatch.setattr(ledger, "append", refused)])
        with pytest.raises(interruption, match=told) as raised:
            run_study(driver, SerialEngine(ToyWorker))
    assert "\n" not in str(raised.value)
    assert run_toy(folder).finished


def test_each_start_is_counted_so_that_no_two_workers_of_a_trial_have_the_same_number() -> None:
    record = StudyRecord()
    study = toy_study(trials=2)
    from tests.search.made_up import opening, proposed

    for event in [*opening(study), proposed(study, 0, Space(study.space).point(study.space.base))]:
        record.apply(event)
    for number in range(1, 4):
        record.apply(Started(time=0.0, trial=0))
        assert record.trials[0].starts == number
