"""The interfaces that a driver uses: the history of events, which it replays and extends, and the readers of events."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

from skipstack.search.ledger.events import Event, Extended

Reader = Callable[[Event], None]
"""A function that receives every event once it is in the ledger, for example to show progress or to delete weights."""


class History(Protocol):
    """The past events of a study, to which new ones are appended: the ledger or, in a simulation, events in memory."""

    folder: Path

    def replay(self) -> Iterable[Event]:
        """The past events in order, beginning with the event that opened the study."""

    def extensions(self) -> Iterable[Extended]:
        """The events that extended the study."""

    def append(self, *events: Event) -> None:
        """Append events that belong together: after a crash, the ledger holds all of them or none."""
