"""The process that talks to MLflow: it records a study while that runs, publishes its report, reads what a store has.

MLflow is loaded and set up there alone, so that the process of a user stays as it is; in the driver it would also delay
decisions. The process reads the events to record from the ledger itself.
"""

import logging
import math
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from skipstack.data.basis.child_process import ChildProcess, Link, NoAnswerError
from skipstack.data.basis.errors import UserError, one_line
from skipstack.data.basis.loading import uncollected
from skipstack.data.basis.parts import need
from skipstack.data.basis.redaction import hide
from skipstack.search.ledger.following import Following
from skipstack.search.publishing.tracking.logged_models import BestBundle, register
from skipstack.search.publishing.tracking.publishing import (
    Publication,
    PublishingResult,
    publish,
    published,
    unpublished,
)
from skipstack.search.publishing.tracking.recording import Recorder, unrecorded
from skipstack.search.publishing.tracking.retry_loop import RetryLoop
from skipstack.search.study.record.folder import StudyFolder

SETTINGS: Final = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",  # our own loop tries again
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "30",
}
"""Variables of MLflow's in that process, where its owner did not set them."""

PATIENCE: Final = 120.0
"""Seconds without progress after which a call that hangs is not waited for any longer."""

TELL_EVERY: Final = 1.0
"""Seconds between two messages of progress: while nobody reads them they have room for minutes."""

END: Final = "the study is over"
"""The message to the process when no event follows."""

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class _Returned:
    """The result of the work."""

    value: Any


@dataclass(frozen=True, slots=True)
class _Refused:
    """The work raised UserError."""

    message: str


@dataclass(frozen=True, slots=True)
class _Progressed:
    """The work made progress."""


@dataclass(frozen=True, slots=True)
class _Failed:
    """A try of the work failed; another follows."""

    trouble: str


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The bundle of the best network is to be written into this new folder; the answer is None, or the exception."""

    to: Path


class TrackingProcess:
    """The process as its owner sees it; it loads MLflow at once, and does one thing after another.

    It may be started before there is a study. Whoever made it ends it; it ends with this object, and with this process,
    at the latest. Raises UserError where MLflow is not installed.
    """

    def __init__(self) -> None:
        need("mlflow")
        self._uri = ""
        self._told_end = False
        self._child = ChildProcess(serve, SETTINGS)
        self._end = weakref.finalize(self, self._child.end)
        self._end.atexit = False  # it ends with this process without that

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._child.pid

    def record(self, uri: str, folder: Path, *, private: bool, compare: bool = False) -> None:
        """Write into the store at ``uri`` what it lacks of the study in ``folder``, and what happens there from now on.

        ``private``, ``compare``: as for ``Recorder``.
        """
        hide(uri)
        self._uri = uri
        self._ask(uri, _record, uri, folder.resolve(), private, compare)

    def let_end(self) -> None:
        """Tell the process that no event follows: it writes the rest while the caller does something else."""
        if not self._told_end:
            self._told_end = True
            self._child.send(END)

    def close(self) -> str | None:
        """Wait until everything is written, while there is progress; None, or one line on what is missing and why."""
        self.let_end()
        trouble: str | None = "nobody waits for it"
        try:
            trouble = self._answer(PATIENCE)
        except NoAnswerError as ended:
            trouble = unrecorded(self._uri, str(ended))
        finally:
            if trouble is not None:
                self.end()
        return trouble

    def published(self, experiment: str, study_id: str, what: str) -> PublishingResult | None:
        """The place where this was published before, as ``publishing.published`` returns it."""
        self._ask(self._uri, _published, self._uri, experiment, study_id, what)
        try:
            shown: PublishingResult | None = self._answer(PATIENCE)
        except NoAnswerError as ended:
            return PublishingResult(missing=unpublished(self._uri, str(ended)))
        return shown

    def publish(self, experiment: str, study_id: str, publication: Publication) -> PublishingResult:
        """Publish a study as ``publishing.publish`` does, once ``close`` returned None."""
        best = publication.best
        sent = replace(publication, best=None if best is None else replace(best, write=_elsewhere))
        self._ask(self._uri, _publish, self._uri, experiment, study_id, sent)
        try:
            shown: PublishingResult = self._answer(PATIENCE, best)
        except NoAnswerError as ended:
            return PublishingResult(missing=unpublished(self._uri, str(ended)))
        return shown

    def register(self, uri: str, experiment: str, study_id: str, bundle: BestBundle, name: str) -> int:
        """Put a network into the registry, as ``logged_models.register`` does."""
        hide(uri)
        self._ask(uri, _register, uri, experiment, study_id, replace(bundle, write=_elsewhere), name)
        return int(self._told(name, bundle))

    def call(self, about: str, uri: str, work: Callable[..., Value], *arguments: object) -> Value:
        """The result of ``work``, a function of a module of ours, run in the process with the store at ``uri``. Raises
        UserError: that of the work, or because the process ended.
        """
        self._ask(uri, _call, work, arguments)
        value: Value = self._told(about)
        return value

    def end(self) -> None:
        """End the process, whatever it does."""
        self._end()

    def _ask(self, uri: str, work: Callable[..., Any], *arguments: object) -> None:
        self._child.send((uri, work, arguments))

    def _told(self, about: str, bundle: BestBundle | None = None) -> Any:
        try:
            return self._answer(math.inf, bundle)
        except NoAnswerError as ended:
            raise UserError(f"{about}: MLflow could not be asked: {ended} (allowed: again)") from ended

    def _answer(self, patience: float, best: BestBundle | None = None) -> Any:
        """The result of the work. Raises UserError as that does, NoAnswerError after ``patience`` without progress."""
        trouble, until = "no answer", time.monotonic() + patience
        while True:
            try:
                message = self._child.receive(until)
            except TimeoutError:
                raise NoAnswerError(trouble) from None
            match message:
                case _Returned(value):
                    return value
                case _Refused(why):
                    raise UserError(why)
                case _Failed(why):
                    trouble = why
                case _Progressed():
                    until = time.monotonic() + patience
                case _Wanted(to):
                    assert best is not None, "only its bundle is asked for"
                    self._child.send(_written(best, to))
                    until = time.monotonic() + patience


def serve(link: Link) -> None:
    """The loop of the process: it does the work that it is sent, and answers."""
    with uncollected():
        import mlflow
    logging.disable(logging.ERROR)  # what fails we tell ourselves, without secrets
    while True:
        uri, work, arguments = link.recv()
        mlflow.set_tracking_uri(uri)  # older clients reach artifacts of a server that is set, and of no other
        try:
            answer: _Returned | _Refused = _Returned(work(link, *arguments))
        except UserError as error:
            answer = _Refused(str(error))
        link.send(answer)


class _Owner:
    """The owner of the process, as the process sees it while it works."""

    def __init__(self, link: Link, *, waits: bool = False) -> None:
        self._link = link
        self._waits = waits
        self._told = -math.inf

    def waits(self, seconds: float) -> bool:
        if self._waits:
            time.sleep(seconds)
        elif self._link.poll(seconds):
            self._waits = self._link.recv() == END
        return self._waits

    def progressed(self) -> None:
        if self._waits and time.monotonic() > self._told + TELL_EVERY:
            self._told = time.monotonic()
            self._link.send(_Progressed())

    def failed(self, trouble: str) -> None:
        if self._waits:
            self._link.send(_Failed(trouble))


def _record(link: Link, uri: str, folder: Path, private: bool, compare: bool) -> str | None:
    news, loop = Following(StudyFolder(folder).ledger), RetryLoop(_Owner(link))
    return Recorder(uri, news.events, loop, folder=folder, private=private, compare=compare).run()


def _published(_: Link, uri: str, experiment: str, study_id: str, what: str) -> PublishingResult | None:
    return published(uri, experiment, study_id, what)


def _publish(link: Link, uri: str, experiment: str, study_id: str, publication: Publication) -> PublishingResult:
    best = publication.best
    asked = replace(publication, best=None if best is None else replace(best, write=partial(_want, link)))
    return publish(uri, experiment, study_id, asked, RetryLoop(_Owner(link, waits=True)))


def _register(link: Link, uri: str, experiment: str, study_id: str, bundle: BestBundle, name: str) -> int:
    return register(uri, experiment, study_id, replace(bundle, write=partial(_want, link)), name)


def _call(_: Link, work: Callable[..., Value], arguments: tuple[object, ...]) -> Value:
    return work(*arguments)


def _want(link: Link, to: Path) -> None:
    """Have the bundle written by the owner, which has the weights and the user's code."""
    link.send(_Wanted(to))
    if (error := link.recv()) is not None:
        raise error


def _elsewhere(to: Path) -> None:
    raise AssertionError("whoever is sent a bundle asks its sender to write it")


def _written(best: BestBundle, to: Path) -> Exception | None:
    """Write the bundle; returns None, or the exception to raise in the process that asked for it."""
    try:
        best.write(to)
    except UserError as lost:
        return UserError(str(lost))
    except Exception as error:  # noqa: BLE001 (whatever it is, the report of the study has been printed)
        return RuntimeError(one_line(error))
    return None
