"""Garbage is looked for again after what was loaded, as it was before."""

import gc
import threading
from collections.abc import Iterator

import pytest

from skipstack.data.basis.collection import uncollected


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = gc.isenabled()
    yield
    (gc.enable if before else gc.disable)()


@uncollected()
def fail_to_load() -> None:
    with uncollected():
        assert not gc.isenabled()
    assert not gc.isenabled()
    raise ImportError


@pytest.mark.parametrize("before", [True, False])
def test_it_is_as_it_was_before_also_where_loading_fails(before: bool) -> None:
    (gc.enable if before else gc.disable)()
    with pytest.raises(ImportError):
        fail_to_load()
    assert gc.isenabled() == before


def test_threads_that_load_at_once_leave_it_as_it_was() -> None:
    gc.enable()
    within, leave = threading.Event(), threading.Event()

    def load() -> None:
        with uncollected():
            within.set()
            assert leave.wait(60)

    thread = threading.Thread(target=load)
    with uncollected():
        thread.start()
        assert within.wait(60)
    assert not gc.isenabled(), "the other one loads still"
    leave.set()
    thread.join()
    assert gc.isenabled()
