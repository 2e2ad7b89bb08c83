"""Requests that arrive together are answered by one call, each with its own answers."""

import asyncio
import threading
from collections.abc import Sequence

import pytest

from skipstack.dashboards.web.batching import Batcher


def test_requests_that_arrive_together_share_a_call_and_each_gets_its_own_answers() -> None:
    calls = list[Sequence[int]]()

    def squares(numbers: Sequence[int]) -> list[int]:
        calls.append(numbers)
        return [number**2 for number in numbers]

    async def together() -> list[list[int]]:
        ask = Batcher(squares)
        return await asyncio.gather(*(ask(range(start, start + start % 4)) for start in range(20)))

    assert asyncio.run(together()) == [[each**2 for each in range(start, start + start % 4)] for start in range(20)]
    assert calls == [[each for start in range(20) for each in range(start, start + start % 4)]]


def test_requests_that_arrive_during_a_call_are_the_next_batch() -> None:
    calls, begun, may_end = list[Sequence[str]](), threading.Event(), threading.Event()

    def same(texts: Sequence[str]) -> Sequence[str]:
        calls.append(texts)
        begun.set()
        assert may_end.wait(60)
        return texts

    async def one_after_another() -> list[list[str]]:
        ask = Batcher(same)
        first = asyncio.ensure_future(ask(["a"]))
        await asyncio.to_thread(begun.wait, 60)
        others = [asyncio.ensure_future(ask([text])) for text in "bc"]
        await asyncio.sleep(0)
        may_end.set()
        return await asyncio.gather(first, *others)

    assert asyncio.run(one_after_another()) == [["a"], ["b"], ["c"]]
    assert calls == [["a"], ["b", "c"]]


def test_an_error_reaches_each_request_of_its_batch_and_the_next_batch_is_answered() -> None:
    def inverses(numbers: Sequence[int]) -> list[float]:
        return [1 / number for number in numbers]

    async def asked() -> tuple[list[list[float] | BaseException], list[float]]:
        ask = Batcher(inverses)
        wrong = await asyncio.gather(ask([0]), ask([1]), return_exceptions=True)
        return wrong, await ask([2])

    wrong, right = asyncio.run(asked())
    assert all(isinstance(each, ZeroDivisionError) for each in wrong)
    assert right == [0.5]


def test_a_request_that_is_cancelled_takes_nothing_from_the_others() -> None:
    async def asked() -> list[int]:
        ask = Batcher(lambda numbers: [-number for number in numbers])
        cancelled, kept = asyncio.ensure_future(ask([1, 2])), asyncio.ensure_future(ask([3]))
        await asyncio.sleep(0)
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        return await kept

    assert asyncio.run(asked()) == [-3]
