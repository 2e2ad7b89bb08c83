"""The history of an ablation: its events in the ledger of its study."""

from collections.abc import Iterator

from skipstack.search.ledger.events import Ablated, Event, Extended, Placed
from skipstack.search.ledger.ledger import Ledger


class AblationHistory:
    """The events of the ablation ``number``, as if they had a ledger of their own.

    Run options (``Placed``) are recorded for the study as a whole, since later commands reuse them.
    """

    def __init__(self, ledger: Ledger, number: int) -> None:
        self.folder = ledger.folder
        self._ledger = ledger
        self._number = number

    def replay(self) -> Iterator[Event]:
        """The ablation's events in order; none before it starts."""
        for event in self._ledger.only("ablated"):
            if isinstance(event, Ablated) and event.ablation == self._number:
                yield event.event

    def extensions(self) -> Iterator[Extended]:
        """None: the rows of an ablation are fixed when it starts."""
        yield from ()

    def append(self, *events: Event) -> None:
        """Write events that belong together."""
        self._ledger.append(*map(self.written, events))

    def written(self, event: Event) -> Event:
        """An event of the ablation in the form that the study's ledger has."""
        if isinstance(event, Placed | Ablated):
            return event
        return Ablated(time=event.time, ablation=self._number, event=event)
