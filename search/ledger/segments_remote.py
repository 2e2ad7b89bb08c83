"""Segments on an object store, or in any folder by its URI: an append is an object, and no object is ever changed.

Each time a driver begins to write, it begins a term, a folder called by the term's number and its driver::

    000003-9f0c1d2e/00000000.jsonl      what this term goes on from: the folder of an earlier one, and how many appends
    000003-9f0c1d2e/00000001.jsonl      of it count; then an append each, one line
    000002-77ab03c4-00000057.parquet    everything up to the 57th append of that term
    lease/9f0c1d2e.json                 who writes, and how long (``search/ledger/lease.py``)

A driver whose lease ran out while its last request was on the way may still put an object into its own term. Whoever
came after it has said how many appends of that term count, so that object never does: the append did not return.

An append returns when its object is there. Objects come whole; a last one that is damaged nevertheless is cut.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, final

from skipstack.data.basis.errors import UserError
from skipstack.search.ledger.lease import CLAIM, Lease
from skipstack.search.ledger.object_store import ObjectStore
from skipstack.search.ledger.segments import Line, Segments, damaged, decoded, encoded

WORTH_COMPACTING = 1_000
"""Appends outside of the Parquet file that make it worth its time to write another: each costs readers a request."""

SEGMENT = re.compile(r"(\d{6}-[0-9a-f]{8})/(\d{8})\.jsonl")
COMPACTED = re.compile(r"(\d{6}-[0-9a-f]{8})-(\d{8})\.parquet")


class _Place(NamedTuple):
    """After ``appends`` appends of the term ``term``."""

    term: str
    appends: int


@dataclass(frozen=True, slots=True)
class _Content:
    """What counts, the newest Parquet file and the appends after it; and every term and Parquet file that is there."""

    compacted: _Place | None
    appends: tuple[_Place, ...]
    terms: tuple[str, ...]
    files: tuple[_Place, ...]

    @property
    def end(self) -> _Place | None:
        """The last append that counts; None where there is none."""
        return self.appends[-1] if self.appends else self.compacted


@final
class RemoteSegments(Segments):
    """The segments in ``store``. One driver at a time writes: it holds the lease. ``clock`` gives Unix seconds."""

    def __init__(
        self, store: ObjectStore, clock: Callable[[], float], *, worth_compacting: int = WORTH_COMPACTING
    ) -> None:
        super().__init__()
        self._store = store
        self._worth_compacting = worth_compacting
        self.lease = Lease(store, clock)
        self._last: _Place | None = None

    def lines(self) -> Iterator[Line]:
        """The whole lines of all segments in order; see ``Segments``."""
        return self._whole(self._lines(self._content()))

    def open(self) -> None:
        """Take the lease and begin a term."""
        self.lease.take()
        try:
            self._begin()
        except BaseException:
            self.lease.release()
            raise

    def append(self, payload: bytes) -> None:
        """Write one line as an object; where there are many, compact them and begin another term first."""
        assert self._last is not None, "the ledger is not open for writing"
        if self._last.appends >= self._worth_compacting:
            self._begin()
        place = _Place(self._last.term, self._last.appends + 1)
        self.lease.check()
        self._store.write(_segment(place), encoded(payload))
        self.lease.check()  # else another driver may have begun before the object was there
        self._last = place

    def close(self) -> None:
        """Hand the lease back."""
        self._last = None
        self.lease.release()

    def _begin(self) -> None:
        """Say what counts of the past, and begin a term after it. What is old goes only once that is known."""
        content = self._content()
        lines = list(self._whole(self._lines(content)))
        end = content.end
        if end is not None and self.cut is not None:
            end = _Place(end.term, end.appends - 1)
        worth = end is not None and len(content.appends) >= self._worth_compacting
        if worth and end is not None:
            self._compact(lines, end)
        number = 1 + max(map(_number, content.terms), default=0)
        first = _Place(f"{number:06d}-{self.lease.owner}", 0)
        self.lease.check()
        self._store.write(_segment(first), encoded(json.dumps({"after": end}).encode()))
        self.lease.check()
        self._last = first
        if worth:
            for term in content.terms:
                self._store.remove_folder(term)
            for place in content.files:
                self._store.remove(_compacted(place))

    def _compact(self, lines: list[Line], end: _Place) -> None:
        """One Parquet file of everything, read back before anybody goes on from it."""
        from skipstack.search.ledger.compaction import compacted, lines_in, same

        name = _compacted(end)
        self._store.write(name, compacted(lines))
        if not same(lines_in(self._store.read(name), name), lines):
            raise OSError(f"{self._at(name)}: does not read as it was written")

    def _content(self) -> _Content:
        """What there is. Raises UserError where an object is missing."""
        terms: dict[str, list[int]] = {}
        files: list[_Place] = []
        for name in self._store.names():
            if found := SEGMENT.fullmatch(name):
                terms.setdefault(found[1], []).append(int(found[2]))
            elif found := COMPACTED.fullmatch(name):
                files.append(_Place(found[1], int(found[2])))
        begun = [term for term, numbers in terms.items() if 0 in numbers]
        if not begun:
            if files or terms:
                raise self._missing("the first object of its last term")
            return _Content(None, (), (), ())
        # Two drivers never both append to terms of one number; one that lost its lease at once may have begun one.
        last = max(begun, key=lambda term: (_number(term), len(terms[term])))
        place: _Place | None = _Place(last, max(terms[last]))
        appends: list[_Place] = []
        compacted: _Place | None = None
        while place is not None and compacted is None:
            there = set(terms.get(place.term, ()))
            fitting = [each for each in files if each.term == place.term and each.appends <= place.appends]
            compacted = max(fitting, default=None)
            for number in range(place.appends, compacted.appends if compacted else 0, -1):
                if number not in there:
                    raise self._missing(_segment(_Place(place.term, number)))
                appends.append(_Place(place.term, number))
            place = None if compacted else self._before(place.term)
        return _Content(compacted, tuple(reversed(appends)), tuple(terms), tuple(files))

    def _before(self, term: str) -> _Place | None:
        """What a term goes on from."""
        name = _segment(_Place(term, 0))
        try:
            payload = decoded(self._store.read(name))
        except FileNotFoundError:
            raise self._missing(name) from None
        if payload is None:
            raise damaged(self._at(name))
        after = json.loads(payload)["after"]
        return None if after is None else _Place(*after)

    def _lines(self, content: _Content) -> Iterator[Line]:
        if content.compacted is not None:
            from skipstack.search.ledger.compaction import lines_in  # Parquet is loaded where there is some

            name = _compacted(content.compacted)
            yield from lines_in(self._store.read(name), self._at(name))
        names = [_segment(place) for place in content.appends]
        for name, text in zip(names, self._store.read_all(names), strict=True):
            yield Line(self._at(name), 1, decoded(text))

    def _at(self, name: str) -> str:
        return f"{self._store.address}: {name}"

    def _missing(self, name: str) -> UserError:
        return UserError(f"{self._at(name)} is missing (allowed: no gaps); restore it from a copy")


def discard(store: ObjectStore) -> None:
    """Remove a ledger and nothing else that lies in ``store``."""
    for name in store.names():
        if SEGMENT.fullmatch(name) or COMPACTED.fullmatch(name) or CLAIM.fullmatch(name):
            store.remove(name)


def _number(term: str) -> int:
    return int(term.partition("-")[0])


def _segment(place: _Place) -> str:
    return f"{place.term}/{place.appends:08d}.jsonl"


def _compacted(place: _Place) -> str:
    return f"{place.term}-{place.appends:08d}.parquet"
