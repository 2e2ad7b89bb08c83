"""Drivers that die at an append, and what they and those after them wrote."""

from collections.abc import Callable
from pathlib import Path

import pytest

from skipstack.search.ledger import events as happened
from skipstack.search.ledger.events import Event, Measuring, Started, Untested
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.folder import StudyFolder


def timeless(events: list[Event]) -> list[Event]:
    """Events without the clock, and without what a second driver says of itself, or of what it begins once more."""
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


class Killed(BaseException):
    """Stands for a signal that no code sees coming."""


class DyingLedger(Ledger):
    """Ends its driver before or after the n-th append."""

    def __init__(self, folder: Path, appends: int, after: bool) -> None:
        super().__init__(folder)
        self.appends, self.after = appends, after

    def append(self, *events: Event) -> None:
        self.appends -= 1
        if self.appends == 0 and not self.after:
            raise Killed
        super().append(*events)
        if self.appends == 0:
            raise Killed


def appends(study: StudyFolder) -> int:
    """How many appends a study's only driver made: the first segment is that of whoever began the study."""
    return sum(len(segment.read_bytes().splitlines()) for segment in sorted(study.ledger.glob("*.jsonl"))[1:])


def killed_and_resumed(
    path: Path,
    begin: Callable[[Path], StudyFolder],
    run: Callable[[StudyFolder, Ledger], object],
    *,
    moments: int = 1000,
    first: int = 1,
) -> list[Event]:
    """A study whose driver is killed, at about so many ``moments`` from its ``first`` append on, and resumed each time
    writes what an uninterrupted one writes, which is returned.

    ``begin`` opens it in a folder; ``run`` runs what is left of it, with a ledger that it enters.
    """
    whole = begin(path / "whole")
    run(whole, Ledger(whole.ledger))
    expected = timeless(Ledger(whole.ledger).read())
    last = appends(whole)  # after which nothing is left to resume
    step = last // moments | 1  # odd, so that a driver is killed before an append as well as after one
    for kill in range(first, last + 1, step):
        folder = begin(path / f"killed-{kill}")
        with pytest.raises(Killed):
            run(folder, DyingLedger(folder.ledger, kill, after=kill % 2 == 1 and kill < last))
        run(folder, Ledger(folder.ledger))
        assert timeless(Ledger(folder.ledger).read()) == expected, f"killed at append {kill}"
    return expected
