"""JSON lines: a file with an object of JSON on each line."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from skipstack.data.basis.errors import unknown
from skipstack.data.basis.surrogates import half_pair
from skipstack.data.formats.files import SourceFile

Record = Mapping[str, Any]
"""The values of a record by their keys."""


def objects(file: SourceFile) -> Iterator[tuple[int, Record]]:
    """Yield the object on each line, and the number of the line. Empty lines are skipped.

    Raises UserError, with file and line, for a line that is not an object of JSON, for half of a surrogate pair, which
    is no character, and for bytes that are not UTF-8.
    """
    for number, line in file.lines("utf-8"):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise file.error(number, f"got {line[:40]!r}, allowed: an object of JSON on each line") from error
        if not isinstance(found, dict):
            raise file.error(number, f"got {line[:40]!r}, allowed: an object of JSON, such as {{...}}, on each line")
        if "\\ud" in line.lower() and half_pair(json.dumps(found, ensure_ascii=False)) is not None:
            raise file.error(number, r"got half of a surrogate pair (\ud800 to \udfff), allowed: characters")
        yield number, found


def value_of(file: SourceFile, number: int, record: Record, key: str) -> Any:
    """Return the value of a record at ``key``. Raises UserError, with file and line ``number``, if there is none."""
    if key not in record:
        raise file.error(number, unknown("key", key, record))
    return record[key]
