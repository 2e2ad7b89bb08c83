"""The ledger in a folder, byte by byte and call by call; what every home promises stands in ``test_segments.py``."""

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skipstack.data.basis.errors import UserError
from skipstack.search.ledger.events import Event, Finished, Started
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.ledger.segments import Segments
from tests.search.ledger.batches import BATCH, DECIDED, REPORTED, Batch

SESSIONS = st.lists(st.lists(BATCH, min_size=1, max_size=3), min_size=1, max_size=2)


@contextmanager
def written(sessions: Sequence[Sequence[Batch]]) -> Iterator[Path]:
    """A folder with one segment a session, and one line a batch in it."""
    with TemporaryDirectory() as name:
        for batches in sessions:
            with Ledger(Path(name)) as ledger:
                for batch in batches:
                    ledger.append(*batch)
        yield Path(name)


def shown(events: Sequence[Event]) -> list[str]:
    """Events as texts, so that NaN equals NaN."""
    return [repr(event) for event in events]


def prefixes(sessions: Sequence[Sequence[Batch]]) -> list[list[str]]:
    """What may be read after 0, 1, 2, ... whole appends."""
    batches = [batch for session in sessions for batch in session]
    return [shown([event for batch in batches[:count] for event in batch]) for count in range(len(batches) + 1)]


@settings(max_examples=25)
@given(SESSIONS)
def test_what_was_appended_is_read_in_order_and_each_opening_starts_a_segment(sessions: list[list[Batch]]) -> None:
    with written(sessions) as folder:
        ledger = Ledger(folder)
        assert shown(ledger.read()) == prefixes(sessions)[-1]
        assert ledger.cut is None
        names = sorted(path.name for path in folder.glob("*.jsonl"))
        assert names == [f"{number:06d}.jsonl" for number in range(1, len(sessions) + 1)]
        assert [path.read_text().count("\n") for path in sorted(folder.glob("*.jsonl"))] == [len(s) for s in sessions]


@settings(max_examples=4)
@given(SESSIONS)
def test_a_truncation_at_any_byte_leaves_the_whole_appends_before_it(sessions: list[list[Batch]]) -> None:
    with written(sessions) as folder:
        segment = max(folder.glob("*.jsonl"))
        content = segment.read_bytes()
        earlier = sum(len(session) for session in sessions[:-1])
        for size in range(len(content) + 1):
            segment.write_bytes(content[:size])
            ledger = Ledger(folder)
            whole = content[:size].count(b"\n")
            assert shown(ledger.read()) == prefixes(sessions)[earlier + whole]
            torn = size > 0 and content[size - 1 : size] != b"\n"
            assert (ledger.cut is not None) == torn
            if torn:
                assert f"{segment}:{whole + 1}:" in str(ledger.cut)


@settings(max_examples=3)
@given(SESSIONS, st.integers(1, 255))
def test_a_changed_byte_never_changes_an_event(sessions: list[list[Batch]], mask: int) -> None:
    with written(sessions) as folder:
        allowed = prefixes(sessions)
        segments = sorted(folder.glob("*.jsonl"))
        for segment in segments:
            content = segment.read_bytes()
            last_line = content.rindex(b"\n", 0, len(content) - 1) + 1 if content.count(b"\n") > 1 else 0
            for position in range(len(content)):
                hurt = bytearray(content)
                hurt[position] ^= mask
                segment.write_bytes(hurt)
                if segment != segments[-1] or position < last_line - 1:
                    with pytest.raises(UserError, match=rf"{segment.name}:\d+: damaged"):
                        Ledger(folder).read()
                elif position == last_line - 1:  # the newline before it: two lines became the last one
                    assert shown(Ledger(folder).read()) == allowed[-3]
                elif hurt[position] == ord("\n") and position < len(content) - 1:
                    with pytest.raises(UserError, match="damaged"):  # the last line became two
                        Ledger(folder).read()
                else:
                    ledger = Ledger(folder)
                    assert shown(ledger.read()) == allowed[-2]
                    assert ledger.cut is not None
            segment.write_bytes(content)


def test_a_file_that_goes_while_a_driver_compacts_is_looked_for_three_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Ledger(tmp_path) as ledger:
        ledger.append(Started(time=1.0, trial=0))
    lines, missing = Segments.lines, 2

    def lines_later(segments: Segments) -> Iterator[Any]:
        nonlocal missing
        missing -= 1
        if missing >= 0:
            raise FileNotFoundError("compacted meanwhile")
        return lines(segments)

    monkeypatch.setattr(Segments, "lines", lines_later)
    assert Ledger(tmp_path).read() == [Started(time=1.0, trial=0)]
    missing = 3
    with pytest.raises(UserError, match="compacted meanwhile"):
        Ledger(tmp_path).read()


@pytest.mark.parametrize("torn", [b"0", b"01234567 [", b"00000000 []\n"], ids=["a digit", "half a line", "wrong sum"])
def test_writing_goes_on_after_a_torn_line_is_taken_away(tmp_path: Path, torn: bytes) -> None:
    with Ledger(tmp_path) as ledger:
        ledger.append(Started(time=1.0, trial=0))
    first = tmp_path / "000001.jsonl"
    whole = first.read_bytes()
    first.write_bytes(whole + torn)
    assert list(Ledger(tmp_path).only("started")) == [Started(time=1.0, trial=0)]
    with Ledger(tmp_path) as ledger:
        assert ledger.cut is not None
        assert ledger.cut.startswith(f"{first}:2: ")
        assert first.read_bytes() == whole
        assert ledger.read() == [Started(time=1.0, trial=0)]
        ledger.append(Finished(time=2.0))
    again = Ledger(tmp_path)
    assert again.read() == [Started(time=1.0, trial=0), Finished(time=2.0)]
    assert again.cut is None


def test_a_torn_line_is_cut_where_the_next_segment_is_still_empty(tmp_path: Path) -> None:
    with Ledger(tmp_path) as ledger:
        ledger.append(Started(time=1.0, trial=0))
    with (tmp_path / "000001.jsonl").open("ab") as segment:
        segment.write(b"torn")
    (tmp_path / "000002.jsonl").touch()
    with Ledger(tmp_path) as ledger:
        ledger.append(Finished(time=2.0))
    assert Ledger(tmp_path).read() == [Started(time=1.0, trial=0), Finished(time=2.0)]
    assert (tmp_path / "000003.jsonl").exists()


def test_a_damaged_ledger_is_not_opened_and_not_touched(tmp_path: Path) -> None:
    with Ledger(tmp_path) as ledger:
        ledger.append(Started(time=1.0, trial=0))
        ledger.append(Finished(time=2.0))
    first = tmp_path / "000001.jsonl"
    hurt = b"x" + first.read_bytes()[1:] + b"torn"
    first.write_bytes(hurt)
    with pytest.raises(UserError, match=r"000001\.jsonl:1: damaged"), Ledger(tmp_path):
        pass
    assert first.read_bytes() == hurt
    assert not (tmp_path / "000002.jsonl").exists()


def test_a_missing_segment_is_named(tmp_path: Path) -> None:
    for _ in range(3):
        with Ledger(tmp_path) as ledger:
            ledger.append(Finished(time=2.0))
    (tmp_path / "000002.jsonl").unlink()
    with pytest.raises(UserError, match=r"000002\.jsonl is missing"):
        Ledger(tmp_path).read()


@pytest.mark.parametrize("order", [[0, 2, 3], [0, 1, 1, 2, 3], [1, 0, 2, 3], [1, 2, 3], [0, 1, 2, 3, 3]])
def test_a_line_that_is_missing_doubled_or_out_of_its_place_is_refused(order: list[int], tmp_path: Path) -> None:
    with Ledger(tmp_path) as ledger:
        for time in range(2):
            ledger.append(Finished(time=time))
    with Ledger(tmp_path) as ledger:
        for time in range(2, 4):
            ledger.append(Finished(time=time))
    segments = sorted(tmp_path.glob("*.jsonl"))
    lines = [line for segment in segments for line in segment.read_bytes().splitlines(keepends=True)]
    segments[0].write_bytes(b"".join(lines[place] for place in order))
    segments[1].write_bytes(b"")
    for reading in (Ledger(tmp_path).read, Ledger(tmp_path).__enter__):
        with pytest.raises(UserError, match=r"000001.jsonl:\d: damaged, append \d stands where append \d should"):
            reading()
    assert len(list(tmp_path.glob("*.jsonl"))) == 2


def test_a_folder_without_a_ledger_has_no_events_and_is_not_made(tmp_path: Path) -> None:
    assert Ledger(tmp_path / "none").read() == []
    assert not (tmp_path / "none").exists()


def test_a_failed_append_leaves_the_segment_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    with Ledger(tmp_path) as ledger:
        ledger.append(Started(time=1.0, trial=0))
        room = [40]

        def full(descriptor: int, text: bytes) -> int:
            if not room:
                raise OSError(28, "No space left on device")
            return real(descriptor, text[: room.pop()])

        monkeypatch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space left"):
            ledger.append(REPORTED, DECIDED)
        monkeypatch.undo()
        ledger.append(Finished(time=3.0))
    again = Ledger(tmp_path)
    assert again.read() == [Started(time=1.0, trial=0), Finished(time=3.0)]
    assert again.cut is None


def test_each_append_is_brought_to_the_disk_before_it_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    real = os.fsync

    def watched(descriptor: int) -> None:
        synced.append(os.fstat(descriptor).st_size)
        real(descriptor)

    with Ledger(tmp_path) as ledger:
        monkeypatch.setattr(os, "fsync", watched)
        for trial in range(3):
            ledger.append(Started(time=1.0, trial=trial))
            assert synced[-1] == (tmp_path / "000001.jsonl").stat().st_size
    assert len(synced) == 3


def test_looking_whether_a_driver_writes_changes_nothing_and_needs_no_right_to_write(tmp_path: Path) -> None:
    ledger, lock = Ledger(tmp_path / "ledger"), tmp_path / "ledger" / "lock"
    assert not ledger.is_written
    with ledger:
        lock.chmod(0o444)  # as to another user (root may write nevertheless)
        assert Ledger(ledger.folder).is_written
    lock.chmod(0o644)
    lock.write_text("the last driver")
    assert not ledger.is_written
    assert lock.read_text() == "the last driver"


def test_a_writer_waits_for_whoever_just_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Ledger(tmp_path):
        pass
    looking = os.open(tmp_path / "lock", os.O_RDONLY)
    fcntl.flock(looking, fcntl.LOCK_SH)
    monkeypatch.setattr("skipstack.search.ledger.segments.time.sleep", lambda seconds: os.close(looking))
    with Ledger(tmp_path) as ledger:
        assert Ledger(ledger.folder).is_written


def test_a_second_writer_in_the_same_process_is_refused_until_the_first_is_done(tmp_path: Path) -> None:
    with Ledger(tmp_path), pytest.raises(UserError, match=f"process {os.getpid()} "), Ledger(tmp_path):
        pass
    with Ledger(tmp_path) as ledger:
        ledger.append(Finished(time=1.0))
    assert Ledger(tmp_path).read() == [Finished(time=1.0)]


WRITER = """
import sys
from pathlib import Path
from skipstack.search.ledger.events import Started
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.ledger.segments import Segments
with Ledger(Path(sys.argv[1])) as ledger:
    for trial in range(10**6):
        ledger.append(Started(time=1.0, trial=trial))
        print(trial, flush=True)
"""


def test_a_killed_writer_is_named_while_it_lives_and_loses_nothing_that_it_acknowledged(tmp_path: Path) -> None:
    root = Path(__file__).parents[3]
    command: list[Any] = [sys.executable, "-c", WRITER, tmp_path]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        for _ in range(20):
            writer.stdout.readline()
        with pytest.raises(UserError, match=f"process {writer.pid} "), Ledger(tmp_path):
            pass
        writer.send_signal(signal.SIGKILL)
        acknowledged = 20 + sum(1 for line in writer.stdout if line.endswith("\n"))
    with Ledger(tmp_path) as ledger:
        events = ledger.read()
        ledger.append(Finished(time=2.0))
    assert len(events) >= acknowledged
    assert events == [Started(time=1.0, trial=trial) for trial in range(len(events))]
    assert Ledger(tmp_path).read() == [*events, Finished(time=2.0)]
