"""Traces each number of a report back to the events of the ledger from which it was computed.

A number is computed from rows of frames, and a row has the numbers of its events in the columns that end in ``event``.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from textwrap import wrap
from typing import Any, Final

import pandas as pd

from skipstack.data.basis.printable import visible
from skipstack.search.analysis.frames.events import NumberedEvent, numbered_events
from skipstack.search.ledger.ledger import PastEvents

FEW: Final = 4
"""The maximum number of events that are printed one by one."""

MOST_LINES: Final = 5
"""The maximum number of lines for the content of an event."""

WIDTH: Final = 80
"""Characters per line."""


@dataclass(frozen=True, slots=True)
class Traced:
    """A number in a report: its name, its printed value, and the numbers of the events it was computed from."""

    name: str
    shown: str
    events: tuple[int, ...]


def made_of(*rows: "pd.DataFrame | pd.Series[Any]") -> tuple[int, ...]:
    """The distinct event numbers in rows of frames, or in columns of event numbers, ascending."""
    columns = [column for each in rows for column in (_events(each) if isinstance(each, pd.DataFrame) else (each,))]
    return tuple(sorted({int(number) for column in columns for number in column.dropna().tolist()}))


def united(*events: Iterable[int]) -> tuple[int, ...]:
    """Numbers of events, ascending, each once."""
    return tuple(sorted({number for each in events for number in each}))


def _events(frame: pd.DataFrame) -> "list[pd.Series[Any]]":
    return [frame[name] for name in frame.columns if name == "event" or name.endswith("_event")]


def of_numbers(about: str, values: Mapping[str, Any], events: Callable[[str], tuple[int, ...]]) -> Iterator[Traced]:
    """Yield each numeric value with the prefix ``about``; ``events``: from a value's name to its events."""
    for name, value in values.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield Traced(f"{about}: {name}", _text(value), events(name))


def lines(past: PastEvents, traced: Sequence[Traced]) -> Iterator[str]:
    """The printed lines for each number: its name, and below it the events from which it was computed.

    Up to ``FEW`` events are printed one by one: number, time, kind, file and line in the ledger, and below that the
    content, as far as it fits. Of more events only the numbers are printed, or the name of the first number with the
    same events; ``Study.events()`` has them. Raises UserError as ``Ledger.replay`` does.
    """
    wanted = {number for each in traced for number in each.events if len(each.events) <= FEW}
    found: dict[int, NumberedEvent] = {each.number: each for each in numbered_events(past) if each.number in wanted}
    first: dict[tuple[int, ...], str] = {}
    for each in traced:
        yield visible(f"{each.name}: {each.shown}")
        if len(each.events) > FEW:
            before = first.setdefault(each.events, each.name)
            yield from _wrapped(each.events, _ranges(each.events) if before is each.name else f"those of {before}")
        for number in each.events if len(each.events) <= FEW else ():
            yield from _lines(found[number])


def _ranges(events: Sequence[int]) -> str:
    """Event numbers as text, consecutive ones as a range."""
    starts = [place for place, number in enumerate(events) if not place or number != events[place - 1] + 1]
    ends = [*starts[1:], len(events)]
    runs = [(events[start], events[end - 1]) for start, end in zip(starts, ends, strict=True)]
    return ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in runs)


def _wrapped(events: Sequence[int], which: str) -> Iterator[str]:
    head = f"  {len(events)} events: "
    yield from wrap(which, WIDTH, initial_indent=head, subsequent_indent="    ", break_on_hyphens=False)


def _lines(event: NumberedEvent) -> Iterator[str]:
    time = datetime.fromtimestamp(event.plain["time"], UTC).strftime("%Y-%m-%d %H:%M:%S")
    place = f"{Path(event.line.segment).name}:{event.line.number}"
    plain = event.plain
    if plain["kind"] == "ablated":
        plain = {"ablation": plain["ablation"], **plain["event"]}
    yield f"  event {event.number}  {time}  {plain['kind']}  {place}"
    said = wrap(visible(_said(plain)), WIDTH, initial_indent="    ", subsequent_indent="    ")
    yield from said[:MOST_LINES]


def _said(plain: Mapping[str, Any]) -> str:
    """The content of an event, without the fields in the line above."""
    left_out = ("time", "kind", "sentences")
    return ", ".join(
        f"{key} {_text(value)}" for key, value in plain.items() if key not in left_out and value not in (None, [], "")
    )


def _text(value: Any) -> str:
    match value:
        case float():
            return f"{value:.6g}"
        case list():
            return " ".join(map(_text, value))
        case dict():
            return " ".join(f"{key}={_text(each)}" for key, each in value.items())
        case _:
            return str(value)
