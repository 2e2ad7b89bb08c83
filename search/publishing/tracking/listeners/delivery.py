"""Delivers the events of a ledger to listeners in a separate process, so that the study does not wait for them."""

import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from skipstack.data.basis.child_process import ChildProcess, Link, NoAnswerError
from skipstack.data.basis.errors import UserError, one_line
from skipstack.data.basis.redaction import redacted
from skipstack.search.ledger.events import Ablated, Ended, Event, Reported, Tested
from skipstack.search.ledger.following import Following
from skipstack.search.publishing.tracking.entry import axis_value
from skipstack.search.publishing.tracking.listeners.listener import Listener, StudyInfo, TrialInfo
from skipstack.search.publishing.tracking.listeners.named import made, with_whole_paths
from skipstack.search.publishing.tracking.retry_loop import END
from skipstack.search.publishing.tracking.runs import study_id
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.spaces.domains import Domain, Json
from skipstack.spaces.subject import Scalar

LOOK_AGAIN: Final = 1.0
"""The seconds between two reads of a growing ledger."""


class ListenerProcess:
    """Starts the process that delivers the events of a study to listeners. ``also``: the names of the listeners.
    ``folder``: the study's folder. Call ``close`` or ``end`` to end the process.
    """

    def __init__(self, also: Sequence[str], folder: Path) -> None:
        self._child = ChildProcess(serve)
        self._child.send((with_whole_paths(also), folder))

    def close(self) -> list[str]:
        """Wait until the listeners have received all events, and end the process. Returns a line, with the reason, for
        each listener that did not receive all events. If the process ended early, a single line stands for all
        listeners.
        """
        self._child.send(END)
        try:
            lines: list[str] = self._child.receive()
        except NoAnswerError as ended:
            lines = [f"--also: not everything was heard ({ended}); `skipstack sync` tells it again"]
        self.end()
        return lines

    def end(self) -> None:
        """End the process at once, even if it is delivering events."""
        self._child.end()


def serve(link: Link) -> None:
    """Deliver new events to the listeners until the study is over. Then send lines on failures to the owner."""
    also, folder = link.recv()
    telling = Delivery(also, folder)
    while True:
        over = link.poll(LOOK_AGAIN) and link.recv() == END
        telling.tell()
        if over:
            link.send(telling.close())
            return


class Delivery:
    """Delivers the events of the study in ``folder``, from the first on, to the listeners that ``also`` names. A
    listener that raises an exception receives no further events.
    """

    def __init__(self, also: Sequence[str], folder: Path) -> None:
        self._names = also
        self._folder = folder
        self._news = Following(StudyFolder(folder).ledger)
        self._record = StudyRecord()
        self._listeners: dict[str, Listener] = {}
        self._lost: dict[str, str] = {}

    def tell(self) -> None:
        """Deliver the events that were added since the last call."""
        for event in self._news.events():
            self._record.apply(event)
            if not self._listeners and not self._lost:
                self._begin()
            for call in _calls(self._record, event):
                for name, listener in tuple(self._listeners.items()):
                    listener.now = event.time
                    self._tell(name, call)

    def close(self) -> list[str]:
        """Close the listeners. Returns a line for each listener that failed."""
        for name in tuple(self._listeners):
            self._tell(name, lambda listener: listener.close())
        return [f"--also {name}: {why}; `skipstack sync` tells it again" for name, why in self._lost.items()]

    def _begin(self) -> None:
        study = StudyInfo(self._record.study.name, study_id(self._record.first_event), self._folder)
        for name in self._names:
            try:
                self._listeners[name] = made(name, study)
            except UserError as error:
                self._lost[name] = str(error)
            except Exception as error:  # noqa: BLE001 (a file of the user's can raise anything)
                self._lose(name, error)

    def _tell(self, name: str, call: Callable[[Listener], None]) -> None:
        try:
            call(self._listeners[name])
        except Exception as error:  # noqa: BLE001 (a listener can fail in any way: the others go on)
            self._lose(name, error)

    def _lose(self, name: str, error: Exception) -> None:
        frames = traceback.extract_tb(error.__traceback__)
        place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "unknown"
        self._lost[name] = redacted(f"{place}: {one_line(error)}")
        self._listeners.pop(name, None)


def _calls(record: StudyRecord, event: Event, ablation: int | None = None) -> Iterator[Callable[[Listener], None]]:
    """Yields the calls that deliver an event to a listener. ``record``: the record of the study or the ablation, which
    already contains the event. ``ablation``: the number of the event's ablation; None for the search.
    """
    match event:
        case Ablated(ablation=number):
            yield from _calls(record.ablations[number], event.event, number)
        case Reported(trial=number):
            trial, seeds = record.trials[number], event.seeds
            heard = _info(trial, ablation, seeds or trial.seeds)
            yield lambda listener: listener.reported(heard, event.epoch, event.metrics)
        case Tested(trial=number):
            heard = _info(record.trials[number], ablation, record.trials[number].seeds)
            yield lambda listener: listener.tested(heard, event.metrics)
        case Ended(trial=number):
            trial = record.trials[number]
            heard, score = _info(trial, ablation, trial.seeds), trial.score
            yield lambda listener: listener.ended(heard, event.reason, score)
        case _:
            pass


def _info(trial: TrialRecord, ablation: int | None, seeds: Sequence[int]) -> TrialInfo:
    domains = trial.space.domains
    values = {path: _value(domains[path], value) for path, value in trial.point.items()}
    return TrialInfo(trial.number, ablation, values, seeds)


def _value(domain: Domain, value: Json) -> Scalar:
    """Convert an axis's value for a listener. A number or text without a name is kept; any other value becomes text."""
    if isinstance(value, bool | int | float | str) and domain.name(value) is None:
        return value
    return axis_value(domain, value)
