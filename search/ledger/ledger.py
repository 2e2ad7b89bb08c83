"""The ledger: all events of a study, in order. All other data of a study are derived from the ledger.

The events are appended to files in a folder (``search/ledger/segments.py``). Either all events of an append are stored
or none is. Once ``append`` returns, its events survive a power cut. If the last append is torn (incomplete), its line
is dropped, and ``Ledger.cut`` says so. Damage anywhere else is an error. Only one driver can write at a time.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar

from pydantic import ValidationError

from skipstack.data.basis.errors import UserError, newer, older, one_line
from skipstack.search.ledger.events import FORMAT, Event, Extended, format_of, from_json, to_json
from skipstack.search.ledger.lines import Line, compacted
from skipstack.search.ledger.segments import WORTH_COMPACTING, Checked, Segments, Version

ADDRESS: Final = "address"
"""The file in which version 0.1.0 wrote the address of a ledger on an object store."""

Value = TypeVar("Value")

RARE: Final = frozenset({"extended", "finished", "noted", "placed", "renamed", "resumed"})
"""Kinds of events of which each run of a study writes only a few."""

READINGS: Final = 3
"""The maximum number of attempts to read a ledger while compactions remove files that are being read."""


class Ledger(Segments):
    """Reads and writes the ledger of one study, in the ledger's ``folder``. A line of a segment holds the events of an
    append.

    Reading needs no lock. Writing takes a lock, so that only one driver writes at a time::

        with Ledger(folder) as ledger:
            past = ledger.read()
            ledger.append(Reported(...), Decided(...))

    ``worth_compacting``: a ledger with at least this number of appends outside the compacted file is compacted when it
    is opened for writing. Raises UserError for a ledger on an object store, without contacting the store.
    """

    def __init__(self, folder: Path, *, worth_compacting: int = WORTH_COMPACTING) -> None:
        if (folder / ADDRESS).exists():
            raise UserError(
                f"{folder / ADDRESS}: this ledger lies on an object store (allowed: one in its study's folder); "
                "docs/guide/clusters.md says how its events are copied back"
            )
        super().__init__(folder, worth_compacting=worth_compacting)

    def read(self) -> list[Event]:
        """Read all events in order; none if there is no ledger yet. Raises UserError as ``whole`` does."""
        return self.whole(lambda: list(self._events()))

    def whole(self, reading: Callable[[], Value]) -> Value:
        """Call ``reading``, which reads ``lines`` or ``files`` from their start, and return its result.

        A compaction may remove files during the call. The call is then repeated, up to ``READINGS`` calls in all.
        Raises UserError, with file and line, on damage before the last line and on unknown events. Raises UserError
        also if a segment is missing or the ledger cannot be read.
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

    def replay(self) -> Iterator[Event]:
        """Yields all events in order, without keeping them in memory. Raises UserError when the iteration reaches
        damage. Raises UserError also if another driver's compaction removes files, where ``read`` would start again.
        """
        try:
            yield from self._events()
        except OSError as error:
            raise self._unreadable(error) from error

    def packed(self) -> bytes:
        """Return the whole ledger as one compacted file. Raises UserError on damage, OSError for an unreadable file."""
        return compacted(self.lines())

    def extensions(self) -> Iterator[Extended]:
        """Yield the events that extended the study."""
        return (event for event in self.only("extended") if isinstance(event, Extended))

    def only(self, *kinds: str) -> Iterator[Event]:
        """Yields the events of the given kinds, much faster than reading all events. Raises UserError as ``replay``
        does.

        If all kinds are in ``RARE``, the events are cached until the ledger changes. Nothing is cached if the ledger
        changed within the last ``segments.SETTLED`` seconds.
        """
        try:
            known = self._survey() if set(kinds) <= RARE else None
            found = _found(self.lines(), kinds) if known is None else known.events
            yield from (event for event in found if event.kind in kinds)
        except OSError as error:
            raise self._unreadable(error) from error

    def _survey(self) -> "_Survey | None":
        version = self.version()
        return None if version is None else _surveyed(self.folder, version)

    def _known(self) -> Checked | None:
        known = self._survey()
        return None if known is None else known.checked

    def append(self, *events: Event) -> None:
        """Append events that belong together: after a crash, either all of them are stored or none. Raises OSError if
        they cannot be written, or if another driver has started to write.
        """
        number = self.appends + 1
        self.append_line(f"{number} {to_json(events)}".encode())
        self.appends = number

    def __enter__(self) -> Self:
        """Lock the ledger, cut a torn last append, and start a segment. Creates a missing folder.

        Raises UserError if another process is writing or the ledger is damaged; then no segment has changed. Raises
        UserError also if the ledger cannot be written.
        """
        try:
            self.open(self._known)
        except OSError as error:
            raise UserError(f"{self.folder}: the ledger cannot be written: {one_line(error)}") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Release the lock."""
        self.close()

    def _unreadable(self, error: OSError) -> UserError:
        return UserError(f"{self.folder}: the ledger cannot be read: {one_line(error)}")

    def _events(self) -> Iterator[Event]:
        for line in self.lines():
            yield from events_of(line)


@dataclass(frozen=True, slots=True)
class _Survey:
    """The result of reading a whole ledger. ``checked``: the check of its lines. ``events``: its events in ``RARE``."""

    checked: Checked
    events: tuple[Event, ...]


@lru_cache(maxsize=4)
def _surveyed(folder: Path, version: Version) -> _Survey:
    """Read the whole ledger in ``folder``. ``version``: the cache key. Raises UserError as ``Segments.lines`` does."""
    events = list[Event]()
    checked = Segments(folder).checked(lambda line: events.extend(_found([line], RARE)))
    return _Survey(checked, tuple(events))


def _found(lines: Iterable[Line], kinds: Collection[str]) -> Iterator[Event]:
    """Yields the events of the given kinds. Only lines that contain such a kind are parsed."""
    marks = [f'"kind":"{kind}"'.encode() for kind in kinds]  # never inside a JSON string, where quotes are escaped
    for line in lines:
        if line.payload is not None and any(mark in line.payload for mark in marks):
            yield from (event for event in events_of(line) if event.kind in kinds)


@dataclass(frozen=True, slots=True)
class PastEvents:
    """The first ``count`` events of the ledger in ``folder``; None means all. Each iteration reads the disk again."""

    folder: Path
    count: int | None = None

    def __iter__(self) -> Iterator[Event]:
        return islice(Ledger(self.folder).replay(), self.count)


def events_of(line: Line) -> tuple[Event, ...]:
    """Parse an undamaged line. Raises UserError, with file and line, for another format and for unknown events."""
    assert line.payload is not None
    text = line.payload.partition(b" ")[2]
    if (found := format_of(text) or FORMAT) != FORMAT:
        what, study = f"{line.segment}:{line.number}: a ledger", Path(line.segment).parent.parent
        raise newer(what, found, FORMAT) if found > FORMAT else older(f"{what} of format {found}", study)
    try:
        return from_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UserError(
            f"{line.segment}:{line.number}: whole, but not an event that this version knows: {where}: {first['msg']}"
        ) from error
