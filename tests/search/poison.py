"""Workers whose GPU breaks, without a GPU: after one error, every call to the GPU fails in that process."""

import os
from pathlib import Path

import torch

from skipstack.search.execution.workers.reporting import Report
from skipstack.search.ledger.events import Metrics
from skipstack.search.study.task import EpochResult
from tests.search.functions import Config, peak
from tests.search.toy import ToyWorker

ILLEGAL = (
    "CUDA error: an illegal memory access was encountered\n"
    "CUDA kernel errors might be asynchronously reported at some other API call.\n"
    "For debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
)

_broken: list[str] = []
"""The error of every further call in this process; empty if the GPU works."""


def compute(breaks: str | None = None) -> None:
    """Emulate a call to the GPU of this process. Raises the error ``breaks``, or that of an earlier call."""
    if breaks is not None:
        _broken.append(breaks)
    if _broken:
        raise torch.AcceleratorError(_broken[0])


def mend() -> None:
    """Restore the GPU, as a new process would."""
    _broken.clear()


def once(folder: Path) -> bool:
    """Whether this is the first call for this folder."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        (folder / "asked").touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


class PoisonedWorker(ToyWorker):
    """A worker whose GPU is broken by trial 2 in its first epoch, at each attempt."""

    POISON, ERROR = 2, ILLEGAL

    def run_epoch(self) -> EpochResult:
        compute(self.ERROR if self.task.number == self.POISON else None)
        return super().run_epoch()


class BrokenOnceWorker(ToyWorker):
    """A worker whose GPU breaks a single time, in trial 2."""

    def run_epoch(self) -> EpochResult:
        compute(ILLEGAL if self.task.number == 2 and once(self.task.folder) else None)
        return super().run_epoch()


class AssertingWorker(PoisonedWorker):
    """A worker whose trial 2 reads beyond the end of a table."""

    ERROR = "CUDA error: device-side assert triggered"


class OnBrokenCard(ToyWorker):
    """A worker that fails on GPU 0 in every trial, and records its GPU as a metric."""

    def run_epoch(self) -> EpochResult:
        gpu = os.environ["CUDA_VISIBLE_DEVICES"]
        compute("CUDA error: uncorrectable ECC error encountered" if gpu == "0" else None)
        result = super().run_epoch()
        metrics: Metrics = {**result.metrics, "gpu": (float(gpu),) * len(self.task.seeds)}
        return EpochResult(epoch=result.epoch, score=result.score, metrics=metrics, seconds=0.0)


def first_breaks(config: Config, report: Report) -> None:
    """A user's function whose first call in a study breaks its GPU."""
    compute(ILLEGAL if once(report.folder.parents[1] / "first") else None)
    for epoch in range(1, 4):
        report(score=peak(config, epoch))
