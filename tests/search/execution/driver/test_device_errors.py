"""Errors of a GPU: known by what libraries say, told from a program's own, and what the serial engine makes of them."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from skipstack.search.execution.driver.device_errors import broken_here
from skipstack.search.execution.driver.engine import run_study
from skipstack.search.execution.driver.faults import DeviceBrokenError, fault_of
from skipstack.search.execution.engines.serial import SerialEngine
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.task import Measured, TrialTask
from tests.search import poison
from tests.search.changed import searched
from tests.search.functions import open_function, run_function
from tests.search.poison import ILLEGAL, AssertingWorker, BrokenOnceWorker, PoisonedWorker, compute, first_breaks
from tests.search.toy import ToyWorker, open_toy, run_toy, toy_driver, toy_study


@pytest.fixture(autouse=True)
def _mended() -> None:
    poison.mend()


class CUDARuntimeError(Exception):
    """As CuPy has it."""


@pytest.mark.parametrize(
    ("error", "reason", "broken"),
    [
        (torch.AcceleratorError(ILLEGAL), "crashed", "device"),
        (torch.AcceleratorError("CUDA error: uncorrectable ECC error encountered"), "crashed", "device"),
        (
            torch.AcceleratorError("HIP error: the operation cannot be performed in the present state"),
            "crashed",
            "device",
        ),
        (RuntimeError("CUDA error: no kernel image is available for execution on the device"), "crashed", "device"),
        (
            RuntimeError("CUDA unknown error - this may be due to an incorrectly set up environment"),
            "crashed",
            "device",
        ),
        (RuntimeError("CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm`"), "crashed", "device"),
        (RuntimeError("cuDNN error: CUDNN_STATUS_EXECUTION_FAILED"), "crashed", "device"),
        (RuntimeError("Triton Error [CUDA]: an illegal memory access was encountered"), "crashed", "device"),
        (RuntimeError("INTERNAL: CUDA_ERROR_LAUNCH_FAILED: unspecified launch failure"), "crashed", "device"),
        (RuntimeError("No CUDA GPUs are available"), "crashed", "device"),
        (CUDARuntimeError("cudaErrorLaunchFailure: unspecified launch failure"), "crashed", "device"),
        (torch.AcceleratorError("CUDA error: device-side assert triggered"), "failed", "program"),
        (RuntimeError("CUDA error: invalid configuration argument"), "failed", "program"),
        (RuntimeError("CUDA error: CUBLAS_STATUS_INVALID_VALUE when calling `cublasSgemm`"), "failed", "program"),
        (RuntimeError("CUDA error: operation not permitted when stream is capturing"), "failed", "program"),
        (torch.AcceleratorError("CUDA error: out of memory"), "out_of_memory", None),
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."), "out_of_memory", None),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate`"), "out_of_memory", None),
        (RuntimeError("expected scalar type Float but found Double"), "failed", None),
        (RuntimeError("Expected all tensors to be on the same device, but found cuda:0 and cpu"), "failed", None),
        (ValueError("CUDA error: said a value"), "failed", None),
    ],
)
def test_whose_fault_an_error_is(error: Exception, reason: str, broken: str | None) -> None:
    fault = fault_of(error)
    assert (fault.reason, fault.broken) == (reason, broken)


def test_an_error_is_known_where_another_was_raised_from_it() -> None:
    own = KeyError("my own")
    own.__cause__ = torch.AcceleratorError(ILLEGAL)
    assert fault_of(own).broken == "device"


def test_of_its_advice_on_debugging_nothing_is_said() -> None:
    words = "its GPU failed: AcceleratorError: CUDA error: an illegal memory access was encountered"
    assert fault_of(torch.AcceleratorError(ILLEGAL)).message == words


def test_a_gpu_is_asked_whether_it_works_only_where_it_is_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    def wait() -> None:
        raise torch.AcceleratorError(ILLEGAL)

    def found(*, used: bool) -> str | None:
        cuda = SimpleNamespace(is_initialized=lambda: used, synchronize=wait)
        monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
        return broken_here()

    assert found(used=True) == "AcceleratorError: CUDA error: an illegal memory access was encountered"
    assert found(used=False) is None
    monkeypatch.delitem(sys.modules, "torch")
    assert broken_here() is None


def test_without_ray_the_study_is_interrupted_and_goes_on_in_another_process(tmp_path: Path) -> None:
    folder = open_toy(tmp_path, toy_study(trials=6))
    with pytest.raises(
        DeviceBrokenError, match=r"trial 2: its GPU failed: .*; after such an error a process cannot use"
    ):
        run_toy(folder, worker=BrokenOnceWorker)
    poison.mend()
    record = run_toy(folder, worker=BrokenOnceWorker)
    assert {trial.reason for trial in record.trials.values()} == {"completed", "stopped"}
    assert [each.cause for each in record.trials[2].retries] == ["crashed"]


def test_without_ray_a_trial_that_breaks_each_process_ends_after_its_retries(tmp_path: Path) -> None:
    folder = open_toy(tmp_path, searched(toy_study(trials=6), retries=1))
    for _ in range(2):
        with pytest.raises(DeviceBrokenError):
            run_toy(folder, worker=PoisonedWorker)
        poison.mend()
    record = run_toy(folder, worker=PoisonedWorker)
    assert [number for number, trial in record.trials.items() if trial.reason == "crashed"] == [2]


def test_without_ray_an_assertion_of_the_trial_s_own_fails_it_alone(tmp_path: Path) -> None:
    folder = open_toy(tmp_path, toy_study(trials=6))
    with pytest.raises(DeviceBrokenError):
        run_toy(folder, worker=AssertingWorker)
    poison.mend()
    record = run_toy(folder, worker=AssertingWorker)
    assert [(number, len(trial.retries)) for number, trial in record.trials.items() if trial.reason == "failed"] == [
        (2, 0)
    ]


class BrokenOnTest(ToyWorker):
    """Breaks the GPU when the first trial is measured."""

    @classmethod
    def test(cls, task: TrialTask) -> Measured:
        compute(ILLEGAL)
        return super().test(task)


def test_without_ray_a_measurement_that_breaks_is_told_of_before_the_study_is_interrupted(tmp_path: Path) -> None:
    folder = open_toy(tmp_path, toy_study(trials=2))
    with Ledger(folder.ledger) as ledger:
        driver = toy_driver(folder, ledger)
        with pytest.raises(DeviceBrokenError):
            run_study(driver, SerialEngine(BrokenOnTest))
    faults = [(each.reason, each.then) for trial in driver.record.trials.values() for each in trial.untested]
    assert faults == [("crashed", "measure")]
    poison.mend()
    assert all(trial.tested for trial in run_toy(folder).ranked()[:1])


def test_a_function_of_a_user_s_own_breaks_its_process_too_and_the_message_says_where(tmp_path: Path) -> None:
    folder = open_function(tmp_path, first_breaks, trials=3)
    with pytest.raises(DeviceBrokenError, match=r"trial 0: its GPU failed: .*; at poison\.py:\d+ in first_breaks"):
        run_function(folder, first_breaks)
    poison.mend()
    record = run_function(folder, first_breaks)
    assert [len(trial.retries) for trial in record.trials.values()] == [1, 0, 0]
    assert len(record.ranked()) == 3
