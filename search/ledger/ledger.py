"""The ledger: what happened in a study, in order. Everything else is a reading of it.

Its appends lie in a folder (``search/ledger/segments.py``). Events that belong together are all there or none is; an
append that returned is there for good; a torn last one is cut, and ``Ledger.cut`` says so; damage anywhere else is an
error; one driver at a time writes.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar

from pydantic import ValidationError

from skipstack.data.basis.errors import UserError, one_line
from skipstack.search.ledger.events import Event, Extended, from_json, to_json
from skipstack.search.ledger.lines import Line
from skipstack.search.ledger.segments import WORTH_COMPACTING, Segments

ADDRESS: Final = "address"
"""In the folder of a ledger that version 0.1.0 wrote onto an object store, the file that says where."""

Value = TypeVar("Value")

READINGS: Final = 3
"""How often a ledger is read, at most, until no file of it vanishes meanwhile."""


class Ledger:
    """The events of one study, by its folder.

    Reading needs no lock. Writing does, so that one driver at a time writes::

        with Ledger(folder) as ledger:
            past = ledger.read()
            ledger.append(Reported(...), Decided(...))

    ``worth_compacting``: so many appends outside of a Parquet file are brought into one when the ledger is opened for
    writing. Raises UserError for the folder of a ledger that lies on an object store, which is never contacted.
    """

    def __init__(self, folder: Path, *, worth_compacting: int = WORTH_COMPACTING) -> None:
        if (folder / ADDRESS).exists():
            raise UserError(
                f"{folder / ADDRESS}: this ledger lies on an object store (allowed: one in its study's folder); "
                "docs/guide/clusters.md says how its events are copied back"
            )
        self.folder = folder
        self._segments = Segments(folder, worth_compacting=worth_compacting)

    @property
    def cut(self) -> str | None:
        """One line about the torn append that a reading or an opening left out; None without one."""
        return self._segments.cut

    def read(self) -> list[Event]:
        """All events in order; none where there is no ledger yet. Changes nothing.

        Raises UserError as ``whole`` does.
        """
        return self.whole(lambda: list(self._events()))

    def whole(self, reading: Callable[[], Value]) -> Value:
        """What a ``reading`` of the ledger from its beginning gives.

        It is repeated, a few times, where a driver that compacts takes files away meanwhile. Raises UserError, with
        file and line, on damage before the last line, on events that this version does not know, on a missing segment,
        and where the ledger cannot be reached.
        """
        for attempt in range(READINGS):
            try:
                return reading()
            except FileNotFoundError as error:
                if attempt == READINGS - 1:
                    raise self._unreadable(error) from error
            except OSError as error:
                raise self._unreadable(error) from error
        raise AssertionError("every reading returns, is repeated or raises")

    def files(self) -> tuple[Path, ...]:
        """The files that hold its lines, in their order; for a reading within ``whole``."""
        return self._segments.files()

    def lines(self) -> Iterator[Line]:
        """The whole lines in order, an append each; for a reading within ``whole``."""
        return self._segments.lines()

    def replay(self) -> Iterator[Event]:
        """All events in order, one after another; nothing is kept in memory. For the one writer: a driver that compacts
        the ledger meanwhile would be in the way.

        Raises UserError as ``read`` does, once it comes to what is wrong.
        """
        try:
            yield from self._events()
        except OSError as error:
            raise self._unreadable(error) from error

    def packed(self) -> bytes:
        """All of it as one Parquet file, as it lies in a folder that was compacted. Raises UserError as ``replay``."""
        from skipstack.search.ledger.compaction import compacted  # Parquet is loaded where there is some

        return compacted(self._segments.lines())

    @contextmanager
    def kept(self) -> Iterator[None]:
        """No driver writes meanwhile. Nothing changes. Raises UserError where one does; one need not be kept out of a
        folder that cannot be written.
        """
        with self._segments.locked():
            yield

    def extensions(self) -> Iterator[Extended]:
        """Those of the events by which the study was extended."""
        return (event for event in self.only("extended") if isinstance(event, Extended))

    def only(self, *kinds: str) -> Iterator[Event]:
        """The events of these kinds, much sooner than all of them. Raises UserError as ``replay`` does."""
        marks = [f'"kind":"{kind}"'.encode() for kind in kinds]  # quotes in a text are escaped: no text has one
        try:
            for line in self._segments.lines():
                if line.payload is not None and any(mark in line.payload for mark in marks):
                    yield from (event for event in events_of(line) if event.kind in kinds)
        except OSError as error:
            raise self._unreadable(error) from error

    def append(self, *events: Event) -> None:
        """Write events that belong together: after a crash all of them are there, or none.

        Raises OSError where they cannot be written, and where another driver has begun to write.
        """
        number = self._segments.appends + 1
        self._segments.append(f"{number} {to_json(events)}".encode())
        self._segments.appends = number

    def __enter__(self) -> Self:
        """Become the one writer, cut a torn last append off and start a segment; a folder is made if need be.

        Raises UserError where another process writes or the ledger is damaged, or cannot be reached; no segment has
        changed then.
        """
        try:
            self._segments.open()
        except OSError as error:
            raise UserError(f"{self.folder}: the ledger cannot be written: {one_line(error)}") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let another driver write."""
        self._segments.close()

    def _unreadable(self, error: OSError) -> UserError:
        return UserError(f"{self.folder}: the ledger cannot be read: {one_line(error)}")

    def _events(self) -> Iterator[Event]:
        for line in self._segments.lines():
            yield from events_of(line)


@dataclass(frozen=True, slots=True)
class PastEvents:
    """The first ``count`` events of the ledger of ``folder``, or all, read anew by everyone who goes through them."""

    folder: Path
    count: int | None = None

    def __iter__(self) -> Iterator[Event]:
        return islice(Ledger(self.folder).replay(), self.count)


def events_of(line: Line) -> tuple[Event, ...]:
    """The events of a whole line. Raises UserError, with file and line, for what this version does not know."""
    assert line.payload is not None
    try:
        return from_json(line.payload.partition(b" ")[2])
    except UserError as newer:
        raise UserError(f"{line.segment}:{line.number}: {newer}") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UserError(
            f"{line.segment}:{line.number}: whole, but not an event that this version knows: {where}: {first['msg']}"
        ) from error
