"""A tracking process that is none: what fails in a test's own hands fails in it."""

from pathlib import Path

from skipstack.search.ledger.events import Event
from skipstack.search.ledger.ledger import PastEvents
from skipstack.search.tracking.publication import Publication
from skipstack.search.tracking.publishing import Shown, publish
from skipstack.search.tracking.tracking import Tracker


class TrackingHere:
    """Does in this process what a ``TrackingProcess`` does in another."""

    def begin(self, uri: str, past: PastEvents, *, folder: Path, private: bool) -> None:
        self.uri = uri
        self.tracker = Tracker(uri, past, folder=folder, private=private)

    def __call__(self, event: Event) -> None:
        self.tracker(event)

    def heard_all(self) -> None: ...

    def close(self) -> str | None:
        return self.tracker.close()

    def publish(self, experiment: str, study_id: str, publication: Publication) -> Shown:
        return publish(self.uri, experiment, study_id, publication)

    def end(self) -> None: ...
