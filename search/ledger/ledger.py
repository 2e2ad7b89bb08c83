"""The ledger: all events of a study, in order. Everything else is derived from it.

Its appends are stored in a folder (``search/ledger/segments.py``). Events of one append are all stored or none is; an
append that returned is durable; a torn last one is cut, and ``Ledger.cut`` says so; damage anywhere else is an error;
one driver at a time writes.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar

from pydantic import ValidationError

from skipstack.data.basis.errors import UserError, newer, older, one_line
from skipstack.search.ledger.events import FORMAT, Event, Extended, format_of, from_json, to_json
from skipstack.search.ledger.lines import SUFFIX, Line, compacted
from skipstack.search.ledger.segments import WORTH_COMPACTING, Checked, Segments, Version

ADDRESS: Final = "address"
"""The file with the address of a ledger that version 0.1.0 wrote to an object store."""

Value = TypeVar("Value")

RARE: Final = frozenset({"extended", "finished", "placed", "resumed"})
"""The kinds of events of which each run of a study writes one or two."""

READINGS: Final = 3
"""Maximum number of attempts to read a ledger, while a compaction removes files that are being read."""


class Ledger:
    """The events of one study, in the folder of its ledger.

    Reading needs no lock. Writing takes one, so that one driver at a time writes::

        with Ledger(folder) as ledger:
            past = ledger.read()
            ledger.append(Reported(...), Decided(...))

    ``worth_compacting``: the number of appends outside of the compacted file from which opening the ledger for writing
    compacts it first. Raises UserError for a ledger on an object store, which is never contacted.
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
        """A line about a torn append that reading or opening dropped; None if there was none."""
        return self._segments.cut

    def read(self) -> list[Event]:
        """Read all events in order; none if there is no ledger yet. Changes nothing.

        Raises UserError as ``whole`` does.
        """
        return self.whole(lambda: list(self._events()))

    def whole(self, reading: Callable[[], Value]) -> Value:
        """The result of a ``reading`` of the ledger from its start.

        The reading is repeated up to ``READINGS`` times if a compaction removes files meanwhile. Raises UserError, with
        file and line, on damage before the last line, on events that this version does not know, on a missing segment,
        and if the ledger cannot be read.
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
        """The files of its lines, in order; to be called within ``whole``."""
        return self._segments.files()

    def lines(self) -> Iterator[Line]:
        """The whole lines in order, one per append; to be called within ``whole``."""
        return self._segments.lines()

    def replay(self) -> Iterator[Event]:
        """Iterate over all events in order, without keeping them in memory. For the driver that writes the ledger: a
        compaction by another one would interrupt it.

        Raises UserError as ``read`` does, when it reaches the damage.
        """
        try:
            yield from self._events()
        except OSError as error:
            raise self._unreadable(error) from error

    def packed(self) -> bytes:
        """The whole ledger as one file, as compaction writes it. Raises UserError as ``replay`` does."""
        return compacted(self._segments.lines())

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep drivers from writing, without changing anything. Raises UserError if one writes.

        A folder that cannot be written needs no lock.
        """
        with self._segments.locked():
            yield

    @property
    def is_written(self) -> bool:
        """Whether a driver writes it now."""
        try:
            with self.kept():
                return False
        except UserError:
            return True

    def extensions(self) -> Iterator[Extended]:
        """The events that extended the study."""
        return (event for event in self.only("extended") if isinstance(event, Extended))

    def only(self, *kinds: str) -> Iterator[Event]:
        """The events of these kinds, much faster than reading all. Raises UserError as ``replay`` does.

        Events of kinds in ``RARE`` are cached until the ledger changes.
        """
        try:
            known = self._survey() if set(kinds) <= RARE else None
            found = _found(self._segments.lines(), kinds) if known is None else known.events
            yield from (event for event in found if event.kind in kinds)
        except OSError as error:
            raise self._unreadable(error) from error

    def _survey(self) -> "_Survey | None":
        version = self._segments.version()
        return None if version is None else _surveyed(self.folder, version)

    def _checked(self) -> Checked | None:
        known = self._survey()
        return None if known is None else known.checked

    def append(self, *events: Event) -> None:
        """Append events that belong together: after a crash all of them are stored, or none.

        Raises OSError if they cannot be written, or another driver has started to write.
        """
        number = self._segments.appends + 1
        self._segments.append(f"{number} {to_json(events)}".encode())
        self._segments.appends = number

    def __enter__(self) -> Self:
        """Lock the ledger, cut a torn last append and start a segment; the folder is created if needed.

        Raises UserError if another process writes, or if the ledger is damaged or cannot be written; then no segment
        has changed.
        """
        try:
            self._segments.open(self._checked)
        except OSError as error:
            raise UserError(f"{self.folder}: the ledger cannot be written: {one_line(error)}") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Release the lock."""
        self._segments.close()

    def _unreadable(self, error: OSError) -> UserError:
        return UserError(f"{self.folder}: the ledger cannot be read: {one_line(error)}")

    def _events(self) -> Iterator[Event]:
        for line in self._segments.lines():
            yield from events_of(line)


@dataclass(frozen=True, slots=True)
class _Survey:
    """A ledger that was read whole: what was found of its lines, and its events of kinds in ``RARE``."""

    checked: Checked
    events: tuple[Event, ...]


@lru_cache(maxsize=4)
def _surveyed(folder: Path, version: Version) -> _Survey:
    """The survey of the ledger in ``folder``, which has this version. Raises as ``Segments.lines`` does."""
    segments = Segments(folder)
    loose, events = 0, list[Event]()
    for line in segments.lines():
        loose += not line.segment.endswith(SUFFIX)
        events += _found([line], RARE)
    return _Survey(Checked(segments.appends, loose, segments.cut), tuple(events))


def _found(lines: Iterable[Line], kinds: Collection[str]) -> Iterator[Event]:
    """The events of these kinds in whole lines; other lines are not parsed."""
    marks = [f'"kind":"{kind}"'.encode() for kind in kinds]  # quotes in texts are escaped: no text contains one
    for line in lines:
        if line.payload is not None and any(mark in line.payload for mark in marks):
            yield from (event for event in events_of(line) if event.kind in kinds)


@dataclass(frozen=True, slots=True)
class PastEvents:
    """The first ``count`` events of the ledger in ``folder``, or all; each iteration reads them from the disk."""

    folder: Path
    count: int | None = None

    def __iter__(self) -> Iterator[Event]:
        return islice(Ledger(self.folder).replay(), self.count)


def events_of(line: Line) -> tuple[Event, ...]:
    """The events of a whole line. Raises UserError, with file and line, for another format, and for events that this
    version does not know.
    """
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
