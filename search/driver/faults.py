"""Faults: what ends an attempt at a trial before its time, told apart, and which of them are tried again.

Neither torch nor ray is imported: their errors are known by name and by what they say.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from skipstack.data.basis.errors import UserError, one_line
from skipstack.data.basis.redaction import redacted
from skipstack.search.config import SearchConfig
from skipstack.search.ledger.events import FaultReason, RetryCause
from skipstack.search.ledger.segments import FULL_DISK
from skipstack.search.record.trial_record import TrialRecord

MEMORY_PHRASES: Final = (
    "out of memory",
    "can't allocate memory",
    "cannot allocate memory",
    "low on memory",
    "cublas_status_alloc_failed",
    "cudnn_status_alloc_failed",
)
"""What libraries say, in small letters, that report missing memory as an error of another kind."""

DIED: Final = "the worker's process died"

KERNEL_COUNTERS: Final = Path("/proc/vmstat")


@dataclass(frozen=True, slots=True)
class Fault:
    """What ended an attempt at a trial, and one line about it. ``weights_lost``: only training it again would help."""

    reason: FaultReason
    message: str
    weights_lost: bool = False


class TimeOverError(Exception):
    """A trial used up its ``search.time_limit``."""


class WeightsLostError(Exception):
    """The best weights of a trial are not there, or not as they were written."""


class StudyInterruptedError(UserError):
    """What all trials need is gone. No other trial would fare better, so the study stops here; it can be resumed."""


class OutOfSpaceError(StudyInterruptedError):
    """A disk is full."""


class LedgerLostError(StudyInterruptedError):
    """The ledger cannot be written any more: its disk does not answer, or another driver has begun to write."""


class ClusterLostError(StudyInterruptedError):
    """The Ray cluster does not answer any more, or this machine has left it."""


class WorkersSilentError(StudyInterruptedError):
    """Workers do not start, or do not answer."""


def fault_of(error: BaseException) -> Fault:
    """An error that a worker raised, as a fault."""
    if isinstance(error, TimeOverError):
        return Fault("timed_out", " ".join(str(error).split()))
    if isinstance(error, WeightsLostError):
        return Fault("failed", " ".join(str(error).split()), weights_lost=True)
    # Such as where it was raised.
    notes = (redacted(" ".join(note.split())) for note in getattr(error, "__notes__", ()))
    return Fault("out_of_memory" if is_out_of_memory(error) else "failed", "; ".join((one_line(error), *notes)))


def is_out_of_memory(error: BaseException) -> bool:
    """Whether memory ran out: Python's ``MemoryError``, the classes of torch and ray, and what their libraries say."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError | OSError) and says_out_of_memory(str(error))


def says_out_of_memory(text: str) -> bool:
    """Whether a message tells of memory that ran out."""
    return any(phrase in text.lower() for phrase in MEMORY_PHRASES)


def kernel_kills(counters: Path = KERNEL_COUNTERS) -> int:
    """How many processes the kernel of this machine has killed for want of memory; 0 where it does not say."""
    try:
        lines = counters.read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)


def retried(trial: TrialRecord, fault: Fault, search: SearchConfig) -> RetryCause | None:
    """The cause for which the trial is tried again after ``fault``; None where the fault is its end.

    A crash is retried from the last checkpoint ``search.retries`` times, missing memory once, with a larger share of
    the device. An error and a used-up time limit would come again.
    """
    causes = [each.cause for each in trial.retries]
    if fault.reason == "crashed" and causes.count("crashed") < search.retries:
        return "crashed"
    if fault.reason == "out_of_memory" and "out_of_memory" not in causes:
        return "out_of_memory"
    return None


def after_untested(trial: TrialRecord, fault: Fault, search: SearchConfig) -> Literal["measure", "train", "give_up"]:
    """What comes after a fault in measuring a trial on the test split.

    Lost weights are trained again and a crash is measured again, both ``search.retries`` times, the weights once at
    least. Anything else is measured once more: it takes little, and the disk or the memory may be back.
    """
    if fault.weights_lost:
        trained = sum(each.then == "train" for each in trial.untested)
        return "train" if trained < max(search.retries, 1) else "give_up"
    measured = sum((each.reason, each.then) == (fault.reason, "measure") for each in trial.untested)
    return "measure" if measured < (search.retries if fault.reason == "crashed" else 1) else "give_up"


def time_is_over(trial: TrialRecord, search: SearchConfig) -> str | None:
    """One line where a trial has used up its time; None where it may go on."""
    limit = search.time_limit
    if limit is None or trial.seconds < limit:
        return None
    return f"it trained for {trial.seconds:.1f} s (search.time_limit: {limit:g})"


@contextmanager
def full_disk_interrupts(path: Path) -> Iterator[None]:
    """Within, a full disk is an OutOfSpaceError, which says in one line what was written: ``path``."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL_DISK:
            raise
        raise OutOfSpaceError(f"{path}: not written, the disk is full (allowed: a disk with room)") from error


@contextmanager
def lost_ledger_interrupts(folder: Path) -> Iterator[None]:
    """Within, that the ledger in ``folder`` cannot be written is an OutOfSpaceError or a LedgerLostError."""
    try:
        with full_disk_interrupts(folder):
            yield
    except OSError as error:
        raise LedgerLostError(f"{folder}: cannot be written: {one_line(error)}") from error
