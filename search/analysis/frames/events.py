"""Frames of the ledger's events, and of the CPU, GPU and memory use of workers."""

import json
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pydantic_core

from skipstack.search.analysis.frames.columns import COLUMNS, typed_frame
from skipstack.search.ledger.ledger import Ledger, PastEvents, events_of


def numbered_events(ledger: Ledger, count: int | None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and the parsed JSON of each of the first ``count`` events; None means all. Raises UserError when
    the iteration reaches damage. Call this only in a function passed to ``Ledger.whole``.
    """
    number = 0
    for line in ledger.lines():
        assert line.payload is not None
        try:
            together = pydantic_core.from_json(line.payload.partition(b" ")[2])
        except ValueError:
            events_of(line)  # raises UserError with file and line
            raise
        for plain in together:
            if number == count:
                return
            yield number, plain
            number += 1


def events(past: PastEvents) -> pd.DataFrame:
    """Return the frame ``events`` (see ``COLUMNS``). Raises UserError as ``Ledger.whole`` does."""
    ledger = Ledger(past.folder)
    rows = ledger.whole(
        lambda: [
            (number, plain["time"], plain["kind"], plain.get("trial"), json.dumps(plain, separators=(",", ":")))
            for number, plain in numbered_events(ledger, past.count)
        ]
    )
    names = [column.name for column in COLUMNS["events"]]
    return typed_frame("events", {name: [row[place] for row in rows] for place, name in enumerate(names)})


def usage(past: PastEvents) -> pd.DataFrame:
    """Return the frame ``usage`` (see ``COLUMNS``). Raises UserError as ``Ledger.whole`` does."""
    ledger = Ledger(past.folder)
    rows = ledger.whole(
        lambda: [
            {**plain, **plain["usage"], "event": number}
            for number, plain in numbered_events(ledger, past.count)
            if plain["kind"] == "used"
        ]
    )
    return typed_frame("usage", {column.name: [row[column.name] for row in rows] for column in COLUMNS["usage"]})
