"""The lines of ``make gpu-check`` as tables in Markdown: one for each kind of row."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """A table a kind, with the columns that its rows have; what failed or was skipped says so in the last column."""
    return "\n\n".join(_of_kind(kind, list(of_kind)) for kind, of_kind in groupby(rows, key=lambda row: row["row"]))


def _of_kind(kind: str, rows: list[Mapping[str, Any]]) -> str:
    columns = list(dict.fromkeys(name for row in rows for name in row if name != "row"))
    if len(rows) == 1:  # as of the machine, whose columns would be too many
        lines = [["", ""], ["---", "---"], *([_words(name), _cell(rows[0][name])] for name in columns)]
    else:
        lines = [list(map(_words, columns)), ["---"] * len(columns)]
        lines += [[_cell(row.get(name)) for name in columns] for row in rows]
    return "\n".join((f"**{_words(kind)}**", "", *(f"| {' | '.join(line)} |" for line in lines)))


def _words(name: str) -> str:
    return name.replace("_", " ")


def _cell(value: object) -> str:
    return "" if value is None else f"{value:,}" if isinstance(value, int) and value >= 10_000 else str(value)
