"""Classifies the errors that end an attempt at a trial: as a fault of the trial, or as an interruption of the study.
Decides which faults are retried.

This file imports neither torch nor Ray: it recognises their errors by class name and message.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from skipstack.data.basis.disk_errors import disk_trouble
from skipstack.data.basis.errors import UserError, one_line
from skipstack.data.basis.redaction import redacted
from skipstack.data.basis.unwrapping import interruptions_unwrapped
from skipstack.search.execution.driver.device_errors import Culprit, culprit, said
from skipstack.search.ledger.events import LOSSES, FaultReason, RetryCause
from skipstack.search.ledger.segments import FolderGoneError
from skipstack.search.study.config import SearchConfig
from skipstack.search.study.record.trial_record import TrialRecord

MEMORY_PHRASES: Final = (
    "out of memory",
    "can't allocate memory",
    "cannot allocate memory",
    "low on memory",
    "cublas_status_alloc_failed",
    "cudnn_status_alloc_failed",
)
"""Lower-case phrases in messages that memory ran out, from libraries that have no error class for this."""

DIED: Final = "the worker's process died"

GONE: Final = "its machine was lost"

TAKEN_BACK: Final = "its machine was taken back, as was announced"

MOST_LOSSES: Final = 100
"""Largest number of retries of a trial after losses of its machine. After more losses, the trial may be their cause."""

KERNEL_COUNTERS: Final = Path("/proc/vmstat")


@dataclass(frozen=True, slots=True)
class Fault:
    """The failure of an attempt at a trial. ``reason``: the kind of failure, such as ``crashed``. ``message``: one line
    that describes it. ``weights_lost``: whether the trial must be trained again, since its weights are lost.
    ``broken``: if the process can no longer use its GPU, the side at fault (the program or the device); otherwise None.
    """

    reason: FaultReason
    message: str
    weights_lost: bool = False
    broken: Culprit | None = None


class TimeOverError(Exception):
    """A trial used up its ``search.time_limit``."""


class WeightsLostError(Exception):
    """The best weights of a trial are missing or damaged."""


class StudyInterruptedError(UserError):
    """The study stops, because something that all trials need is lost. The study can be resumed."""


class OutOfSpaceError(StudyInterruptedError):
    """A disk is full."""


class DiskLostError(StudyInterruptedError):
    """A disk fails, or is no longer accessible."""


class LedgerLostError(StudyInterruptedError):
    """The ledger cannot be written: its disk does not answer, or another driver writes it."""


class StudyGoneError(StudyInterruptedError):
    """The study's folder was moved or deleted. ``now``: the path at which the study can be resumed; None if unknown."""

    def __init__(self, message: str, now: Path | None = None) -> None:
        super().__init__(message)
        self.now = now


class DeviceBrokenError(StudyInterruptedError):
    """The GPU of this process, or every GPU of the cluster, no longer works."""


class ClusterLostError(StudyInterruptedError):
    """The Ray cluster does not answer, or no longer includes this machine."""


class WorkersSilentError(StudyInterruptedError):
    """No worker process starts, or none answers."""


def fault_of(error: BaseException) -> Fault:
    """Return the fault to record for an error that a worker raised."""
    if isinstance(error, TimeOverError):
        return Fault("timed_out", " ".join(str(error).split()))
    if isinstance(error, WeightsLostError):
        return Fault("failed", " ".join(str(error).split()), weights_lost=True)
    # An error's notes say, for example, where it was raised.
    notes = [redacted(" ".join(note.split())) for note in getattr(error, "__notes__", ())]
    if is_out_of_memory(error):
        return Fault("out_of_memory", "; ".join((one_line(error), *notes)))
    match culprit(error):
        case None:
            return Fault("failed", "; ".join((one_line(error), *notes)))
        case "program":
            return Fault("failed", "; ".join((said(error), *notes)), broken="program")
        case "device":
            return Fault("crashed", "; ".join((f"its GPU failed: {said(error)}", *notes)), broken="device")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out, by its class (which may be torch's or Ray's) or by its message."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError | OSError) and says_out_of_memory(str(error))


def says_out_of_memory(text: str) -> bool:
    """Whether a message says that memory ran out."""
    return any(phrase in text.lower() for phrase in MEMORY_PHRASES)


def kernel_kills(counters: Path = KERNEL_COUNTERS) -> int:
    """Number of processes that this machine's kernel has killed to free memory; 0 if the kernel does not count them."""
    try:
        lines = counters.read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)


def retried(trial: TrialRecord, fault: Fault, search: SearchConfig) -> RetryCause | None:
    """Return the cause for which the trial is retried after ``fault``; None if the trial ends.

    A trial that crashed is retried from its last checkpoint up to ``search.retries`` times. A trial that ran out of
    memory is retried once; the engine on Ray gives it more resources. A trial whose machine was lost continues on
    another machine, up to ``MOST_LOSSES`` times. Errors and exceeded time limits are not retried, since they would
    occur again.
    """
    causes = [each.cause for each in trial.retries]
    if fault.reason in LOSSES:
        return fault.reason if sum(cause in LOSSES for cause in causes) < MOST_LOSSES else None
    if fault.reason == "crashed" and causes.count("crashed") < search.retries:
        return "crashed"
    if fault.reason == "out_of_memory" and "out_of_memory" not in causes:
        return "out_of_memory"
    return None


def after_untested(trial: TrialRecord, fault: Fault, search: SearchConfig) -> Literal["measure", "train", "give_up"]:
    """Return the next step after a measurement of a trial on the test split has failed.

    If the machine was lost, another machine measures the trial, up to ``MOST_LOSSES`` times. If the weights are lost,
    the trial is trained again, up to ``search.retries`` times but at least once. After a crash, the measurement is
    repeated up to ``search.retries`` times. After any other fault, the measurement is repeated once, since the disk or
    the memory may be available again.
    """
    if fault.reason in LOSSES:
        lost = sum(each.reason in LOSSES for each in trial.untested)
        return "measure" if lost < MOST_LOSSES else "give_up"
    if fault.weights_lost:
        trained = sum(each.then == "train" for each in trial.untested)
        return "train" if trained < max(search.retries, 1) else "give_up"
    measured = sum((each.reason, each.then) == (fault.reason, "measure") for each in trial.untested)
    return "measure" if measured < (search.retries if fault.reason == "crashed" else 1) else "give_up"


def time_is_over(trial: TrialRecord, search: SearchConfig) -> str | None:
    """Return a message if the trial has used up ``search.time_limit``; None if the trial may continue."""
    limit = search.time_limit
    if limit is None or trial.seconds < limit:
        return None
    return f"it trained for {trial.seconds:.1f} s (search.time_limit: {limit:g})"


@contextmanager
def lost_disk_interrupts(what: str) -> Iterator[None]:
    """Turn an error of a full disk in the block into OutOfSpaceError, and an error of a failing disk into
    DiskLostError. The disk's error may be wrapped in another error. The message is one line: ``what``, the disk's error
    and the path. A Ctrl-C that pydantic has wrapped in an error is raised unwrapped.
    """
    try:
        with interruptions_unwrapped():
            yield
    except StudyInterruptedError:
        raise
    except Exception as error:
        lost = lost_disk(error, what)
        if lost is None:
            raise
        raise lost from error


@contextmanager
def own_file_interrupts(path: Path) -> Iterator[None]:
    """Turn any failure to write ``path`` into OutOfSpaceError or DiskLostError. ``path`` is a file of the study itself:
    such a failure concerns every trial, so it interrupts the study instead of ending a trial.
    """
    try:
        yield
    except OSError as error:
        trouble = disk_trouble(error)
        if trouble is not None and trouble.full:
            raise OutOfSpaceError(f"{path}: not written, the disk is full (allowed: a disk with room)") from error
        raise DiskLostError(f"{path}: cannot be written: {one_line(error)}") from error


@contextmanager
def lost_ledger_interrupts(folder: Path) -> Iterator[None]:
    """Turn a failure to write the ledger in ``folder`` into OutOfSpaceError, LedgerLostError or StudyGoneError."""
    try:
        with own_file_interrupts(folder):
            yield
    except DiskLostError as error:
        cause = error.__cause__
        raise (
            _gone(folder.parent, cause) if isinstance(cause, FolderGoneError) else LedgerLostError(str(error))
        ) from cause


def _gone(study: Path, cause: FolderGoneError) -> StudyGoneError:
    if cause.deleted:
        return StudyGoneError(
            f"{study}: the study's folder is gone, it was deleted while the study ran: all that the study recorded is "
            "lost, except in a copy of it, as after a move to another disk (allowed: to resume such a copy)"
        )
    if cause.now is None:
        return StudyGoneError(
            f"{study}: the study's folder is gone, it was moved while the study ran; nothing is lost (allowed: to "
            "resume the study at its new place)"
        )
    return StudyGoneError(
        f"{study}: the study's folder is gone, it was moved to {cause.now.parent} while the study ran", cause.now.parent
    )


def lost_disk(error: BaseException, what: str) -> StudyInterruptedError | None:
    """Return the interruption of the study if ``error`` reports a full or failing disk, otherwise None. ``what``: the
    beginning of the interruption's message.
    """
    trouble = disk_trouble(error)
    if trouble is None:
        return None
    if trouble.full:
        return OutOfSpaceError(f"{what}: a disk is full ({trouble.words}; allowed: a disk with room)")
    return DiskLostError(f"{what}: a disk fails ({trouble.words}; allowed: one that can be read and written)")
