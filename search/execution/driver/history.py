"""The interfaces that a driver uses: the history it replays and appends to, and the readers of its events."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

from skipstack.search.ledger.events import Event, Extended

Reader = Callable[[Event], None]
"""Receives every event once it is in the ledger, for progress or retention."""


class History(Protocol):
    """Past events, and the place to append new ones: the ledger, or nothing in a simulation."""

    folder: Path

    def replay(self) -> Iterable[Event]:
        """The past events in order; the first one opened the study."""

    def extensions(self) -> Iterable[Extended]:
        """The events that extended the study."""

    def append(self, *events: Event) -> None:
        """Append events that belong together."""
