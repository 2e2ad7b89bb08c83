"""The tracker in a process of its own: writing a trial into MLflow takes as long as all decisions on it."""

import queue
import threading
import weakref
from pathlib import Path

from skipstack.data.basis.redaction import hide
from skipstack.search.ledger.events import Event
from skipstack.search.ledger.ledger import PastEvents
from skipstack.search.tracking.apart import Apart, EndedError, Link
from skipstack.search.tracking.connection import load
from skipstack.search.tracking.publication import Publication
from skipstack.search.tracking.publishing import Shown
from skipstack.search.tracking.publishing_process import publish_apart, publish_for
from skipstack.search.tracking.tracking import Tracker, unrecorded


class TrackingProcess:
    """Hears events as a ``Tracker`` does, which is in the process; once they are written, publishes there.

    It loads MLflow at once, and may be started before there is a study. Whoever made it ends it; it ends with this
    object, and with this process, at the latest.
    """

    def __init__(self) -> None:
        self._uri = ""
        self._apart = Apart(track)
        self._heard: queue.SimpleQueue[object] = queue.SimpleQueue()
        threading.Thread(target=_send, args=(self._apart, self._heard), name="tracking", daemon=True).start()
        self._end = weakref.finalize(self, _end, self._apart, self._heard)
        self._end.atexit = False  # it ends with this process without that

    def begin(self, uri: str, past: PastEvents, *, folder: Path, private: bool) -> None:
        """Write into the store at ``uri`` what it lacks of the ``past``; the rest as for ``Tracker``."""
        hide(uri)
        self._uri = uri
        self._heard.put((uri, PastEvents(past.folder.resolve(), past.count), folder.resolve(), private))

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._apart.pid

    def __call__(self, event: Event) -> None:
        """Hear an event; returns at once."""
        self._heard.put(event)

    def heard_all(self) -> None:
        """No event follows: what is not written yet is written while whoever calls does something else."""
        self._heard.put(None)

    def close(self) -> str | None:
        """Wait as ``Tracker.close`` does; None, or one line on what is missing and why. No event may follow it."""
        self.heard_all()
        trouble: str | None = "nobody waits for it"
        try:
            trouble = self._apart.receive()
        except EndedError as ended:
            trouble = unrecorded(self._uri, str(ended))
        finally:
            if trouble is not None:
                self.end()
        return trouble

    def publish(self, experiment: str, study_id: str, publication: Publication) -> Shown:
        """Write what is shown beside the numbers, as ``publishing.publish`` does, once ``close`` gave None."""
        return publish_apart(self._apart, self._uri, experiment, study_id, publication)

    def end(self) -> None:
        """End the process, whatever it does."""
        self._end()


def track(link: Link) -> None:
    """What the process does: it hears what is sent until None comes, answers as ``Tracker.close``, then publishes."""
    load()
    uri, past, folder, private = link.recv()
    tracker = Tracker(uri, past, folder=folder, private=private)
    while (event := link.recv()) is not None:
        tracker(event)
    link.send(tracker.close())
    publish_for(link)


def _send(apart: Apart, heard: "queue.SimpleQueue[object]") -> None:
    while (message := heard.get()) is not None:
        apart.send(message)
    apart.send(None)


def _end(apart: Apart, heard: "queue.SimpleQueue[object]") -> None:
    heard.put(None)  # nobody sends any more
    apart.end()
