"""Answers requests that arrive together by one call, so that a network reads their texts in one batch."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

from starlette.concurrency import run_in_threadpool

Item = TypeVar("Item")
Answer = TypeVar("Answer")

WAIT: Final = 0.004
"""The seconds for which the first of several requests waits for others."""


class Batcher(Generic[Item, Answer]):
    """Collects the items of requests, and passes them to ``answers`` together. ``answers``: a function that returns an
    answer for each item, in order. It runs in a thread, and is never called twice at once: requests that arrive during
    a call are the next batch. An exception in it is raised in each request of the batch.
    """

    def __init__(self, answers: Callable[[Sequence[Item]], Sequence[Answer]]) -> None:
        self._answers = answers
        self._waiting: list[tuple[Sequence[Item], asyncio.Future[list[Answer]]]] = []
        self._task: asyncio.Task[None] | None = None

    async def __call__(self, items: Sequence[Item]) -> list[Answer]:
        """Return the answers to the items of a request."""
        future: asyncio.Future[list[Answer]] = asyncio.get_running_loop().create_future()
        self._waiting.append((items, future))
        if self._task is None:
            self._task = asyncio.create_task(self._answer_all())
        return await future

    async def _answer_all(self) -> None:
        await asyncio.sleep(WAIT)
        while batch := self._waiting:
            self._waiting = []
            try:
                found = iter(await run_in_threadpool(self._answers, [item for items, _ in batch for item in items]))
                for items, future in batch:
                    own = [next(found) for _ in items]
                    if not future.done():  # it is done if its request was cancelled
                        future.set_result(own)
            except Exception as error:  # noqa: BLE001 (raised in the requests)
                for _, future in batch:
                    if not future.done():
                        future.set_exception(error)
        self._task = None
