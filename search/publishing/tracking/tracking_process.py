"""The process that talks to MLflow: records a running study, publishes its report, and reads from a store.

Only this process imports and configures MLflow. Elsewhere, MLflow would change the user's own process, and delay
decisions in the driver's process. The process reads the events to record from the ledger.
"""

import logging
import math
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from skipstack.data.basis.child_process import ChildProcess, Link, NoAnswerError
from skipstack.data.basis.collection import uncollected
from skipstack.data.basis.errors import UserError, one_line
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
from skipstack.search.publishing.tracking.retry_loop import END, Failed, Progressed, RetryLoop
from skipstack.search.study.record.folder import StudyFolder

SETTINGS: Final = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",  # ``RetryLoop`` repeats failed requests instead
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "30",
}
"""The values of MLflow's environment variables in the process, unless the user has set others."""

PATIENCE: Final = 120.0
"""The seconds without progress after which the owner stops waiting for a study to be recorded or published."""

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class _Returned:
    """A message to the owner: the work returned ``value``. If it raised UserError, this error is the message."""

    value: Any


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A message to the owner: write the bundle into the new folder ``to``, and answer with None or an exception."""

    to: Path


class TrackingProcess:
    """Starts the process that talks to MLflow, and sends work to it. The owner is the process that has this object.

    The process imports MLflow at once, and may be started before there is a study. It ends with ``end``, with this
    object, or with the owner's process. Raises UserError if MLflow is not installed.
    """

    def __init__(self) -> None:
        need("mlflow")
        self._uri = ""
        self._told_end = False
        self._child = ChildProcess(serve, SETTINGS)
        self._end = weakref.finalize(self, self._child.end)
        self._end.atexit = False  # the child ends with this process anyway

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._child.pid

    def record(self, uri: str, folder: Path, *, private: bool, compare: bool = False) -> None:
        """Start recording the study in ``folder``: write the events that the store at ``uri`` lacks, and all further
        events. Returns at once; ``close`` waits for the end.

        ``private``, ``compare``: as for ``Recorder``.
        """
        hide(uri)
        self._uri = uri
        self._ask(uri, _record, uri, folder.resolve(), private, compare)

    def let_end(self) -> None:
        """Tell the process that no further events follow, without waiting until the remaining events are written."""
        if not self._told_end:
            self._told_end = True
            self._child.send(END)

    def close(self) -> str | None:
        """Wait until all events are recorded, as long as the process makes progress. Returns None if they are.
        Otherwise ends the process, and returns a line on missing content with the reason.
        """
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
        """Look up whether a study is published already, as ``publishing.published`` does. ``what``: the ``made_of`` of
        the publication. If the process does not answer, the result says so in ``missing``.
        """
        self._ask(self._uri, _call, published, (self._uri, experiment, study_id, what))
        try:
            shown: PublishingResult | None = self._answer(PATIENCE)
        except NoAnswerError as ended:
            return PublishingResult(missing=unpublished(self._uri, str(ended)))
        return shown

    def publish(self, experiment: str, study_id: str, publication: Publication) -> PublishingResult:
        """Publish a study as ``publishing.publish`` does. Call this only after ``close`` has returned None."""
        best = publication.best
        sent = replace(publication, best=None if best is None else replace(best, write=_elsewhere))
        self._ask(self._uri, _publish, self._uri, experiment, study_id, sent)
        try:
            shown: PublishingResult = self._answer(PATIENCE, best)
        except NoAnswerError as ended:
            return PublishingResult(missing=unpublished(self._uri, str(ended)))
        return shown

    def register(self, uri: str, experiment: str, study_id: str, bundle: BestBundle, name: str) -> int:
        """Register a model as ``name``, and return its version, as ``logged_models.register`` does."""
        hide(uri)
        self._ask(uri, _register, uri, experiment, study_id, replace(bundle, write=_elsewhere), name)
        return int(self._told(name, bundle))

    def call(self, about: str, uri: str, work: Callable[..., Value], *arguments: object) -> Value:
        """Run ``work`` in the process with the store at ``uri``, and return the result.

        ``about``: the beginning of the message of an error. ``work``: a function at the top level of a module, so that
        it can be pickled. Raises UserError if the work does, and if the process ended.
        """
        self._ask(uri, _call, work, arguments)
        value: Value = self._told(about)
        return value

    def end(self) -> None:
        """End the process at once, even if it is working."""
        self._end()

    def _ask(self, uri: str, work: Callable[..., Any], *arguments: object) -> None:
        self._child.send((uri, work, arguments))

    def _told(self, about: str, bundle: BestBundle | None = None) -> Any:
        try:
            return self._answer(math.inf, bundle)
        except NoAnswerError as ended:
            raise UserError(f"{about}: MLflow could not be asked: {ended} (allowed: again)") from ended

    def _answer(self, patience: float, best: BestBundle | None = None) -> Any:
        """Wait for the result of the work that was sent. Writes the bundle ``best`` if the process requests it. Raises
        UserError if the work does, and NoAnswerError after ``patience`` seconds without progress.
        """
        trouble, until = "no answer", time.monotonic() + patience
        while True:
            try:
                message = self._child.receive(until)
            except TimeoutError:
                raise NoAnswerError(trouble) from None
            match message:
                case _Returned(value):
                    return value
                case UserError():
                    raise message
                case Failed(why):
                    trouble = why
                case Progressed():
                    until = time.monotonic() + patience
                case _Wanted(to):
                    assert best is not None, "only its bundle is asked for"
                    self._child.send(_written(best, to))
                    until = time.monotonic() + patience


def serve(link: Link) -> None:
    """Run the loop of the process: call each function that the owner sends, and send back its result."""
    with uncollected():
        import mlflow
    logging.disable(logging.ERROR)  # failures are sent to the owner instead, without secrets
    beside = Path("mlruns")
    while True:
        uri, work, arguments = link.recv()
        stood = beside.exists()
        mlflow.set_tracking_uri(uri)  # older clients read artifacts only from the configured server
        try:
            answer: _Returned | UserError = _Returned(work(link, *arguments))
        except UserError as error:
            answer = UserError(str(error))
        if not stood:
            with suppress(OSError):
                beside.rmdir()  # MLflow 2 makes this folder, empty, for any store in a database
        link.send(answer)


def _record(link: Link, uri: str, folder: Path, private: bool, compare: bool) -> str | None:
    news, loop = Following(StudyFolder(folder).ledger), RetryLoop(link)
    return Recorder(uri, news.events, loop, folder=folder, private=private, compare=compare).run()


def _publish(link: Link, uri: str, experiment: str, study_id: str, publication: Publication) -> PublishingResult:
    best = publication.best
    asked = replace(publication, best=None if best is None else replace(best, write=partial(_want, link)))
    return publish(uri, experiment, study_id, asked, RetryLoop(link, closing=True))


def _register(link: Link, uri: str, experiment: str, study_id: str, bundle: BestBundle, name: str) -> int:
    return register(uri, experiment, study_id, replace(bundle, write=partial(_want, link)), name)


def _call(_: Link, work: Callable[..., Value], arguments: tuple[object, ...]) -> Value:
    return work(*arguments)


def _want(link: Link, to: Path) -> None:
    """Ask the owner, who has the weights and the user's code, to write the bundle into ``to``."""
    link.send(_Wanted(to))
    if (error := link.recv()) is not None:
        raise error


def _elsewhere(to: Path) -> None:
    raise AssertionError("whoever is sent a bundle asks its sender to write it")


def _written(best: BestBundle, to: Path) -> Exception | None:
    """Write a bundle that the process requested. Returns None, or an exception to send to the process."""
    try:
        best.write(to)
    except UserError as lost:
        return UserError(str(lost))
    except Exception as error:  # noqa: BLE001 (any error is sent to the process, which reports it)
        return RuntimeError(one_line(error))
    return None
