"""One driver at a time on a store without locks: at every interleaving, on a clock that the test moves."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import fs

from skipstack.data.basis.errors import UserError
from skipstack.search.ledger.events import Event, Finished, Started
from skipstack.search.ledger.lease import SECONDS, SKEW, Lease, LeaseLostError
from skipstack.search.ledger.object_store import ObjectStore
from tests.search.ledger.homes import Clock, Home, Objects, fresh, s3_address, s3_server


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with s3_server() as found:
        yield found


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    return ObjectStore.at((tmp_path / "objects").as_uri())


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return fresh("file", tmp_path, lambda: "")


def test_a_lease_is_one_drivers_until_it_is_released(store: ObjectStore, clock: Clock) -> None:
    first, second = Lease(store, clock), Lease(store, clock)
    first.take()
    with pytest.raises(UserError, match=r"process \d+ on .* writes this study .* its lease ends in 70 s\)"):
        second.take()
    first.check()
    first.release()
    second.take()
    with pytest.raises(LeaseLostError):
        first.check()
    second.release()
    assert store.names() == []


def test_a_dead_drivers_lease_runs_out(store: ObjectStore, clock: Clock) -> None:
    dead, next_one = Lease(store, clock), Lease(store, clock)
    dead.take()
    clock.now += SECONDS + SKEW - 0.5
    with pytest.raises(UserError, match="ends in 0 s"):
        next_one.take()
    clock.now += 1
    next_one.take()
    next_one.check()
    assert store.names() == [f"lease/{next_one.owner}.json"]
    next_one.release()
    dead.release()


def test_a_lease_holds_as_long_as_it_is_renewed_in_time_and_never_again(store: ObjectStore, clock: Clock) -> None:
    lease, other = Lease(store, clock), Lease(store, clock)
    lease.take()
    for _ in range(5):
        clock.now += SECONDS - 1
        lease.renew()
        lease.check()
        with pytest.raises(UserError, match="writes this study"):
            other.take()
    clock.now += SECONDS
    for _ in range(2):
        with pytest.raises(LeaseLostError, match=r"ran out before it was renewed.*one driver at a time"):
            lease.check()
        with pytest.raises(LeaseLostError):
            lease.renew()
    lease.release()


def test_a_renewal_that_arrives_too_late_is_none(store: ObjectStore, clock: Clock) -> None:
    """Asked for in time, written after the lease ran out: another driver may have looked in between."""
    lease = Lease(store, clock)
    lease.take()
    real = store.write

    def slow(name: str, content: bytes) -> None:
        clock.now += SECONDS
        real(name, content)

    store.write = slow  # type: ignore[method-assign]
    with pytest.raises(LeaseLostError):
        lease.renew()
    store.write = real  # type: ignore[method-assign]
    with pytest.raises(LeaseLostError):
        lease.check()
    other = Lease(store, clock)
    other.take()
    other.release()
    lease.release()


def test_a_lease_renews_itself_while_its_driver_waits_for_an_epoch(store: ObjectStore, clock: Clock) -> None:
    lease = Lease(store, clock, seconds=0.2)
    lease.take()
    (claim,) = store.names("lease")
    for _ in range(8):  # longer by far than one claim holds; each step is less than half of one
        clock.now += 0.08
        while json.loads(store.read(claim))["until"] < clock.now + 0.2:
            time.sleep(0.01)
    lease.check()
    lease.release()


class TurnByTurn(ObjectStore):
    """A driver's view of a store: each request waits until it is this driver's turn."""

    def __init__(self, address: str) -> None:
        filesystem, root = fs.FileSystem.from_uri(address)
        super().__init__(filesystem, root, address)
        self.go, self.done = threading.Semaphore(0), threading.Semaphore(0)
        self.over = False

    def names(self, folder: str = "") -> list[str]:
        self._await()
        return super().names(folder)

    def read(self, name: str) -> bytes:
        self._await()
        return super().read(name)

    def write(self, name: str, content: bytes) -> None:
        self._await()
        super().write(name, content)

    def remove(self, name: str) -> None:
        self._await()
        super().remove(name)

    def _await(self) -> None:
        self.done.release()
        assert self.go.acquire(timeout=30)

    def step(self) -> None:
        """One request of this driver, and all it does until its next one."""
        if not self.over:
            self.go.release()
            assert self.done.acquire(timeout=30)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(0, 2), max_size=24), st.integers(0, 1))
def test_of_drivers_that_begin_at_the_same_time_at_most_one_gets_the_lease(
    tmp_path: Path, turns: list[int], dead: int
) -> None:
    """Three of them, each request at any moment between those of the others; maybe a dead one's claim is left."""
    address = (tmp_path / uuid4().hex).as_uri()
    clock = Clock()
    if dead:
        Lease(ObjectStore.at(address), clock).take()
        clock.now += SECONDS + SKEW
    stores = [TurnByTurn(address) for _ in range(3)]
    leases = [Lease(store, clock) for store in stores]
    holders: list[int] = []

    def drive(number: int) -> None:
        try:
            leases[number].take()
            holders.append(number)
        except UserError:
            pass
        finally:
            stores[number].over = True
            stores[number].done.release()

    threads = [threading.Thread(target=drive, args=(number,), daemon=True) for number in range(3)]
    for thread, store in zip(threads, stores, strict=True):
        thread.start()
        assert store.done.acquire(timeout=30)
    for number in turns:
        stores[number].step()
    for store in stores:
        while not store.over:
            store.step()
    for thread in threads:
        thread.join(30)
    assert len(holders) <= 1
    if not turns:  # one after another
        assert holders == [0]
    for lease, store in zip(leases, stores, strict=True):
        store.go.release(10)
        lease.release()


# --- two drivers and a ledger -----------------------------------------------------------------------------------------


def read(home: Home) -> list[Event]:
    return home.ledger().read()


def test_a_driver_that_lost_its_lease_stops_before_it_appends_again(home: Home) -> None:
    first, second = home.ledger(), home.ledger()
    with first:
        first.append(Started(time=1.0, trial=0))
        home.clock.now += SECONDS + SKEW + 1
        with second:
            second.append(Started(time=1.0, trial=1))
            before = home.everything()
            for _ in range(2):
                with pytest.raises(LeaseLostError):
                    first.append(Started(time=1.0, trial=2))
            assert home.everything() == before
            second.append(Finished(time=2.0))
    assert read(home) == [Started(time=1.0, trial=0), Started(time=1.0, trial=1), Finished(time=2.0)]


def test_an_append_that_arrives_after_another_driver_began_does_not_count(home: Home) -> None:
    """A request that was on its way when its driver's lease ran out."""
    assert isinstance(home, Objects)
    first, second = home.ledger(), home.ledger()
    with first, ExitStack() as later:
        first.append(Started(time=1.0, trial=0))
        store = first._segments._store  # type: ignore[attr-defined]
        real = store.write

        def overtaken(name: str, content: bytes) -> None:
            home.clock.now += SECONDS + SKEW + 1
            later.enter_context(second)
            real(name, content)

        store.write = overtaken
        with pytest.raises(LeaseLostError):
            first.append(Started(time=1.0, trial=99))
        store.write = real
        second.append(Started(time=1.0, trial=1))
        assert b'"trial":99' in b"".join(home.everything().values())
        assert read(home) == [Started(time=1.0, trial=0), Started(time=1.0, trial=1)]
    with home.ledger(worth_compacting=1) as third:
        third.append(Finished(time=2.0))
    assert read(home) == [Started(time=1.0, trial=0), Started(time=1.0, trial=1), Finished(time=2.0)]
    assert b'"trial":99' not in b"".join(home.everything().values())


def test_a_first_request_that_arrives_after_another_driver_began_harms_nothing(home: Home) -> None:
    """The object that begins a term, late: two terms then have the same number."""
    assert isinstance(home, Objects)
    with home.ledger() as ledger:
        ledger.append(Started(time=1.0, trial=0))
    late, other = home.ledger(), home.ledger()
    store = late._segments._store  # type: ignore[attr-defined]
    real = store.write

    def overtaken(name: str, content: bytes) -> None:
        if name.endswith("/00000000.jsonl"):
            home.clock.now += SECONDS + SKEW + 1
            other.__enter__()
            other.append(Started(time=1.0, trial=1))
        real(name, content)

    store.write = overtaken
    with pytest.raises(LeaseLostError):
        late.__enter__()
    assert read(home) == [Started(time=1.0, trial=0), Started(time=1.0, trial=1)]
    other.append(Finished(time=2.0))
    other.__exit__(None, None, None)
    with home.ledger():
        pass
    assert [event.kind for event in read(home)] == ["started", "started", "finished"]


# --- addresses --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("s3://key:secret@studies/one", r"credentials in a URI to s3://studies .*allowed: .*environment"),
        ("s3://studies/one?regoin=eu-west-1", r"unknown option of an S3 address 'regoin' \(nearest: 'region'"),
        ("studies/one", r"got 'studies/one' \(allowed: a URI such as s3://BUCKET/FOLDER"),
        ("s3:///one", r"got 's3:///one' \(allowed: a URI"),
        ("ftp://host/one", r"'ftp://host/one' cannot be used"),
        ("s3://studies/one?scheme=htp&endpoint_override=x:1", r"cannot be used|scheme"),
    ],
)
def test_an_address_that_is_none_is_told_in_one_line_without_its_secrets(address: str, told: str) -> None:
    with pytest.raises(UserError, match=told) as refused:
        ObjectStore.at(address)
    assert "secret" not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_store_that_does_not_answer_is_told_in_one_line(tmp_path: Path, endpoint: str) -> None:
    nowhere = Objects(tmp_path / "nowhere", s3_address("127.0.0.1:9", "one"))
    missing = Objects(tmp_path / "missing", f"s3://no-such-bucket/one?scheme=http&endpoint_override={endpoint}")
    for home in (nowhere, missing):
        with pytest.raises(UserError, match="the ledger cannot be") as refused, home.ledger():
            pass
        assert "\n" not in str(refused.value)


def test_two_drivers_meet_on_s3(tmp_path: Path, endpoint: str) -> None:
    home = fresh("s3", tmp_path, lambda: endpoint)
    first, second = home.ledger(), home.ledger()
    with first:
        first.append(Started(time=1.0, trial=0))
        with pytest.raises(UserError, match="writes this study"):
            second.__enter__()
        home.clock.now += SECONDS + SKEW + 1
        with second:
            second.append(Finished(time=2.0))
            with pytest.raises(LeaseLostError):
                first.append(Started(time=1.0, trial=1))
    assert read(home) == [Started(time=1.0, trial=0), Finished(time=2.0)]
    assert isinstance(home, Objects)
    claims = [name for name in home.store.names() if name.startswith("lease/")]
    assert [json.loads(home.store.read(name)) for name in claims] == []
