"""What a driver is given of the past, where it writes what happens, and who reads that."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

from skipstack.search.ledger.events import Event, Extended

Reader = Callable[[Event], None]
"""Receives every event once it is in the ledger: progress, retention."""


class History(Protocol):
    """What happened before, and where it is written what happens now: the ledger, or in a simulation nowhere."""

    folder: Path

    def replay(self) -> Iterable[Event]:
        """All events in order, the first of them that the study was opened."""

    def extensions(self) -> Iterable[Extended]:
        """Those of the events by which the study was extended."""

    def append(self, *events: Event) -> None:
        """Take events that belong together."""
