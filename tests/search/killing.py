"""Drivers that die at an append, disks that fail, and a comparison of the events before and after with an uninterrupted
study.
"""

import errno
import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from skipstack.search.ledger import events as happened
from skipstack.search.ledger import segments
from skipstack.search.ledger.events import Event, Measuring, Started, Untested
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.folder import StudyFolder


def timeless(events: list[Event]) -> list[Event]:
    """Return the events without times, and without a second driver's repetitions and events about itself."""
    kept: list[Event] = []
    started: set[int] = set()
    measured: set[int] = set()
    for event in events:
        if event.kind == "resumed" or (isinstance(event, Started) and event.trial in started):
            continue
        match event:
            case Started(trial=number):
                started.add(number)
            case Measuring(trial=number) if number in measured:
                continue
            case Measuring(trial=number):
                measured.add(number)
            case happened.Tested(trial=number) | Untested(trial=number):
                measured.discard(number)
            case _:
                pass
        kept.append(event.model_copy(update={"time": 0.0}))
    return kept


def decided(folder: Path) -> list[object]:
    """Return a study's proposals, reports, decisions and ends, without times and without identities of configs, which
    have the name of a function.
    """
    kinds = happened.Proposed | happened.Reported | happened.Decided | happened.Ended
    events = (event for event in Ledger(folder / "ledger").read() if isinstance(event, kinds))
    return [event.model_dump(mode="json", exclude={"time", "seconds", "config_identity"}) for event in events]


class Killed(BaseException):
    """Represents a signal that no code can handle."""


class DyingLedger(Ledger):
    """A ledger that ends its driver before or after the n-th append."""

    def __init__(self, folder: Path, appends: int, after: bool) -> None:
        super().__init__(folder)
        self.left, self.after = appends, after

    def append(self, *events: Event) -> None:
        self.left -= 1
        if self.left == 0 and not self.after:
            raise Killed
        super().append(*events)
        if self.left == 0:
            raise Killed


class Disk:
    """Makes a call that changes files fail: the process is killed before it, in its midst or after it, or the disk is
    full for this call alone.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.mend()
        write = segments._write
        monkeypatch.setattr(segments, "_write", lambda file, text: self._change(write, file, text))
        for name in ("fsync", "replace", "rename", "mkdir", "unlink", "rmdir"):
            monkeypatch.setattr(os, name, partial(self._change, getattr(os, name)))
        monkeypatch.setattr(os, "ftruncate", partial(self._take_back, os.ftruncate))

    def fail(self, left: int, *, kills: bool, draw: random.Random) -> None:
        """Let the call of this number fail. After a kill, all later calls fail too."""
        self._left, self._kills, self._draw = left, kills, draw

    def mend(self) -> None:
        """Let no call fail."""
        self._left, self._kills, self._draw = 0, False, random.Random(0)

    @contextmanager
    def of_another_process(self) -> Iterator[None]:
        """Let no call fail, for a while."""
        before = self._left, self._kills, self._draw
        self.mend()
        yield
        self._left, self._kills, self._draw = before

    def _change(self, change: Callable[..., object], *given: Any, **options: Any) -> object:
        self._left -= 1
        if self._kills and self._left <= 0:
            if self._left == 0 and self._draw.random() < 0.5:
                part = (each[: self._draw.randrange(len(each))] if isinstance(each, bytes) else each for each in given)
                with suppress(OSError):
                    change(*part)
            raise Killed
        if self._left == 0 and change.__name__ not in ("unlink", "rmdir"):
            raise OSError(errno.ENOSPC, "No space left on device")
        return change(*given, **options)

    def _take_back(self, change: Callable[..., object], *given: Any) -> object:
        """A process that was killed leaves the line torn that it wrote."""
        if self._kills and self._left <= 0:
            raise Killed
        return change(*given)


def appends(study: StudyFolder) -> int:
    """Return the number of appends of a study's only driver. The first segment is from opening the study."""
    return sum(len(segment.read_bytes().splitlines()) for segment in sorted(study.ledger.glob("*.jsonl"))[1:])


def killed_and_resumed(
    path: Path,
    begin: Callable[[Path], StudyFolder],
    run: Callable[[StudyFolder, Ledger], object],
    *,
    moments: int = 1000,
    first: int = 1,
) -> list[Event]:
    """Check that a study whose driver is killed and then resumed writes the same events as an uninterrupted one, which
    are returned. This is repeated for about ``moments`` moments of the kill, from the ``first`` append on.

    ``begin``: opens the study in a folder. ``run``: runs the rest of it with a ledger.
    """
    whole = begin(path / "whole")
    run(whole, Ledger(whole.ledger))
    expected = timeless(Ledger(whole.ledger).read())
    last = appends(whole)  # after the last append, nothing is left to resume
    step = last // moments | 1  # odd, so that drivers are killed both before and after appends
    for kill in range(first, last + 1, step):
        folder = begin(path / f"killed-{kill}")
        with pytest.raises(Killed):
            run(folder, DyingLedger(folder.ledger, kill, after=kill % 2 == 1 and kill < last))
        run(folder, Ledger(folder.ledger))
        assert timeless(Ledger(folder.ledger).read()) == expected, f"killed at append {kill}"
    return expected
