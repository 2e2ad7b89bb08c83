"""Workers whose files are copied to and from machines that do not see the study's folder; others are unchanged."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, fields, replace
from functools import lru_cache, partial
from math import isfinite
from pathlib import Path
from typing import Self, TypeVar, final

from skipstack.search.execution.engines.ray.carrying.keeper import Keeping
from skipstack.search.execution.engines.ray.carrying.mark import Mark
from skipstack.search.execution.engines.ray.carrying.pace import Pace
from skipstack.search.execution.engines.ray.carrying.parcels import Version, changed, parcels, unpacked
from skipstack.search.execution.engines.ray.carrying.place import Place
from skipstack.search.execution.engines.ray.carrying.scratch import Scratch, stay
from skipstack.search.study.record.folder import CHECKPOINT
from skipstack.search.study.task import EpochResult, Measured, TrialTask, Worker, Workers

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


@final
@dataclass(frozen=True)
class CarriedWorkers(Workers):
    """Creates workers that train exactly as ``workers`` do.

    On a machine that sees the ``mark`` of the study, they are these. Elsewhere ``keeper``, a file server, sends what
    they read and receives what they write. ``halts``: epochs after which the scheduler may end or pause a trial.
    """

    workers: Workers
    keeper: Keeping
    mark: Mark
    halts: frozenset[int] = frozenset()
    clock: Callable[[], float] = time.monotonic

    def __call__(self, task: TrialTask) -> Worker:
        """A worker for a trial."""
        return self.workers(task) if _is_seen(self.mark) else CarriedWorker(task, self)

    def test(self, task: TrialTask) -> Measured:
        """Measure as ``workers`` do, with the keeper's best weights; files that are written meanwhile are sent."""
        if _is_seen(self.mark):
            return self.workers.test(task)
        with self.placed(task, trains=False) as (here, place):
            sizes = self.keeper.files(task.number)
            sizes.pop(CHECKPOINT, None)
            unpacked(sizes, partial(self.keeper.file_piece, task.number), here.folder)
            before = place.files()
            try:
                return self.workers.test(here)
            finally:
                self.send(task, place, before)

    def send(self, task: TrialTask, place: Place, before: Mapping[str, Version]) -> dict[str, Version]:
        """Send what has changed in a trial's folder on this machine since ``before``; returns the present versions."""
        now = place.files()
        if now != before:
            for parcel in parcels(place.folder, *changed(before, now)):
                self.keeper.take(task.number, task.attempt, parcel)
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
    def placed(self, task: TrialTask, *, trains: bool) -> Iterator[tuple[TrialTask, Place]]:
        """Yield the task with folders on this machine: those that it reads, and an empty one for what it writes if it
        ``trains``, removed at the end. Raises OSError, as for a failing disk, if somebody else removes that one.
        """
        with (
            Scratch(self.mark.word) as scratch,
            Place(scratch.trial(task.number, task.attempt) if trains else scratch.reading()) as place,
            place.removal_as_lost_disk(),
        ):
            corpus, vectors = (
                None if store is None else scratch.store(store.name, partial(self._fetch, store.name))
                for store in (task.corpus, task.vectors)
            )
            yield replace(task, folder=place.folder, corpus=corpus, vectors=vectors), place

    def _fetch(self, store: str, folder: Path) -> None:
        unpacked(self.keeper.store(store), partial(self.keeper.store_piece, store), folder)


@final
class CarriedWorker(Worker):
    """Trains as the worker that ``carried.workers`` would create, in a folder of this machine alone.

    The files of an epoch are sent to the keeper before it is reported if the trial may end or pause there; otherwise
    they are sent at a ``Pace``. Epochs that a lost machine had not sent are trained again.
    """

    def __init__(self, task: TrialTask, carried: CarriedWorkers) -> None:
        super().__init__(task)
        self._carried = carried
        self._keeper = carried.keeper
        self._pace = Pace(carried.clock)
        self._left = task.time_left
        with ExitStack() as leaving:
            self._sent: Mapping[str, Version] = {}
            here, self._place = leaving.enter_context(carried.placed(task, trains=True))
            if task.attempt > 1 or task.earlier or task.reported:  # else nobody has trained it before
                self._check_goes_on()  # the folder of an earlier worker may have been removed as it parted
                sizes = self._keeper.begin(task.number, task.attempt)
                unpacked(sizes, partial(self._keeper.file_piece, task.number), here.folder)
                self._sent = self._place.files()
            try:
                self._worker = carried.workers(here)
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
        if not self._keeper.goes_on(self.task.number, self.task.attempt):
            self._send()
            raise PartedError

    def _may_end(self, result: EpochResult) -> bool:
        """Whether the trial may end or pause with this epoch, as far as is known here."""
        if self._left is not None:
            self._left -= result.seconds
        return (
            result.epoch in self._carried.halts
            or result.epoch == self.task.config.epochs
            or not isfinite(result.score)
            or (self._left is not None and self._left <= 0)
        )

    def _has_unsent(self) -> bool:
        return self._place.files() != self._sent

    def _send(self) -> None:
        if self._has_unsent():
            with self._pace.sending():
                self._sent = self._carried.send(self.task, self._place, self._sent)


@lru_cache(maxsize=8)
def _is_seen(mark: Mark) -> bool:
    """Whether this machine sees the study's folder; a process asks once."""
    return mark.unseen() is None
