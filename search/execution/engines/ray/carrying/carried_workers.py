"""Workers whose files are carried where the machine does not see the study's folder; elsewhere nothing is different."""

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
    """The trial has ended or paused while some of its files were on this machine alone; now all are sent."""


@dataclass(frozen=True, kw_only=True, slots=True)
class UnsentResult(EpochResult):
    """An epoch, some of whose files are on the worker's machine alone."""

    @classmethod
    def of(cls, result: EpochResult) -> Self:
        """The same epoch."""
        return cls(**{field.name: getattr(result, field.name) for field in fields(EpochResult)})


@final
@dataclass(frozen=True)
class CarriedWorkers(Workers):
    """Creates workers that train exactly as ``workers`` do.

    On a machine that sees the ``mark`` of the study they are these. Elsewhere ``keeper`` hands out what they read, and
    takes what they leave. ``halts``: epochs after which the scheduler may end or pause a trial.
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
        """Measure as ``workers`` do, on the best weights that the keeper has; what is left beside them is sent."""
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
        """Send what has changed in a trial's folder on this machine since it was as ``before``; how it is now."""
        now = place.files()
        if now != before:
            for parcel in parcels(place.folder, *changed(before, now)):
                self.keeper.take(task.number, task.attempt, parcel)
        return now

    def reading(self, call: Callable[[TrialTask], Value], task: TrialTask) -> Value:
        """The value of ``call`` on the task, which may read the corpus and the vectors here."""
        if _is_seen(self.mark):
            return call(task)
        with self.placed(task, trains=False) as (here, _):
            return call(here)

    def stay(self) -> None:
        """Keep what is fetched to this machine until the process leaves it."""
        if not _is_seen(self.mark):
            stay(self.mark.word)

    @contextmanager
    def placed(self, task: TrialTask, *, trains: bool) -> Iterator[tuple[TrialTask, Place]]:
        """The task with folders on this machine: what it reads, and an empty one, which goes at the end, for what it
        leaves if it ``trains``. That another has removed that one is an OSError, as of a disk that fails.
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
    """Trains as the worker does that ``carried.workers`` would create, in a folder of this machine alone.

    An epoch's files are with the keeper before it is reported if the trial may end or pause there; otherwise they are
    sent at a ``Pace``. What a machine had not sent when it was lost is trained again.
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
                self._check_goes_on()  # the place of a worker before may have been removed as it parted
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
        """The next epoch. Raises PartedError, once all files are sent, where the trial does not go on, and OSError, as
        of a disk that fails, where its folder was removed here: another worker goes on from what was sent.
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
        """Close the inner worker, send what it leaves, and remove it here."""
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
