"""Whoever follows a ledger gets each of its events once, whenever he asks and whatever the driver does meanwhile."""

import random
from itertools import islice
from pathlib import Path

import pytest

from skipstack.data.basis.errors import UserError
from skipstack.search.ledger.events import Event
from skipstack.search.ledger.following import Following
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.ledger.lines import encoded
from tests.search.publishing.tracking.studies import history


@pytest.mark.parametrize("seed", range(5))
def test_each_event_comes_once_and_in_order_from_segments_and_compacted_files(seed: int, tmp_path: Path) -> None:
    draw, events = random.Random(seed), history() * 3
    following, found = Following(tmp_path), list[Event]()
    left = iter(events)
    while batch := list(islice(left, draw.randint(1, 20))):
        with Ledger(tmp_path, worth_compacting=draw.choice([1, 10, 1000])) as ledger:
            while batch:
                size = draw.randint(1, 4)
                ledger.append(*batch[:size])
                del batch[:size]
                if draw.random() < 0.4:
                    found += following.events()
    found += following.events()
    assert repr(found) == repr(events)  # NaN equals itself as text
    assert list(following.events()) == []


def test_a_line_that_is_being_written_comes_once_it_is_whole(tmp_path: Path) -> None:
    first, *rest = history()
    with Ledger(tmp_path) as ledger:
        ledger.append(first)
    (segment,) = tmp_path.glob("*.jsonl")
    following = Following(tmp_path)
    assert list(following.events()) == [first]
    whole = segment.read_bytes()
    with Ledger(tmp_path / "other") as other:
        other.append(first)
        other.append(*rest[:2])
    (written,) = (tmp_path / "other").glob("*.jsonl")
    line = written.read_bytes().removeprefix(whole)
    for cut in range(0, len(line), 7):
        segment.write_bytes(whole + line[:cut])
        assert list(following.events()) == []
    segment.write_bytes(whole + line)
    assert list(following.events()) == rest[:2]


def test_a_torn_line_that_the_next_driver_cuts_is_never_seen(tmp_path: Path) -> None:
    first, second, third = history()[:3]
    with Ledger(tmp_path) as ledger:
        ledger.append(first)
        ledger.append(second)
    (segment,) = tmp_path.glob("*.jsonl")
    segment.write_bytes(segment.read_bytes()[:-5])
    following = Following(tmp_path)
    assert list(following.events()) == [first]
    with Ledger(tmp_path) as ledger:
        ledger.append(third)
    assert list(following.events()) == [third]


def test_a_reading_that_fails_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events = history()
    with Ledger(tmp_path) as ledger:
        for event in events:
            ledger.append(event)
    following, found, calls = Following(tmp_path), list[Event](), 0

    def fail(path: Path) -> None:
        nonlocal calls
        calls += 1
        if calls % 2:
            raise OSError(5, "Input/output error")

    monkeypatch.setattr("skipstack.search.ledger.following.fsync_path", fail)
    with pytest.raises(OSError, match="Input/output"):
        found += following.events()
    found += islice(following.events(), 5)
    with pytest.raises(OSError, match="Input/output"):
        found += following.events()
    found += following.events()
    assert repr(found) == repr(events)


@pytest.mark.parametrize(
    ("spoilt", "why"),
    [
        (lambda lines: [lines[0], b"x" + lines[1][1:], lines[2]], "2: damaged, its checksum does not match"),
        (lambda lines: [lines[0], lines[2]], "2: damaged, append 3 stands where append 2 should"),
        (lambda lines: [lines[0], encoded(b"2 [{}]")], "2: whole, but not an event that this version knows"),
    ],
)
def test_damage_is_an_error_with_its_place_each_time(spoilt: object, why: str, tmp_path: Path) -> None:
    with Ledger(tmp_path) as ledger:
        for event in history()[:3]:
            ledger.append(event)
    (segment,) = tmp_path.glob("*.jsonl")
    assert callable(spoilt)
    segment.write_bytes(b"".join(spoilt(segment.read_bytes().splitlines(keepends=True))))
    following, found = Following(tmp_path), list[Event]()
    for _ in range(2):
        with pytest.raises(UserError, match=why):
            found += following.events()
    assert found == history()[:1]


def test_where_there_is_no_ledger_yet_there_are_no_events(tmp_path: Path) -> None:
    assert list(Following(tmp_path / "ledger").events()) == []
