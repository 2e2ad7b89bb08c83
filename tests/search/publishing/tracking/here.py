"""What a tracking process does, done in this one: what fails in a test's own hands fails in it."""

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from multiprocessing import Pipe
from pathlib import Path

from skipstack.search.ledger.events import Event
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.publishing.tracking.publishing import Publication, PublishingResult, publish, published
from skipstack.search.publishing.tracking.recording import Recorder
from skipstack.search.publishing.tracking.retry_loop import END, RetryLoop
from skipstack.search.study.record.folder import StudyFolder


class Recording:
    """A ``Recorder`` in a thread; what happens it is told."""

    def __init__(
        self,
        uri: str,
        past: Sequence[Event],
        *,
        folder: Path | None = None,
        private: bool = False,
        compare: bool = False,
    ) -> None:
        self._told = deque(past)
        self._owner, link = Pipe()
        self._recorder = Recorder(uri, self._news, RetryLoop(link), folder=folder, private=private, compare=compare)
        self._ended: list[str | None] = []
        self._thread = threading.Thread(target=self._run, name="recording", daemon=True)
        self._thread.start()

    def __call__(self, event: Event) -> None:
        self._told.append(event)

    def close(self) -> str | None:
        """Wait for the end; None, or one line on what is missing, which is all where the thread was killed."""
        self._owner.send(END)
        self._thread.join()
        return self._ended[0] if self._ended else "killed"

    def _news(self) -> Iterator[Event]:
        while self._told:
            yield self._told.popleft()

    def _run(self) -> None:
        self._ended.append(self._recorder.run())


class TrackingHere:
    """Does in this process what a ``TrackingProcess`` does in another."""

    def record(self, uri: str, folder: Path, *, private: bool, compare: bool) -> None:
        self.uri, past = uri, Ledger(StudyFolder(folder).ledger).read()
        self.recording = Recording(uri, past, folder=folder, private=private, compare=compare)

    def let_end(self) -> None: ...

    def close(self) -> str | None:
        return self.recording.close()

    def published(self, experiment: str, study_id: str, what: str) -> PublishingResult | None:
        return published(self.uri, experiment, study_id, what)

    def publish(self, experiment: str, study_id: str, publication: Publication) -> PublishingResult:
        owner, link = Pipe()
        with owner, link:
            return publish(self.uri, experiment, study_id, publication, RetryLoop(link, closing=True))

    def end(self) -> None: ...
