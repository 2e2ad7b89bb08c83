"""What requests share is made once, and nothing of a failed making is kept."""

import gc
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier
from weakref import ref

from skipstack.dashboards.web.shared import Shared


class Key:
    """A key that says whether anything still refers to it."""


def test_a_value_is_made_once_also_for_requests_at_the_same_time() -> None:
    shared, together, made = Shared[str, object](2), Barrier(8), list[object]()

    def make() -> object:
        made.append(object())
        time.sleep(0.01)  # long enough for the other requests to come
        return made[-1]

    def request(_: int) -> object:
        together.wait()
        return shared("key", make)

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(request, range(8)))
    assert found == made * 8


def test_only_the_values_that_were_asked_for_last_are_kept() -> None:
    shared = Shared[str, object](2)
    one, two = shared("one", object), shared("two", object)
    assert shared("one", object) is one
    shared("three", object)
    assert shared("one", object) is one
    assert shared("two", object) is not two


def test_of_a_key_one_version_is_kept() -> None:
    shared = Shared[str, object](2)
    first = shared("key", object, 1)
    assert shared("key", object, 1) is first
    second = shared("key", object, 2)
    assert shared("key", object, 2) is second is not first
    assert shared("key", object, 1) is not first


def test_a_making_that_fails_leaves_nothing_behind_and_is_tried_again() -> None:
    def fails() -> int:
        raise FileNotFoundError

    shared, key = Shared[Key, int](2), Key()
    with suppress(FileNotFoundError):
        shared(key, fails)
    assert shared(key, lambda: 1) == 1
    key = Key()
    failed = ref(key)
    with suppress(FileNotFoundError):
        shared(key, fails)
    del key
    gc.collect()
    assert failed() is None
