"""Reads and writes the events of an ablation, which are stored in the ledger of its study."""

from collections.abc import Iterator

from skipstack.search.ledger.events import Ablated, Event, Extended, Placed
from skipstack.search.ledger.ledger import Ledger


class AblationHistory:
    """Reads and appends the events of ablation ``number`` as if the ablation had a ledger of its own.

    Run options (``Placed``) are an exception: they are appended as events of the study, for later commands to reuse.
    """

    def __init__(self, ledger: Ledger, number: int) -> None:
        self.folder = ledger.folder
        self._ledger = ledger
        self._number = number

    def replay(self) -> Iterator[Event]:
        """Yield the ablation's events in order, unwrapped from their ``Ablated`` events; none if it has not begun."""
        for event in self._ledger.only("ablated"):
            if isinstance(event, Ablated) and event.ablation == self._number:
                yield event.event

    def extensions(self) -> Iterator[Extended]:
        """Yield nothing: an ablation cannot be extended, since its rows are fixed when it starts."""
        yield from ()

    def append(self, *events: Event) -> None:
        """Append events of the ablation to the study's ledger in one write."""
        self._ledger.append(*map(self.written, events))

    def written(self, event: Event) -> Event:
        """Return an event as the ledger stores it: wrapped in ``Ablated``, unless it is ``Placed`` or ``Ablated``."""
        if isinstance(event, Placed | Ablated):
            return event
        return Ablated(time=event.time, ablation=self._number, event=event)
