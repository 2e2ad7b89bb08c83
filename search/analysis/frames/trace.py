"""From a number of a report back to the ledger: the events that the rows are from which it was made of.

A number is made of rows of frames, and a row names its events in the columns that end in ``event``.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
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
"""Events, at most, that are told one by one."""

MOST_LINES: Final = 5
"""Lines about what an event says."""

WIDTH: Final = 80
"""Signs of a line."""


@dataclass(frozen=True, slots=True)
class Traced:
    """A number as a report shows it, by its name, and the numbers of the events that it was made of."""

    name: str
    shown: str
    events: tuple[int, ...]


def made_of(*rows: "pd.DataFrame | pd.Series[Any]") -> tuple[int, ...]:
    """The numbers of all events that rows of frames are from, or that columns of events have, ascending, each once."""
    columns = [column for each in rows for column in (_events(each) if isinstance(each, pd.DataFrame) else (each,))]
    return tuple(sorted({int(number) for column in columns for number in column.dropna().tolist()}))


def _events(frame: pd.DataFrame) -> "list[pd.Series[Any]]":
    return [frame[name] for name in frame.columns if name == "event" or name.endswith("_event")]


def of_numbers(about: str, values: Mapping[str, Any], events: Callable[[str], tuple[int, ...]]) -> Iterator[Traced]:
    """Each of the values ``about`` something that is a number; ``events``: from its name to what it was made of."""
    for name, value in values.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield Traced(f"{about}: {name}", _text(value), events(name))


def lines(past: PastEvents, traced: Sequence[Traced]) -> Iterator[str]:
    """What a reader is told of each number: its name, and below it the events that it was made of.

    A few are told one by one: number, time, kind and where it stands, the file of the ledger and its line; below that
    what it says, as far as it fits. Of more there are their numbers, or the name of the first number that was made of
    the same ones; ``Study.events()`` has them. Raises UserError as ``Ledger.replay`` does.
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
    """Numbers of events, those that follow one another as a range."""
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
    """What an event says, but for what stands in the line above."""
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
