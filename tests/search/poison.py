"""Workers whose GPU breaks, without a GPU: one error, and nothing on it works any more in that process."""

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
"""What every further call of this process gets."""


def compute(breaks: str | None = None) -> None:
    """A call to the GPU of this process, which may break it with an error. Raises what a broken one raises."""
    if breaks is not None:
        _broken.append(breaks)
    if _broken:
        raise torch.AcceleratorError(_broken[0])


def mend() -> None:
    """What another process would have."""
    _broken.clear()


def once(folder: Path) -> bool:
    """Whether nobody asked for this folder before."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        (folder / "asked").touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


class PoisonedWorker(ToyWorker):
    """Computes on a GPU that trial 2 breaks in its first epoch, each time."""

    POISON, ERROR = 2, ILLEGAL

    def run_epoch(self) -> EpochResult:
        compute(self.ERROR if self.task.number == self.POISON else None)
        return super().run_epoch()


class BrokenOnceWorker(ToyWorker):
    """Computes on a GPU that breaks a single time, in trial 2."""

    def run_epoch(self) -> EpochResult:
        compute(ILLEGAL if self.task.number == 2 and once(self.task.folder) else None)
        return super().run_epoch()


class AssertingWorker(PoisonedWorker):
    """Trial 2 reads beyond the end of a table."""

    ERROR = "CUDA error: device-side assert triggered"


class OnBrokenCard(ToyWorker):
    """GPU 0 breaks every trial; the others work. Says which one it had."""

    def run_epoch(self) -> EpochResult:
        gpu = os.environ["CUDA_VISIBLE_DEVICES"]
        compute("CUDA error: uncorrectable ECC error encountered" if gpu == "0" else None)
        result = super().run_epoch()
        metrics: Metrics = {**result.metrics, "gpu": (float(gpu),) * len(self.task.seeds)}
        return EpochResult(epoch=result.epoch, score=result.score, metrics=metrics, seconds=0.0)


def first_breaks(config: Config, report: Report) -> None:
    """A function of a user's own, whose first call in a study breaks its GPU."""
    compute(ILLEGAL if once(report.folder.parents[1] / "first") else None)
    for epoch in range(1, 4):
        report(score=peak(config, epoch))
