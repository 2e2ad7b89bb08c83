"""The ledger as frames: all events with their numbers, and the workers' use of their machines."""

import json
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

import pandas as pd
import pydantic_core

from skipstack.search.analysis.frames.columns import COLUMNS, typed_frame
from skipstack.search.ledger.ledger import Ledger, PastEvents, events_of
from skipstack.search.ledger.lines import Line


class NumberedEvent(NamedTuple):
    """An event: its number, its JSON, and its line in the ledger."""

    number: int
    plain: dict[str, Any]
    line: Line


def numbered_events(past: PastEvents) -> Iterator[NumberedEvent]:
    """The events of the ``past`` in their order. Raises UserError as ``Ledger.replay`` does."""
    number = 0
    for line in Ledger(past.folder).lines():
        assert line.payload is not None
        try:
            together = pydantic_core.from_json(line.payload.partition(b" ")[2])
        except ValueError:
            events_of(line)  # raises an error with file and line
            raise
        for plain in together:
            if number == past.count:
                return
            yield NumberedEvent(number, plain, line)
            number += 1


def events(past: PastEvents, numbers: Collection[int] | None = None) -> pd.DataFrame:
    """A row for each event of the ``past``, or for those with these ``numbers``; see ``COLUMNS``.

    Raises UserError as ``Ledger.replay`` does.
    """
    rows = [
        (each.number, each.plain["time"], each.plain["kind"], each.plain.get("trial"), _json(each.plain))
        for each in numbered_events(past)
        if numbers is None or each.number in numbers
    ]
    names = [column.name for column in COLUMNS["events"]]
    return typed_frame("events", {name: [row[place] for row in rows] for place, name in enumerate(names)})


def usage(past: PastEvents) -> pd.DataFrame:
    """A row for each epoch of the search for which its worker's use of its machine was measured; see ``COLUMNS``.

    Raises UserError as ``Ledger.replay`` does.
    """
    rows = [
        {**each.plain, **each.plain["usage"], "event": each.number}
        for each in numbered_events(past)
        if each.plain["kind"] == "used"
    ]
    return typed_frame("usage", {column.name: [row[column.name] for row in rows] for column in COLUMNS["usage"]})


def _json(plain: dict[str, Any]) -> str:
    return json.dumps(plain, separators=(",", ":"))
