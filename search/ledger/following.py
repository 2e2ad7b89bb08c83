"""Follows a ledger: reads the events while another process, the driver, appends them."""

import os
from collections.abc import Iterator
from pathlib import Path

from skipstack.data.basis.atomic_files import fsync_path
from skipstack.data.basis.ordinary_files import opened
from skipstack.search.ledger.events import Event
from skipstack.search.ledger.ledger import Ledger, events_of
from skipstack.search.ledger.lines import SUFFIX, Line, check_append, damaged, decoded, lines_in


class Following:
    """Follows the ledger in ``folder``. Each call of ``events`` or ``lines`` yields only new events or lines."""

    def __init__(self, folder: Path) -> None:
        self._ledger = Ledger(folder)
        self._appends = 0
        self._file: Path | None = None
        self._place = 0
        self._lines = 0

    def events(self) -> Iterator[Event]:
        """Yields the new events, up to the last complete append. Their lines are flushed to the disk before they are
        yielded, if this user can write the file.

        If an iteration fails or is abandoned, the next call continues after the last append of which an event was
        yielded. Raises OSError if a file cannot be read, and UserError as ``Ledger.read`` does.
        """
        for line in self._unread():
            events = events_of(line)
            self._appends += 1
            yield from events

    def lines(self) -> Iterator[Line]:
        """Yields the new lines, one for each append, without parsing their events. Raises the errors of ``events``."""
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
                continue  # already yielded: a compacted file is read from its beginning
            check_append(line, self._appends + 1)
            yield line

    def _added(self, file: Path) -> Iterator[Line]:
        """Yields the complete lines that were added to a segment since the last reading."""
        end = file.stat().st_size
        if end == self._place:
            return
        if os.access(file, os.W_OK):  # skipped for a file that only other users can write, or nobody
            fsync_path(file)  # the driver may not have called fsync yet, and a power cut could undo the line
        with opened(file) as segment:
            segment.seek(self._place)
            while (text := segment.readline()) and (place := self._place + len(text)) <= end:
                if (payload := decoded(text)) is None:
                    if text.endswith(b"\n") and segment.read(1):
                        raise damaged(f"{file}:{self._lines + 1}")
                    return  # the last line is torn, or still being written
                yield Line(str(file), self._lines + 1, payload)
                self._place, self._lines = place, self._lines + 1
