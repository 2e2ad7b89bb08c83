"""The history of an ablation: its part of its study's ledger."""

from collections.abc import Iterator

from skipstack.search.ledger.events import Ablated, Event, Extended, Placed
from skipstack.search.ledger.ledger import Ledger


class AblationHistory:
    """What happened in the ablation ``number``, as if it had a ledger to itself.

    How it is run is written of the study as a whole, which later commands are run like.
    """

    def __init__(self, ledger: Ledger, number: int) -> None:
        self.folder = ledger.folder
        self._ledger = ledger
        self._number = number

    def replay(self) -> Iterator[Event]:
        """The ablation's events in order; none before it begins."""
        for event in self._ledger.only("ablated"):
            if isinstance(event, Ablated) and event.ablation == self._number:
                yield event.event

    def extensions(self) -> Iterator[Extended]:
        """None: what an ablation compares is settled when it begins."""
        yield from ()

    def append(self, *events: Event) -> None:
        """Write events that belong together."""
        self._ledger.append(*map(self.written, events))

    def written(self, event: Event) -> Event:
        """An event of the ablation as it stands in the study's ledger."""
        if isinstance(event, Placed | Ablated):
            return event
        return Ablated(time=event.time, ablation=self._number, event=event)
