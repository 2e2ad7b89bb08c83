"""Following a ledger: another process reads what its driver appends, as it comes."""

import os
from collections.abc import Iterator
from pathlib import Path

from skipstack.data.basis.atomic_files import fsync_path
from skipstack.data.basis.ordinary_files import opened
from skipstack.search.ledger.events import Event
from skipstack.search.ledger.ledger import Ledger, events_of
from skipstack.search.ledger.lines import SUFFIX, Line, damaged, decoded, lines_in


class Following:
    """The events of the ledger in ``folder``, each once, however often they are asked for."""

    def __init__(self, folder: Path) -> None:
        self._ledger = Ledger(folder)
        self._appends = 0
        self._file: Path | None = None
        self._place = 0
        self._lines = 0

    def events(self) -> Iterator[Event]:
        """The events that were not read yet, up to the last that is on the disk for good. Changes nothing.

        A reading that fails, or that is left, goes on with the next: after the last append of which an event was read.
        Raises OSError where a file cannot be read, and UserError, with file and line, as ``Ledger.read`` does.
        """
        for line in self._unread():
            events = events_of(line)
            self._appends += 1
            yield from events

    def lines(self) -> Iterator[Line]:
        """The same as lines, one an append, which are not understood yet."""
        for line in self._unread():
            self._appends += 1
            yield line

    def _unread(self) -> Iterator[Line]:
        for file in self._ledger.files():
            if self._file is None or file.name >= self._file.name:
                yield from self._unread_in(file)

    def _unread_in(self, file: Path) -> Iterator[Line]:
        if file != self._file:
            self._file, self._place, self._lines = file, 0, 0
        for line in lines_in(file) if file.name.endswith(SUFFIX) else self._added(file):
            assert line.payload is not None
            number = line.payload.partition(b" ")[0]
            if number.isdigit() and int(number) <= self._appends:
                continue  # a compacted file is read from its beginning
            if number != b"%d" % (self._appends + 1):
                found = number.decode(errors="replace")[:20]
                raise damaged(
                    f"{line.segment}:{line.number}", f"append {found} stands where append {self._appends + 1} should"
                )
            yield line

    def _added(self, file: Path) -> Iterator[Line]:
        """The whole lines that a segment has beyond the place where the last reading ended."""
        end = file.stat().st_size
        if end == self._place:
            return
        if os.access(file, os.W_OK):  # else nobody adds to it
            fsync_path(file)  # the driver's own call may still be under way, and a power cut would take the line back
        with opened(file) as segment:
            segment.seek(self._place)
            while (text := segment.readline()) and (place := self._place + len(text)) <= end:
                if (payload := decoded(text)) is None:
                    if text.endswith(b"\n") and segment.read(1):
                        raise damaged(f"{file}:{self._lines + 1}")
                    return  # torn, or not yet whole
                yield Line(str(file), self._lines + 1, payload)
                self._place, self._lines = place, self._lines + 1
