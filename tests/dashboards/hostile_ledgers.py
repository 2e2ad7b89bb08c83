"""Ledgers as somebody sends them who means harm: whole lines, with a value in them that nobody expects."""

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from skipstack.search.ledger.events import Event, to_json
from skipstack.search.ledger.lines import encoded

HOSTILE: Final[Sequence[Any]] = (
    *(-1, 0, 1, 2, 10**9, 10**18, 10**30, 10**400, -(10**18), 2**63, 2**31, 2**53 + 1),
    *(0.5, -0.0, 1e-320, 1e18, 1e308, -1e308, "nan", "inf", "-inf"),
    *(None, True, False, "", "x", "..", "../..", "a/b", "x" * 100_000, "\0", "\ud800", "\u202e", "1", "-1"),
    *([], {}, [[]], [None], [0, 0, 0], {"": None}, {"x": {"x": []}}, ["x"], [1e308], [10**30], {"kind": "x"}),
)
"""What stands in place of a value: too large, negative, no number, of another type."""

Path_ = tuple[str | int, ...]


def lines_of(events: Sequence[Event]) -> list[Any]:
    """The events as JSON."""
    return json.loads(to_json(events))  # type: ignore[no-any-return]


def written(folder: Path, events: Sequence[Any]) -> Path:
    """A study's folder whose ledger has these events, each an append of its own."""
    ledger = folder / "ledger"
    ledger.mkdir(parents=True, exist_ok=True)
    payloads = (f"{number} {json.dumps([event])}".encode() for number, event in enumerate(events, 1))
    (ledger / "000001.jsonl").write_bytes(b"".join(map(encoded, payloads)))
    return folder


def places(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """The path of every value within a value, outer ones first."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield (*path, key)
        yield from places(item, (*path, key))


def replaced(value: Any, path: Path_, by: Any) -> Any:
    """The value with another one at a path."""
    if not path:
        return by
    first, *rest = path
    changed: Any = dict(value) if isinstance(value, dict) else list(value)
    changed[first] = replaced(value[first], tuple(rest), by)
    return changed


def without(value: Any, path: Path_) -> Any:
    """The value without the one at a path."""
    *outer, last = path
    inner = value
    for key in outer:
        inner = inner[key]
    kept = {k: v for k, v in inner.items() if k != last} if isinstance(inner, dict) else inner[:-1]
    return replaced(value, tuple(outer), kept)


def hostile(events: Sequence[Any], draw: random.Random) -> tuple[str, list[Any]]:
    """The events with one of them changed, moved, doubled or gone, and what was done."""
    changed, number = list(events), draw.randrange(len(events))
    kind = events[number]["kind"]
    match draw.randrange(12):
        case 0:
            changed.insert(draw.randrange(len(events) + 1), changed.pop(number))
            return f"{kind} {number} moved", changed
        case 1:
            changed.insert(draw.randrange(len(events) + 1), changed[number])
            return f"{kind} {number} doubled", changed
        case 2:
            del changed[number]
            return f"{kind} {number} gone", changed
        case 3:
            path = draw.choice(list(places(events[number])))
            changed[number] = without(events[number], path)
            return f"{kind} {number} without {path}", changed
        case 4:
            changed[number] = {**events[number], "from_the_future": 1}
            return f"{kind} {number} with a field more", changed
        case _:
            path = draw.choice(list(places(events[number])))
            value = draw.choice(HOSTILE)
            changed[number] = replaced(events[number], path, value)
            return f"{kind} {number} {path} = {str(value)[:40]!r}", changed
