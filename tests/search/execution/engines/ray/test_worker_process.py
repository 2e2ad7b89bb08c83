"""What a slot's process does by orders, without a cluster."""

import socket
import time
from pathlib import Path
from typing import Any

import pytest
import ray
from ray import cloudpickle

from skipstack.search.execution.driver.faults import Fault, OutOfSpaceError
from skipstack.search.execution.driver.measuring_on_test import Measurement
from skipstack.search.execution.engines.ray import worker_process as module
from skipstack.search.execution.engines.ray.gpu_failures import ProcessGpus
from skipstack.search.execution.engines.ray.orders import ChangeTrials, MeasureTrial, Order, PrepareProcess
from skipstack.search.execution.engines.ray.worker_process import BROKEN_BEFORE, WorkerProcess
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.task import EpochResult, TrialTask
from tests.search.toy import ToyWorker, open_toy, toy_driver, toy_study

pytestmark = pytest.mark.filterwarnings("default")  # ray's own warnings are not ours to mend


@pytest.fixture(autouse=True)
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Ray starts wherever it is asked where it is, and later studies of the process would then train there."""
    found: list[float] = []
    monkeypatch.setattr(module, "own_gpus", lambda: ProcessGpus("ab", "host-7 (10.0.0.7)", ("0",)))
    monkeypatch.setattr(time, "sleep", found.append)
    return found


@pytest.fixture
def tasks(tmp_path: Path) -> list[TrialTask]:
    folder = open_toy(tmp_path / "study", toy_study(trials=3))
    with Ledger(folder.ledger) as ledger:
        driver = toy_driver(folder, ledger)
        return [task for task in (driver.next() for _ in range(3)) if task is not None]


def process(*orders: Order) -> WorkerProcess:
    """One that has greeted, with these orders."""
    made = WorkerProcess(config={"resources": {"cpu": 1.0}})
    made._greeted = True
    for order in orders:
        made.order(cloudpickle.dumps(order))
    return made


class Heavy(ToyWorker):
    """Workers with much more to tell than a report."""

    weight = bytes(1_000_000)


def epochs(result: dict[str, Any]) -> dict[int, int]:
    return {number: outcome.epoch for number, outcome in result["outcomes"]}


def test_trials_that_are_joined_train_an_epoch_a_step_until_they_are_let_go_of(tasks: list[TrialTask]) -> None:
    worker = process(PrepareProcess(ToyWorker, None), ChangeTrials(joined=tuple(tasks[:1])))
    assert [epochs(worker.step()) for _ in range(2)] == [{0: 1}, {0: 2}]
    worker.order(cloudpickle.dumps(ChangeTrials(left=(0,), joined=tuple(tasks[1:]))))
    assert [epochs(worker.step()) for _ in range(2)] == [{1: 1, 2: 1}, {1: 2, 2: 2}]
    worker.order(cloudpickle.dumps(ChangeTrials(left=(1, 2))))
    assert epochs(worker.step()) == {}


def test_a_process_without_work_waits_longer_and_longer_before_it_asks_again(
    tasks: list[TrialTask], slept: list[float]
) -> None:
    worker = process(PrepareProcess(ToyWorker, None))
    for _ in range(9):
        assert worker.step()["outcomes"] == ()
    assert slept == [0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.0, 1.0, 1.0]
    worker.order(cloudpickle.dumps(ChangeTrials(joined=tuple(tasks[:1]))))
    worker.step()
    worker.order(cloudpickle.dumps(ChangeTrials(left=(0,))))
    worker.step()
    assert slept[9:] == [0.02]


def test_those_that_are_parting_send_what_is_left_of_them_before_others_train_on(
    tasks: list[TrialTask], tmp_path: Path
) -> None:
    worker = process(PrepareProcess(ToyWorker, None), ChangeTrials(joined=tuple(tasks)))
    worker.step()
    worker.order(cloudpickle.dumps(ChangeTrials(parting=(1,))))
    assert epochs(worker.step()) == {1: 2}


def test_a_trial_is_measured_after_others_are_let_go_of(tasks: list[TrialTask]) -> None:
    worker = process(PrepareProcess(ToyWorker, None), ChangeTrials(joined=tuple(tasks[:1])))
    worker.step()
    worker.order(cloudpickle.dumps(ChangeTrials(left=(0,))))
    worker.order(cloudpickle.dumps(MeasureTrial(Measurement(tasks[1]))))
    ((number, outcome),) = worker.step()["outcomes"]
    assert (number, outcome) == (1, ToyWorker.test(tasks[1]))


class Missing:
    """Cannot be read where its module is missing."""

    def __reduce__(self) -> tuple[Any, ...]:
        return __import__, ("a_module_that_is_missing",)


def test_what_a_machine_cannot_read_is_its_trouble() -> None:
    workers: Any = Missing()
    assert process(PrepareProcess(workers, None)).step()["trouble"] == (
        "ModuleNotFoundError: No module named 'a_module_that_is_missing'"
    )


class Troubled:
    """A preflight that finds something."""

    def trouble(self) -> str | None:
        return "its code is another"


def test_what_the_preflight_finds_is_its_trouble_too() -> None:
    preflight: Any = Troubled()
    assert process(PrepareProcess(ToyWorker, preflight)).step()["trouble"] == "its code is another"


FULL = "trials/000001: not written, the disk is full (allowed: a disk with room)"


class FullWorker(ToyWorker):
    """Has no room for an epoch."""

    def run_epoch(self) -> EpochResult:
        raise OutOfSpaceError(FULL)


class Untroubled(Troubled):
    def trouble(self) -> str | None:
        return None


@pytest.mark.parametrize(("preflight", "where"), [(None, ""), (Untroubled(), "; met on machine host-7 (10.0.0.7)")])
def test_of_several_machines_the_one_is_named_that_met_a_full_disk(
    preflight: Any, where: str, tasks: list[TrialTask], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "host-7")
    worker = process(PrepareProcess(FullWorker, preflight), ChangeTrials(joined=tuple(tasks[:1])))
    ((_, outcome),) = worker.step()["outcomes"]
    assert isinstance(outcome, OutOfSpaceError)
    assert str(outcome) == FULL + where


def test_work_is_not_begun_in_a_process_that_an_earlier_trial_has_left_broken(
    tasks: list[TrialTask], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "broken_here", lambda: "CUDA error: unspecified")
    fault = Fault("lost", f"{BROKEN_BEFORE}: CUDA error: unspecified", broken="program")
    assert dict(
        process(PrepareProcess(ToyWorker, None), ChangeTrials(joined=tuple(tasks))).step()["outcomes"]
    ) == dict.fromkeys((0, 1, 2), fault)
    assert dict(process(PrepareProcess(ToyWorker, None), MeasureTrial(Measurement(tasks[2]))).step()["outcomes"]) == {
        2: fault
    }


def test_a_report_carries_nothing_of_what_its_worker_was_given(tasks: list[TrialTask]) -> None:
    worker = process(PrepareProcess(Heavy, None), ChangeTrials(joined=tuple(tasks[:1])))
    told = worker.train()
    assert epochs(told) == {0: 1}
    assert len(cloudpickle.dumps(told)) < 2_500


def test_the_first_step_says_where_the_process_is(monkeypatch: pytest.MonkeyPatch) -> None:
    class Here:
        current_actor = "itself"

    monkeypatch.setattr(ray, "get_runtime_context", Here)
    greeting = WorkerProcess(config={"resources": {}}).step()["greeting"]
    assert (greeting.process, greeting.gpus.gpus) == ("itself", ("0",))
