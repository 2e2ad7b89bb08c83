"""What a ledger promises, wherever it lies: one suite for all its homes."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skipstack.data.basis.errors import UserError
from skipstack.search.ledger.events import Event, Finished, Started
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.ledger.object_store import ObjectStore
from tests.search.ledger.batches import BATCH, DECIDED, REPORTED, Batch
from tests.search.ledger.homes import Folder, Home, Objects, fresh, s3_server

SESSIONS = st.lists(st.lists(BATCH, max_size=3), min_size=1, max_size=3)
Make = Callable[[], Home]


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with s3_server() as found:
        yield found


@pytest.fixture(params=["folder", "file", "s3"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """Fresh homes of one kind."""
    kind = request.param
    return lambda: fresh(kind, tmp_path, lambda: request.getfixturevalue("endpoint"))


@pytest.fixture(params=["folder", "file"])
def nearby(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """Homes without a server: for what would take it hundreds of requests and reads the same code."""
    return lambda: fresh(request.param, tmp_path, lambda: "")


def write(home: Home, *sessions: Sequence[Batch], worth_compacting: int | None = None) -> None:
    for batches in sessions:
        with home.ledger(worth_compacting) as ledger:
            for batch in batches:
                ledger.append(*batch)


def shown(events: Sequence[Event]) -> list[str]:
    """Events as texts, so that NaN equals NaN."""
    return [repr(event) for event in events]


def started(*numbers: int) -> list[Batch]:
    return [(Started(time=1.0, trial=number),) for number in numbers]


def trials(home: Home) -> list[int]:
    return [event.trial for event in home.ledger().read() if isinstance(event, Started)]


@pytest.mark.parametrize("kind", ["folder", "file"])
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(SESSIONS, st.sampled_from([None, 1, 2, 3]))
def test_what_was_appended_is_read_in_order_compacted_or_not(
    kind: str, tmp_path: Path, sessions: list[list[Batch]], worth_compacting: int | None
) -> None:
    home = fresh(kind, tmp_path, lambda: "")
    write(home, *sessions, worth_compacting=worth_compacting)
    expected = shown([event for batches in sessions for batch in batches for event in batch])
    ledger = home.ledger()
    assert shown(ledger.read()) == shown(list(ledger.replay())) == expected
    assert ledger.cut is None


def test_what_was_appended_is_read_in_order_and_compacted_wherever_it_lies(make: Make) -> None:
    home = make()
    write(home, [(REPORTED, DECIDED), *started(0, 1)], started(2), started(3, 4), worth_compacting=3)
    assert trials(home) == [0, 1, 2, 3, 4]
    assert shown(home.ledger().read())[:2] == shown([REPORTED, DECIDED])
    assert sum(name.endswith(".parquet") for name in home.files()) == 1


def test_a_place_without_a_ledger_has_no_events_and_stays_as_it_is(make: Make) -> None:
    home = make()
    assert home.ledger().read() == []
    assert home.files() == [] if isinstance(home, Objects) else not home.folder.exists()


def test_a_damaged_last_line_is_cut_with_a_warning_and_writing_goes_on(make: Make) -> None:
    home = make()
    write(home, started(0, 1), started(2, 3))
    last = home.files()[-1]
    whole = home.get(last)
    for hurt in (whole[:-9], whole[:-2] + b"x\n"):
        home.put(last, hurt)
        before = home.everything()
        ledger = home.ledger()
        assert [event.kind for event in ledger.read()] == ["started"] * 3
        assert ledger.cut is not None
        assert last in ledger.cut
        assert ledger.cut.endswith("cut, the study goes on before it")
        assert home.everything() == before
    write(home, [(Finished(time=2.0),)])
    again = home.ledger()
    assert again.read() == [*(Started(time=1.0, trial=number) for number in (0, 1, 2)), Finished(time=2.0)]
    assert again.cut is None


def test_any_damage_before_the_last_line_is_refused_by_name_and_changes_nothing(nearby: Make) -> None:
    home = nearby()
    write(home, started(0, 1), started(2, 3))
    for name in home.files()[:-1]:
        whole = home.get(name)
        for position in (5, len(whole) - 3):
            hurt = bytearray(whole)
            hurt[position] ^= 64
            home.put(name, bytes(hurt))
            before = home.everything()
            with pytest.raises(UserError, match=rf"{name}:\d: damaged"):
                home.ledger().read()
            with pytest.raises(UserError, match=rf"{name}:\d: damaged"), home.ledger():
                pass
            assert home.everything() == before
        home.put(name, whole)
    assert trials(home) == [0, 1, 2, 3]


def test_a_missing_segment_is_named(make: Make) -> None:
    home = make()
    write(home, started(0), started(1), started(2))
    middle = home.files()[1]
    home.remove(middle)
    with pytest.raises(UserError, match=f"{middle} is missing"):
        home.ledger().read()
    with pytest.raises(UserError, match=f"{middle} is missing"), home.ledger():
        pass


def test_a_whole_line_that_this_version_does_not_know_is_never_cut(nearby: Make) -> None:
    from skipstack.search.ledger.segments import encoded

    home = nearby()
    write(home, started(0))
    (only,) = home.files()
    home.put(only, encoded(b'1 [{"kind":"from_the_future","time":0.0}]'))
    with pytest.raises(UserError, match=rf"{only}:1: .*from_the_future"):
        home.ledger().read()


def test_a_second_driver_is_refused_until_the_first_is_done(make: Make) -> None:
    home = make()
    with home.ledger() as first:
        first.append(Started(time=1.0, trial=0))
        with pytest.raises(UserError, match=r"process \d+ .*writes this study \(allowed: one driver at a time"):
            home.ledger().__enter__()
        first.append(Started(time=1.0, trial=1))
    write(home, started(2))
    assert trials(home) == [0, 1, 2]


def test_a_driver_that_could_not_open_hands_back_what_it_held(nearby: Make) -> None:
    home = nearby()
    write(home, started(0, 1), started(2))
    first = home.files()[0]
    whole = home.get(first)
    home.put(first, b"x" + whole[1:])
    with pytest.raises(UserError, match="damaged"), home.ledger():
        pass
    home.put(first, whole)
    write(home, started(3))
    assert trials(home) == [0, 1, 2, 3]


# --- compaction -------------------------------------------------------------------------------------------------------


def test_many_appends_become_one_file_and_few_do_not(nearby: Make) -> None:
    home = nearby()
    write(home, started(0, 1), started(2, 3), started(4), worth_compacting=4)
    files = home.files()
    assert sum(name.endswith(".parquet") for name in files) == 1
    assert sum(name.endswith(".jsonl") for name in files) == 1
    assert trials(home) == [0, 1, 2, 3, 4]
    write(home, started(5), worth_compacting=4)
    assert [name for name in home.files() if name.endswith(".parquet")] == [
        name for name in files if name.endswith(".parquet")
    ]
    write(home, started(6, 7), started(8), worth_compacting=4)
    assert sum(name.endswith(".parquet") for name in home.files()) == 1
    assert trials(home) == list(range(9))


def test_a_torn_append_stays_out_of_the_compacted_file(nearby: Make) -> None:
    home = nearby()
    write(home, started(0, 1, 2, 3))
    last = home.files()[-1]
    home.put(last, home.get(last)[:-4])
    ledger = home.ledger(worth_compacting=2)
    with ledger:
        assert ledger.cut is not None
        ledger.append(Started(time=1.0, trial=4))
    assert any(name.endswith(".parquet") for name in home.files())
    assert trials(home) == [0, 1, 2, 4]
    assert home.ledger().cut is None


def test_damage_to_a_compacted_file_is_refused_or_harmless_and_never_changes_an_event(nearby: Make) -> None:
    home = nearby()
    write(home, [(REPORTED, DECIDED), *started(*range(40))], started(40), worth_compacting=10)
    name = next(name for name in home.files() if name.endswith(".parquet"))
    whole, expected = home.get(name), shown(home.ledger().read())
    hurts = [whole[:size] for size in (0, 3, len(whole) // 2, len(whole) - 1)]
    for position in range(0, len(whole), max(len(whole) // 24, 1)):
        hurt = bytearray(whole)
        hurt[position] ^= 16
        hurts.append(bytes(hurt))
    refused = 0
    for content in hurts:
        home.put(name, content)
        try:
            read = shown(home.ledger().read())
        except UserError as error:
            assert name in str(error)  # noqa: PT017 (some damages are harmless: a byte that no reader looks at)
            refused += 1
        else:
            assert read == expected
    assert refused >= 4


class Crashed(BaseException):
    """Stands for a signal that no code sees coming."""


CHANGES: dict[type[Home], list[tuple[object, str]]] = {
    Folder: [(os, "replace"), (os, "fsync"), (Path, "unlink"), (os, "write")],
    Objects: [(ObjectStore, each) for each in ("write", "remove", "remove_folder")],
}


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("kind", ["folder", "file"])
def test_a_driver_that_dies_while_it_compacts_loses_nothing(
    kind: str, after: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before, and after, each change that it makes to what is stored; the next driver finds all events."""
    step, ended = 0, False
    while not ended:
        home = fresh(kind, tmp_path, lambda: "")
        write(home, started(0, 1, 2), started(3, 4), worth_compacting=3)
        write(home, started(5))
        home.clock.now += 1000
        made = [0]
        with monkeypatch.context() as patch:
            for owner, name in CHANGES[type(home)]:
                patch.setattr(owner, name, _dying(owner, name, made, step, after))
            try:
                with home.ledger(worth_compacting=3) as ledger:
                    ledger.append(Started(time=1.0, trial=6))
                ended = True
            except Crashed:
                pass
        home.clock.now += 1000
        told = trials(home)
        assert told in ([0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5, 6])
        write(home, started(7), worth_compacting=3)
        write(home, started(8), worth_compacting=100)
        assert trials(home) == [*told, 7, 8]
        assert home.ledger().cut is None
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


def test_a_reader_that_is_overtaken_by_a_compaction_reads_again(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    home = make()
    write(home, started(0, 1, 2), started(3))
    ledger = home.ledger()
    real, overtaken = ledger._segments.lines, []

    def lines() -> Iterator[object]:
        found = real()
        yield next(found)
        if not overtaken:
            overtaken.append(True)
            write(home, started(4), worth_compacting=2)
        yield from found

    monkeypatch.setattr(ledger._segments, "lines", lines)
    assert [event.trial for event in ledger.read() if isinstance(event, Started)][:4] == [0, 1, 2, 3]
    assert overtaken


def test_readers_of_a_ledger_see_what_a_driver_that_still_writes_has_appended(make: Make) -> None:
    home = make()
    with home.ledger() as ledger:
        for number in range(3):
            ledger.append(Started(time=1.0, trial=number))
            assert trials(home) == list(range(number + 1))
    assert isinstance(ledger, Ledger)
