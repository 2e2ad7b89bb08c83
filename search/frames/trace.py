"""From a number of a report back to the ledger: the events that the rows are from which it was made of.

A number is made of rows of frames, and a row names its events in the columns that end in ``event``.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from textwrap import wrap
from typing import Any, Final

import pandas as pd

from skipstack.data.basis.printable import visible
from skipstack.search.frames.events import Told, told
from skipstack.search.ledger.ledger import Past

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


def made_of(*rows: pd.DataFrame) -> tuple[int, ...]:
    """The numbers of all events that rows of frames are from, ascending, each once."""
    named = [frame[name] for frame in rows for name in frame.columns if name == "event" or name.endswith("_event")]
    return tuple(sorted({int(number) for column in named for number in column.dropna()}))


def lines(past: Past, traced: Sequence[Traced]) -> Iterator[str]:
    """What a reader is told of each number: its name, and below it the events that it was made of.

    A few are told one by one: number, time, kind and where it stands, the file of the ledger and its line; below that
    what it says, as far as it fits. Of more there are their numbers; ``Study.events()`` has them. Raises UserError as
    ``Ledger.replay`` does.
    """
    wanted = {number for each in traced for number in each.events if len(each.events) <= FEW}
    found: dict[int, Told] = {each.number: each for each in told(past) if each.number in wanted}
    for each in traced:
        yield f"{each.name}: {each.shown}"
        if len(each.events) > FEW:
            yield from _numbers(each.events)
        for number in each.events if len(each.events) <= FEW else ():
            yield from _lines(found[number])


def _numbers(events: Sequence[int]) -> Iterator[str]:
    """Numbers of events, those that follow one another as a range."""
    starts = [place for place, number in enumerate(events) if not place or number != events[place - 1] + 1]
    ends = [*starts[1:], len(events)]
    runs = [(events[start], events[end - 1]) for start, end in zip(starts, ends, strict=True)]
    text = ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in runs)
    head = f"  {len(events)} events: "
    yield from wrap(text, WIDTH, initial_indent=head, subsequent_indent="    ", break_on_hyphens=False)


def _lines(event: Told) -> Iterator[str]:
    time = datetime.fromtimestamp(event.plain["time"], UTC).strftime("%Y-%m-%d %H:%M:%S")
    place = f"{Path(event.line.segment).name}:{event.line.number}"
    yield f"  event {event.number}  {time}  {event.plain['kind']}  {place}"
    said = wrap(visible(_said(event.plain)), WIDTH, initial_indent="    ", subsequent_indent="    ")
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
