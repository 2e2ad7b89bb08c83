"""Workers that copy their files to and from machines that do not see the study's folder. Machines that see this folder
use the study's own workers.
"""

import errno
import filecmp
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, fields, replace
from functools import lru_cache, partial
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Self, TypeVar, final

from skipstack.data.store.tables import DamagedStoreError
from skipstack.search.execution.engines.ray.copying.chunks import Version, changed, chunks, unpacked
from skipstack.search.execution.engines.ray.copying.mark import Mark
from skipstack.search.execution.engines.ray.copying.remote_file_server import FileService
from skipstack.search.execution.engines.ray.copying.scratch import Scratch, TrialScratch, stay
from skipstack.search.study.record.folder import CHECKPOINT
from skipstack.search.study.task import EpochResult, Measured, TrialTask, Worker, Workers

SELDOM: Final = 20
"""Wait before the next sending, as a multiple of the last sending's duration. So sending takes about a twentieth of a
trial's time, or more if ``LATEST`` shortens the wait or files must be sent at once.
"""

LATEST: Final = 600.0
"""Longest wait in seconds before the next sending. At most about this much training is lost with a machine."""

Value = TypeVar("Value")


class PartedError(Exception):
    """The trial ended or paused while some of its files were unsent. The files are sent before this error is raised."""


@dataclass(frozen=True, kw_only=True, slots=True)
class UnsentResult(EpochResult):
    """The result of an epoch, while some of the trial's files are still only on the worker's machine."""

    @classmethod
    def of(cls, result: EpochResult) -> Self:
        """Return ``result`` as an ``UnsentResult``."""
        return cls(**{field.name: getattr(result, field.name) for field in fields(EpochResult)})


class Pace:
    """Decides when a trial's files are sent again, by how long the last sending took. ``clock`` returns seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._ended = -LATEST + clock()
        self._took = 0.0

    def is_due(self) -> bool:
        """Whether the files should be sent now."""
        return self._clock() - self._ended >= min(SELDOM * self._took, LATEST)

    @contextmanager
    def sending(self) -> Iterator[None]:
        """Measure the duration of the block, which sends files."""
        began = self._clock()
        yield
        self._ended = self._clock()
        self._took = self._ended - began


@final
@dataclass(frozen=True)
class CopyingWorkers(Workers):
    """Creates workers that train exactly like the workers of ``workers``, on any machine.

    A machine that sees the study's ``mark``, and so its folder, gets the workers of ``workers``. On another machine, a
    worker gets files from ``server``, the study's file server, and sends its own files there. ``halts``: epochs after
    which the scheduler may end or pause a trial. ``clock`` returns seconds.
    """

    workers: Workers
    server: FileService
    mark: Mark
    halts: frozenset[int] = frozenset()
    clock: Callable[[], float] = time.monotonic

    def __call__(self, task: TrialTask) -> Worker:
        """Create a worker for a trial."""
        return self.workers(task) if _is_seen(self.mark) else CopyingWorker(task, self)

    def test(self, task: TrialTask) -> Measured:
        """Measure a trial on the test split with ``workers``. A machine that does not see the study's folder first
        fetches the trial's files except its checkpoint, and afterwards sends back files that the measurement writes.
        """
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
        """Send a trial's files that have changed since the versions ``before``, and return the present versions."""
        now = place.files()
        if now != before:
            for chunk in chunks(place.folder, *changed(before, now)):
                self.server.take(task.number, task.attempt, chunk)
        return now

    def reading(self, call: Callable[[TrialTask], Value], task: TrialTask) -> Value:
        """Return ``call(task)``. A machine that does not see the study's folder first fetches the task's corpus and
        vectors. ``call`` then gets a task with the paths of the copies.
        """
        if _is_seen(self.mark):
            return call(task)
        with self.placed(task, trains=False) as (here, _):
            return call(here)

    def stay(self) -> None:
        """Keep fetched files on this machine, from now on and until this process calls ``leave`` of ``scratch.py``."""
        if not _is_seen(self.mark):
            stay(self.mark.word)

    @contextmanager
    def placed(self, task: TrialTask, *, trains: bool) -> Iterator[tuple[TrialTask, TrialScratch]]:
        """Fetch the task's corpus and vectors, and create a folder for the task's files, which is removed after the
        block. Yield the task with the paths on this machine, and the folder. ``trains``: whether the task is an attempt
        at a trial.

        If the block raises an error after another process has removed the folder, or because a copy of the corpus or of
        the vectors has lost files, an OSError is raised instead, as by a failing disk. In the second case, both copies
        are removed, so that they are fetched again. If a damaged copy is what was sent, the study's own corpus is
        damaged: the DamagedStoreError then names this one.
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
            try:
                yield replace(task, folder=place.folder, corpus=corpus, vectors=vectors), place
            except DamagedStoreError as error:
                for copy, own in ((corpus, task.corpus), (vectors, task.vectors)):
                    if copy is not None and str(copy) in str(error) and self._is_as_sent(copy):
                        raise DamagedStoreError(str(error).replace(str(copy), str(own))) from error
                for copy in filter(None, (corpus, vectors)):
                    shutil.rmtree(copy, ignore_errors=True)
                raise OSError(errno.ESTALE, f"a copied file was lost: {error}") from error

    def _fetch(self, store: str, folder: Path) -> None:
        unpacked(self.server.store(store), partial(self.server.store_piece, store), folder)

    def _is_as_sent(self, copy: Path) -> bool:
        """Whether a copy of a store has the same bytes as the study's own store."""
        with TemporaryDirectory(prefix="skipstack-") as again:
            self._fetch(copy.name, Path(again))
            names = [path.name for path in Path(again).iterdir()]
            return filecmp.cmpfiles(again, copy, names, shallow=False)[0] == names


@final
class CopyingWorker(Worker):
    """Trains like a worker of ``copying.workers``, in a folder of this machine, and sends its files to the server. If
    the trial may end or pause after an epoch, files are sent before the epoch's report. Otherwise a ``Pace`` decides
    when they are sent. If the machine is lost, epochs whose files were not sent are trained again.
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
            if task.attempt > 1 or task.earlier or task.reported:  # a worker may have trained the trial before
                self._check_goes_on()  # the trial may have ended before its previous worker lost its folder
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
        """Train the next epoch, and return its result; None if there is no further epoch. If some files were not sent,
        the result is an ``UnsentResult``. If the trial has ended or paused, send all files and raise PartedError
        instead. Raises an OSError, as a failing disk would, if the trial's folder on this machine was removed.
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
        """Close the inner worker, send remaining files (errors are ignored), and remove all files from this machine."""
        with self._leaving:
            self._worker.close()
            with suppress(Exception):  # the trial has ended or continues elsewhere, so these files are not needed
                self._send()

    def _check_goes_on(self) -> None:
        if not self._server.goes_on(self.task.number, self.task.attempt):
            self._send()
            raise PartedError

    def _may_end(self, result: EpochResult) -> bool:
        """Whether the trial may end or pause after this epoch, as far as this process knows. Call this once per epoch,
        since each call subtracts the epoch's seconds from the trial's remaining time.
        """
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
    """Whether this machine sees the study's folder, cached for the life of the process."""
    return mark.unseen() is None
