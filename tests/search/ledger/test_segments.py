"""What is compacted, what is refused, and who may write: the segments of a ledger."""

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skipstack.data.basis.disk_errors import PAUSES
from skipstack.data.basis.errors import UserError
from skipstack.search.ledger import segments
from skipstack.search.ledger.events import Event, Finished, Started
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.ledger.lines import Line, encoded, write_compacted
from skipstack.search.ledger.segments import WORTH_COMPACTING, Segments, TakenOverError
from tests.search.ledger.batches import BATCH, DECIDED, REPORTED, Batch

SESSIONS = st.lists(st.lists(BATCH, max_size=3), min_size=1, max_size=3)


def write(folder: Path, *sessions: Sequence[Batch], worth_compacting: int = WORTH_COMPACTING) -> None:
    for batches in sessions:
        with Ledger(folder, worth_compacting=worth_compacting) as ledger:
            for batch in batches:
                ledger.append(*batch)


def shown(events: Sequence[Event]) -> list[str]:
    """Events as texts, so that NaN equals NaN."""
    return [repr(event) for event in events]


def started(*numbers: int) -> list[Batch]:
    return [(Started(time=1.0, trial=number),) for number in numbers]


def trials(folder: Path) -> list[int]:
    return [event.trial for event in Ledger(folder).read() if isinstance(event, Started)]


def files(folder: Path, suffix: str) -> list[str]:
    return sorted(path.name for path in folder.glob(f"*.{suffix}"))


def test_a_damaged_last_line_is_left_out_and_said_and_reading_changes_nothing(tmp_path: Path) -> None:
    write(tmp_path, started(0, 1), started(2, 3))
    last = tmp_path / "000002.jsonl"
    whole = last.read_bytes()
    for hurt in (whole[:-9], whole[:-2] + b"x\n"):
        last.write_bytes(hurt)
        ledger = Ledger(tmp_path)
        assert [event.kind for event in ledger.read()] == ["started"] * 3
        assert ledger.cut == f"{last}:2: torn while it was written; cut, the study goes on before it"
        assert last.read_bytes() == hurt


def test_a_torn_line_that_another_driver_cut_meanwhile_is_not_cut_again(tmp_path: Path) -> None:
    write(tmp_path, started(0, 1))
    with (tmp_path / "000001.jsonl").open("ab") as segment:
        segment.write(b"torn")
    ledger = Ledger(tmp_path)
    assert len(ledger.read()) == 2
    write(tmp_path, started(2))
    with ledger:
        ledger.append(Finished(time=2.0))
    assert trials(tmp_path) == [0, 1, 2]


def test_a_whole_line_that_this_version_does_not_know_is_never_cut(tmp_path: Path) -> None:
    write(tmp_path, started(0))
    (tmp_path / "000001.jsonl").write_bytes(encoded(b'1 [{"kind":"from_the_future","time":0.0}]'))
    with pytest.raises(UserError, match=r"000001.jsonl:1: .*from_the_future"):
        Ledger(tmp_path).read()


def test_a_driver_that_could_not_open_hands_back_what_it_held(tmp_path: Path) -> None:
    write(tmp_path, started(0, 1), started(2))
    first = tmp_path / "000001.jsonl"
    whole = first.read_bytes()
    first.write_bytes(b"x" + whole[1:])
    with pytest.raises(UserError, match="damaged"), Ledger(tmp_path):
        pass
    first.write_bytes(whole)
    write(tmp_path, started(3))
    assert trials(tmp_path) == [0, 1, 2, 3]


@pytest.mark.parametrize("refused", ["ftruncate", "pwrite"])
def test_a_lock_that_cannot_be_given_a_name_is_a_lock(
    refused: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:

        def full(*_: object) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        patch.setattr(os, refused, full)
        opened = Segments(tmp_path)
        opened.open()
    with pytest.raises(UserError, match="process unknown writes this study"):
        Segments(tmp_path).open()
    opened.close()
    write(tmp_path, started(0))


def test_readers_see_what_a_driver_that_still_writes_has_appended(tmp_path: Path) -> None:
    with Ledger(tmp_path) as ledger:
        for number in range(3):
            ledger.append(Started(time=1.0, trial=number))
            assert trials(tmp_path) == list(range(number + 1))


def test_a_ledger_that_version_0_1_0_put_elsewhere_is_refused_and_nothing_is_contacted(tmp_path: Path) -> None:
    (tmp_path / "address").write_text("s3://someone/else?endpoint_override=127.0.0.1:9&scheme=http\n")
    with pytest.raises(
        UserError, match=r"address: this ledger lies on an object store \(allowed: .*copied back"
    ) as told:
        Ledger(tmp_path)
    assert "someone" not in str(told.value)
    assert "\n" not in str(told.value)


# --- a disk that refuses, and a study that was taken over -------------------------------------------------------------


@pytest.mark.parametrize("refused", ["write", "fsync"])
@pytest.mark.parametrize("times", [1, len(PAUSES), len(PAUSES) + 1])
def test_an_append_that_a_disk_refuses_is_tried_again_a_few_times(
    refused: str, times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part of it arrives, and cannot be cut off as long as the disk is away."""
    paused: list[float] = []
    segments = Segments(tmp_path, pause=paused.append)
    segments.open()
    segments.append_line(b"1 [one]")
    write, truncate, sync = os.write, os.ftruncate, os.fsync

    def away(call: str) -> None:
        if call == refused and len(paused) < times:
            raise OSError(5, "Input/output error")

    def in_part(descriptor: int, text: bytes) -> int:
        written = write(descriptor, text[:5])
        away("write")
        return written

    def cut(descriptor: int, size: int) -> None:
        if os.fstat(descriptor).st_size > size:
            away(refused)
        truncate(descriptor, size)

    def synced(descriptor: int) -> None:
        away("fsync")
        sync(descriptor)

    with monkeypatch.context() as patch:
        for name, call in (("write", in_part), ("ftruncate", cut), ("fsync", synced)):
            patch.setattr(os, name, call)
        if times <= len(PAUSES):
            segments.append_line(b"2 [two]")
        else:
            with pytest.raises(OSError, match="Input/output error"):
                segments.append_line(b"2 [two]")
    assert paused == list(PAUSES[:times])
    if times > len(PAUSES):
        segments.append_line(b"2 [two]")
    segments.append_line(b"3 [three]")
    segments.close()
    assert [line.payload for line in Segments(tmp_path).lines()] == [b"1 [one]", b"2 [two]", b"3 [three]"]


@pytest.mark.parametrize("worth_compacting", [1, WORTH_COMPACTING], ids=["compacted", "as it was"])
def test_a_driver_whose_lock_was_lost_writes_nothing_once_another_has_begun(
    worth_compacting: int, tmp_path: Path
) -> None:
    """Locks of shared disks end with the connection of their machine: the file is another one then, as it is here."""
    first = Ledger(tmp_path)
    with first:
        first.append(Started(time=1.0, trial=0))
        (tmp_path / "lock").unlink()
        with Ledger(tmp_path, worth_compacting=worth_compacting) as second:
            second.append(Started(time=1.0, trial=1))
            for _ in range(2):
                with pytest.raises(TakenOverError, match="another driver has begun to write"):
                    first.append(Started(time=1.0, trial=99))
            second.append(Finished(time=2.0))
    assert trials(tmp_path) == [0, 1]


# --- compaction -------------------------------------------------------------------------------------------------------


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(SESSIONS, st.sampled_from([1, 2, 3, WORTH_COMPACTING]))
def test_what_was_appended_is_read_in_order_compacted_or_not(
    tmp_path_factory: pytest.TempPathFactory, sessions: list[list[Batch]], worth_compacting: int
) -> None:
    folder = tmp_path_factory.mktemp("ledger")
    write(folder, *sessions, worth_compacting=worth_compacting)
    expected = shown([event for batches in sessions for batch in batches for event in batch])
    ledger = Ledger(folder)
    assert shown(ledger.read()) == shown(list(ledger.replay())) == expected
    assert ledger.cut is None


def test_many_appends_become_one_file_and_few_do_not(tmp_path: Path) -> None:
    write(tmp_path, started(0, 1), started(2, 3), started(4), worth_compacting=4)
    assert (files(tmp_path, "jsonl.gz"), files(tmp_path, "jsonl")) == (["000002.jsonl.gz"], ["000003.jsonl"])
    assert trials(tmp_path) == [0, 1, 2, 3, 4]
    write(tmp_path, started(5), worth_compacting=4)
    assert files(tmp_path, "jsonl.gz") == ["000002.jsonl.gz"]
    write(tmp_path, started(6, 7), started(8), worth_compacting=4)
    assert files(tmp_path, "jsonl.gz") == ["000005.jsonl.gz"]
    assert trials(tmp_path) == list(range(9))


def test_a_torn_append_stays_out_of_the_compacted_file(tmp_path: Path) -> None:
    write(tmp_path, started(0, 1, 2, 3))
    last = tmp_path / "000001.jsonl"
    last.write_bytes(last.read_bytes()[:-4])
    ledger = Ledger(tmp_path, worth_compacting=2)
    with ledger:
        assert ledger.cut is not None
        ledger.append(Started(time=1.0, trial=4))
    assert files(tmp_path, "jsonl.gz")
    assert trials(tmp_path) == [0, 1, 2, 4]
    assert Ledger(tmp_path).cut is None


def test_a_compacted_file_without_a_line_that_it_should_have_is_not_kept(tmp_path: Path) -> None:
    whole, torn = Line("000001.jsonl", 1, b"1 []"), Line("000001.jsonl", 2, None)
    write_compacted(tmp_path / "whole.jsonl.gz", lambda: [whole])
    with pytest.raises(OSError, match="does not read as it was written"):
        write_compacted(tmp_path / "torn.jsonl.gz", lambda: [whole, torn])
    assert files(tmp_path, "gz") == ["whole.jsonl.gz"]


def test_damage_to_a_compacted_file_is_refused_or_harmless_and_never_changes_an_event(tmp_path: Path) -> None:
    write(tmp_path, [(REPORTED, DECIDED), *started(*range(40))], started(40), worth_compacting=10)
    (name,) = files(tmp_path, "jsonl.gz")
    whole, expected = (tmp_path / name).read_bytes(), shown(Ledger(tmp_path).read())
    hurts = [whole[:size] for size in (0, 3, len(whole) // 2, len(whole) - 1)]
    for position in range(0, len(whole), max(len(whole) // 24, 1)):
        hurt = bytearray(whole)
        hurt[position] ^= 16
        hurts.append(bytes(hurt))
    refused = 0
    for content in hurts:
        (tmp_path / name).write_bytes(content)
        try:
            read = shown(Ledger(tmp_path).read())
        except UserError as error:
            assert name in str(error)  # noqa: PT017 (some damages are harmless: a byte that no reader looks at)
            refused += 1
        else:
            assert read == expected
    assert refused >= 4


class Crashed(BaseException):
    """Stands for a signal that no code sees coming."""


CHANGES: list[tuple[object, str]] = [(os, "replace"), (os, "fsync"), (Path, "unlink"), (os, "write")]


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_driver_that_dies_while_it_compacts_loses_nothing(
    after: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before, and after, each change that it makes to what is stored; the next driver finds all events."""
    step, ended = 0, False
    while not ended:
        folder = tmp_path / str(step)
        write(folder, started(0, 1, 2), started(3, 4), worth_compacting=3)
        write(folder, started(5))
        made = [0]
        with monkeypatch.context() as patch:
            for owner, name in CHANGES:
                patch.setattr(owner, name, _dying(owner, name, made, step, after))
            try:
                with Ledger(folder, worth_compacting=3) as ledger:
                    ledger.append(Started(time=1.0, trial=6))
                ended = True
            except Crashed:
                pass
        told = trials(folder)
        assert told in ([0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5, 6])
        write(folder, started(7), worth_compacting=3)
        write(folder, started(8), worth_compacting=100)
        assert trials(folder) == [*told, 7, 8]
        assert Ledger(folder).cut is None
        assert not list(folder.glob(".*"))
        step += 1
    assert step > 5


def _dying(owner: object, name: str, made: list[int], step: int, after: bool) -> Callable[..., object]:
    real = getattr(owner, name)

    def changed(*arguments: object, **options: object) -> object:
        made[0] += 1
        if made[0] == step + 1 and not after:
            raise Crashed
        result = real(*arguments, **options)
        if made[0] == step + 1:
            raise Crashed
        return result

    return changed


def test_a_reader_that_is_overtaken_by_a_compaction_reads_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, started(0, 1, 2), started(3))
    ledger = Ledger(tmp_path)
    real, overtaken = ledger.lines, []

    def lines() -> Iterator[object]:
        found = real()
        yield next(found)
        if not overtaken:
            overtaken.append(True)
            write(tmp_path, started(4), worth_compacting=2)
        yield from found

    monkeypatch.setattr(ledger, "lines", lines)
    assert [event.trial for event in ledger.read() if isinstance(event, Started)][:4] == [0, 1, 2, 3]
    assert overtaken


def test_the_name_of_a_new_segment_reaches_the_disk_before_anything_is_appended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settled: list[tuple[Path, list[str]]] = []
    monkeypatch.setattr(segments, "fsync_path", lambda path: settled.append((path, files(tmp_path, "jsonl"))))
    write(tmp_path, started(0))
    assert settled[0] == (tmp_path, ["000001.jsonl"])
