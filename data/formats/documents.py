"""Finds the documents of a file by the lines that begin them."""

from bisect import bisect_right

from skipstack.data.formats.files import SourceFile


class Documents:
    """The documents of a file: each begins at a line that starts with ``mark``."""

    def __init__(self, file: SourceFile, encoding: str, mark: str) -> None:
        self._path = file.path
        self._begins = [number for number, line in file.lines(encoding) if line.startswith(mark)]

    def at(self, number: int) -> str | None:
        """Where the document of a line begins; None in a file that does not tell documents apart."""
        before = bisect_right(self._begins, number)
        return f"{self._path}:{self._begins[before - 1] if before else 1}" if self._begins else None
