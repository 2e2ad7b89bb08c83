"""Workers whose files are copied to and from machines that do not see the study's folder; others are unchanged."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, fields, replace
from functools import lru_cache, partial
from math import isfinite
from pathlib import Path
from typing import Final, Self, TypeVar, final

from skipstack.search.execution.engines.ray.copying.chunks import Version, changed, chunks, unpacked
from skipstack.search.execution.engines.ray.copying.file_server import FileService
from skipstack.search.execution.engines.ray.copying.mark import Mark
from skipstack.search.execution.engines.ray.copying.scratch import Scratch, TrialScratch, stay
from skipstack.search.study.record.folder import CHECKPOINT
from skipstack.search.study.task import EpochResult, Measured, TrialTask, Worker, Workers

SELDOM: Final = 20
"""Wait until the next sending, in durations of the last one: so it takes a twentieth of a trial's time at most."""

LATEST: Final = 600.0
"""Longest wait until the next sending, in seconds: after that, a lost machine would cost too much training."""

Value = TypeVar("Value")


class PartedError(Exception):
    """The trial has ended or paused while some of its files were only on this machine; now all of them are sent."""


@dataclass(frozen=True, kw_only=True, slots=True)
class UnsentResult(EpochResult):
    """The result of an epoch, some of whose files are still only on the worker's machine."""

    @classmethod
    def of(cls, result: EpochResult) -> Self:
        """The same result as an ``UnsentResult``."""
        return cls(**{field.name: getattr(result, field.name) for field in fields(EpochResult)})


class Pace:
    """Says when the next sending is due, by ``clock``, in seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._ended = -LATEST + clock()
        self._took = 0.0

    def is_due(self) -> bool:
        """Whether it is time to send."""
        return self._clock() - self._ended >= min(SELDOM * self._took, LATEST)

    @contextmanager
    def sending(self) -> Iterator[None]:
        """Measure the time that the block takes to send files."""
        began = self._clock()
        yield
        self._ended = self._clock()
        self._took = self._ended - began


@final
@dataclass(frozen=True)
class CopyingWorkers(Workers):
    """Creates workers that train exactly as ``workers`` do.

    On a machine that sees the ``mark`` of the study, they are these. Elsewhere ``server``, a file server, sends what
    they read and receives what they write. ``halts``: epochs after which the scheduler may end or pause a trial.
    """

    workers: Workers
    server: FileService
    mark: Mark
    halts: frozenset[int] = frozenset()
    clock: Callable[[], float] = time.monotonic

    def __call__(self, task: TrialTask) -> Worker:
        """A worker for a trial."""
        return self.workers(task) if _is_seen(self.mark) else CopyingWorker(task, self)

    def test(self, task: TrialTask) -> Measured:
        """Measure as ``workers`` do, with the server's best weights; files that are written meanwhile are sent."""
        if _is_seen(self.mark):
            return self.workers.test(task)
        with self.placed(task, trains=False) as (here, place):
            sizes = self.server.files(task.number)
            sizes.pop(CHECKPOINT, None)
            unpacked(sizes, partial(self.server.file_piece, task.number), here.folder)
            before = place.files()
            try:
                return self.workers.test(here)
            finally:
                self.send(task, place, before)

    def send(self, task: TrialTask, place: TrialScratch, before: Mapping[str, Version]) -> dict[str, Version]:
        """Send what has changed in a trial's folder on this machine since ``before``; returns the present versions."""
        now = place.files()
        if now != before:
            for chunk in chunks(place.folder, *changed(before, now)):
                self.server.take(task.number, task.attempt, chunk)
        return now

    def reading(self, call: Callable[[TrialTask], Value], task: TrialTask) -> Value:
        """Return ``call`` of the task, with the corpus and the vectors readable on this machine."""
        if _is_seen(self.mark):
            return call(task)
        with self.placed(task, trains=False) as (here, _):
            return call(here)

    def stay(self) -> None:
        """Keep the files that are fetched to this machine until the process leaves it."""
        if not _is_seen(self.mark):
            stay(self.mark.word)

    @contextmanager
    def placed(self, task: TrialTask, *, trains: bool) -> Iterator[tuple[TrialTask, TrialScratch]]:
        """Yield the task with folders on this machine: those that it reads, and an empty one for what it writes if it
        ``trains``, removed at the end. Raises OSError, as for a failing disk, if somebody else removes that one.
        """
        with (
            Scratch(self.mark.word) as scratch,
            TrialScratch(scratch.trial(task.number, task.attempt) if trains else scratch.reading()) as place,
            place.removal_as_lost_disk(),
        ):
            corpus, vectors = (
                None if store is None else scratch.store(store.name, partial(self._fetch, store.name))
                for store in (task.corpus, task.vectors)
            )
            yield replace(task, folder=place.folder, corpus=corpus, vectors=vectors), place

    def _fetch(self, store: str, folder: Path) -> None:
        unpacked(self.server.store(store), partial(self.server.store_piece, store), folder)


@final
class CopyingWorker(Worker):
    """Trains as the worker that ``copying.workers`` would create, in a folder of this machine alone.

    The files of an epoch are sent to the server before it is reported if the trial may end or pause there; otherwise
    they are sent at a ``Pace``. Epochs that a lost machine had not sent are trained again.
    """

    def __init__(self, task: TrialTask, copying: CopyingWorkers) -> None:
        super().__init__(task)
        self._copying = copying
        self._server = copying.server
        self._pace = Pace(copying.clock)
        self._left = task.time_left
        with ExitStack() as leaving:
            self._sent: Mapping[str, Version] = {}
            here, self._place = leaving.enter_context(copying.placed(task, trains=True))
            if task.attempt > 1 or task.earlier or task.reported:  # else nobody has trained it before
                self._check_goes_on()  # the folder of an earlier worker may have been removed as it parted
                sizes = self._server.begin(task.number, task.attempt)
                unpacked(sizes, partial(self._server.file_piece, task.number), here.folder)
                self._sent = self._place.files()
            try:
                self._worker = copying.workers(here)
            except Exception:
                self._send()
                raise
            self._leaving = leaving.pop_all()

    def run_epoch(self) -> EpochResult | None:
        """Train the next epoch. Raises PartedError, once all files are sent, if the trial does not go on; and OSError,
        as for a failing disk, if its folder here was removed: another worker continues from what was sent.
        """
        with self._place.removal_as_lost_disk():
            return self._run_epoch()

    def _run_epoch(self) -> EpochResult | None:
        if self._has_unsent():
            self._check_goes_on()
        try:
            result = self._worker.run_epoch()
        except Exception:
            self._send()
            raise
        if result is None or self._may_end(result) or self._pace.is_due():
            self._send()
            return result
        return UnsentResult.of(result) if self._has_unsent() else result

    def close(self) -> None:
        """Close the inner worker, send its remaining files, and remove them here."""
        with self._leaving:
            self._worker.close()
            with suppress(Exception):  # the trial is over or goes on elsewhere: nobody waits for these files
                self._send()

    def _check_goes_on(self) -> None:
        if not self._server.goes_on(self.task.number, self.task.attempt):
            self._send()
            raise PartedError

    def _may_end(self, result: EpochResult) -> bool:
        """Whether the trial may end or pause with this epoch, as far as is known here."""
        if self._left is not None:
            self._left -= result.seconds
        return (
            result.epoch in self._copying.halts
            or result.epoch == self.task.config.epochs
            or not isfinite(result.score)
            or (self._left is not None and self._left <= 0)
        )

    def _has_unsent(self) -> bool:
        return self._place.files() != self._sent

    def _send(self) -> None:
        if self._has_unsent():
            with self._pace.sending():
                self._sent = self._copying.send(self.task, self._place, self._sent)


@lru_cache(maxsize=8)
def _is_seen(mark: Mark) -> bool:
    """Whether this machine sees the study's folder; a process asks once."""
    return mark.unseen() is None
