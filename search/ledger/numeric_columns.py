"""Reads lines that differ only in their numbers as columns.

Most lines of a long ledger do: a report with the decision to go on. Columns take a fraction of the time that an object
for each line takes.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

NUMBER = r"([-+.0-9eE]++)"
"""Any characters of numbers; a text that is no number is detected when its column is parsed."""

Path = tuple[str | int, ...]
"""The position of a number in the JSON of a line: keys and indices."""


@final
class NumericColumns:
    """Collects lines that equal a first one but for their numbers; the first one is not included.

    ``paths``: the positions of the numbers.
    """

    def __init__(self, payload: bytes) -> None:
        self.paths: list[Path] = []
        pattern = r"\d+ " + "".join(self._pattern(json.loads(payload.partition(b" ")[2]), ()))
        self._pattern_of = re.compile(pattern.encode())
        self._rows: list[bytes] = []

    def take(self, payload: bytes) -> bool:
        """Collect a line if it matches the first one; returns whether it does."""
        found = self._pattern_of.fullmatch(payload)
        if found is None:
            return False
        self._rows.append(b",".join(found.groups()))
        return True

    def columns(self) -> NDArray[np.float64]:
        """The numbers of the collected lines, in order: a column for each of ``paths``.

        Raises ValueError for a text that is no number.
        """
        import pyarrow as pa
        import pyarrow.csv as pc

        names = [str(place) for place in range(len(self.paths))]
        if not self._rows:
            return np.empty((0, len(names)))
        table = pc.read_csv(
            pa.BufferReader(b"\n".join(self._rows)),
            pc.ReadOptions(column_names=names, use_threads=False),
            convert_options=pc.ConvertOptions(column_types=dict.fromkeys(names, pa.float64()), null_values=[]),
        )
        return np.stack([table.column(name).to_numpy() for name in names], axis=1)

    def _pattern(self, value: Any, path: Path) -> Iterator[str]:
        match value:
            case dict():
                for place, (key, each) in enumerate(value.items()):
                    yield re.escape(("," if place else "{") + json.dumps(key) + ":")
                    yield from self._pattern(each, (*path, key))
                yield re.escape("}" if value else "{}")
            case list():
                for place, each in enumerate(value):
                    yield re.escape("," if place else "[")
                    yield from self._pattern(each, (*path, place))
                yield re.escape("]" if value else "[]")
            case int() | float() if not isinstance(value, bool):
                self.paths.append(path)
                yield NUMBER
            case _:
                yield re.escape(json.dumps(value))
