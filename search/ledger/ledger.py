"""The ledger: what happened in a study, in order. Everything else is a reading of it.

Its appends lie in a folder of this machine (``search/ledger/segments_local.py``), or, where that folder holds a file
``address`` with a URI, on an object store (``search/ledger/segments_remote.py``). Both keep the same promises
(``search/ledger/segments.py``): events that belong together are all there or none is; an append that returned is
there for good; a torn last one is cut, and ``Ledger.cut`` says so; damage anywhere else is an error; one driver at a
time writes.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from pydantic import ValidationError

from skipstack.data.basis.errors import UserError, one_line
from skipstack.search.ledger.events import Event, Extended, from_json, to_json
from skipstack.search.ledger.segments import Line, Segments
from skipstack.search.ledger.segments_local import LocalSegments

ADDRESS: Final = "address"
"""The file in a ledger's folder that says, by a URI, where the ledger is instead."""

READINGS: Final = 3
"""How often a ledger is read, at most, until no file of it vanishes meanwhile."""


class Ledger:
    """The events of one study, by its folder.

    Reading needs no lock. Writing does, so that one driver at a time writes::

        with Ledger(folder) as ledger:
            past = ledger.read()
            ledger.append(Reported(...), Decided(...))

    ``clock`` gives Unix seconds, for the lease on an object store. ``worth_compacting``: so many appends outside of a
    Parquet file are brought into one when the ledger is opened for writing; None leaves it to where they lie.
    """

    def __init__(
        self, folder: Path, *, clock: Callable[[], float] = time.time, worth_compacting: int | None = None
    ) -> None:
        self.folder = folder
        self._segments = _segments(folder, clock, worth_compacting)

    @property
    def cut(self) -> str | None:
        """One line about the torn append that a reading or an opening left out; None without one."""
        return self._segments.cut

    def read(self) -> list[Event]:
        """All events in order; none where there is no ledger yet. Changes nothing.

        Reads again, a few times, where a driver that compacts takes files away meanwhile. Raises UserError, with file
        and line, on damage before the last line, on events that this version does not know, on a missing segment, and
        where the ledger cannot be reached.
        """
        for reading in range(READINGS):
            try:
                return list(self._events())
            except FileNotFoundError as error:
                if reading == READINGS - 1:
                    raise self._unreadable(error) from error
            except OSError as error:
                raise self._unreadable(error) from error
        raise AssertionError("every reading returns, is repeated or raises")

    def replay(self) -> Iterator[Event]:
        """All events in order, one after another; nothing is kept in memory. For the one writer: a driver that compacts
        the ledger meanwhile would be in the way.

        Raises UserError as ``read`` does, once it comes to what is wrong.
        """
        try:
            yield from self._events()
        except OSError as error:
            raise self._unreadable(error) from error

    def extensions(self) -> Iterator[Extended]:
        """Those of the events by which the study was extended."""
        return (event for event in self.only("extended") if isinstance(event, Extended))

    def only(self, *kinds: str) -> Iterator[Event]:
        """The events of these kinds, much sooner than all of them. Raises UserError as ``replay`` does."""
        marks = [f'"kind":"{kind}"'.encode() for kind in kinds]  # quotes in a text are escaped: no text has one
        try:
            for line in self._segments.lines():
                if line.payload is not None and any(mark in line.payload for mark in marks):
                    yield from (event for event in _events(line) if event.kind in kinds)
        except OSError as error:
            raise self._unreadable(error) from error

    def append(self, *events: Event) -> None:
        """Write events that belong together: after a crash all of them are there, or none.

        Raises OSError where they cannot be written, and UserError where another driver may write by now.
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
            raise UserError(f"{self._place}: the ledger cannot be written: {one_line(error)}") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let another driver write."""
        self._segments.close()

    @property
    def _place(self) -> str:
        return address_of(self.folder) or str(self.folder)

    def _unreadable(self, error: OSError) -> UserError:
        return UserError(f"{self._place}: the ledger cannot be read: {one_line(error)}")

    def _events(self) -> Iterator[Event]:
        for line in self._segments.lines():
            yield from _events(line)


@dataclass(frozen=True, slots=True)
class Past:
    """The first ``count`` events of the ledger of ``folder``, read anew by everyone who goes through them."""

    folder: Path
    count: int

    def __iter__(self) -> Iterator[Event]:
        return islice(Ledger(self.folder).replay(), self.count)


def point_to(folder: Path, address: str) -> None:
    """Let ``folder``, which is made, say that its ledger lies at ``address``.

    Raises UserError where that is no address, cannot be reached, or a ledger lies there already.
    """
    from skipstack.search.ledger.object_store import ObjectStore

    ObjectStore.at(address)
    folder.mkdir(parents=True)
    (folder / ADDRESS).write_text(f"{address}\n")
    if Ledger(folder).read():
        raise UserError(f"--ledger: {address} holds a ledger already (allowed: a place of its own for each study)")


@contextmanager
def withdrawn_on_failure(folder: Path) -> Iterator[None]:
    """A ledger elsewhere that was just begun for ``folder`` goes again if what follows fails, as the folder does."""
    try:
        yield
    except BaseException:
        if (address := address_of(folder)) is not None:
            from skipstack.search.ledger.object_store import ObjectStore
            from skipstack.search.ledger.segments_remote import discard

            discard(ObjectStore.at(address))
        raise


def address_of(folder: Path) -> str | None:
    """The URI of the ledger that ``folder`` points to; None where it holds the ledger itself."""
    file = folder / ADDRESS
    return file.read_text().strip() if file.exists() else None


def _segments(folder: Path, clock: Callable[[], float], worth_compacting: int | None) -> Segments:
    given = {} if worth_compacting is None else {"worth_compacting": worth_compacting}
    address = address_of(folder)
    if address is None:
        return LocalSegments(folder, **given)
    from skipstack.search.ledger.object_store import ObjectStore  # Arrow is loaded where it is asked for
    from skipstack.search.ledger.segments_remote import RemoteSegments

    return RemoteSegments(ObjectStore.at(address), clock, **given)


def _events(line: Line) -> tuple[Event, ...]:
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
