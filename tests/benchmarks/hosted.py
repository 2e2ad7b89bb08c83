"""Many of Ray's workers in a few processes: more than this machine has room for, each a task of a process they share.

All that passes between driver and workers passes through Ray as ever: a place of each in the cluster, its calls, what
they give, and waiting for them. Only its process is not its own; so it must not compute, and training is to sleep.
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count, cycle
from types import SimpleNamespace
from typing import Any

import ray
from ray.actor import ActorClass
from ray.air.execution._internal import actor_manager
from ray.tune.execution.class_cache import _ActorClassCache

from skipstack.search.execution.engines.ray import worker_process

SIDE_BY_SIDE = 1000
"""Calls of a process at a time."""


class Host:
    """A process with many workers. Their epochs take ``seconds``, in which they sleep."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._workers: dict[int, Any] = {}
        self._answered: dict[int, float] = {}
        self._waits: list[float] = []
        worker_process.time = SimpleNamespace(sleep=lambda pause: None)  # it would hold up all others

    async def made(self, number: int, plain: type, options: dict[str, Any]) -> None:
        self._workers[number] = plain(**options)

    async def called(self, number: int, method: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        if method == "__ray_ready__":
            return True
        if method == "__ray_terminate__":
            del self._workers[number]
            return None
        if method in ("train", "reset") and number in self._answered:
            self._waits.append(time.monotonic() - self._answered.pop(number))
        if method == "train":
            await asyncio.sleep(self._seconds)
        answer = getattr(self._workers[number], method)(*arguments, **options)
        if method == "train":
            self._answered[number] = time.monotonic()
            if "greeting" in answer:
                here = _Handle(ray.get_runtime_context().current_actor, number)
                answer["greeting"] = replace(answer["greeting"], process=here)
        return answer

    async def waits(self) -> list[float]:
        """The seconds that workers have waited from each report to what they were told to do next."""
        return self._waits


class _Method:
    def __init__(self, host: Any, number: int, name: str) -> None:
        self._host, self._number, self._name = host, number, name

    def remote(self, *arguments: Any, **options: Any) -> Any:
        return self._host.called.remote(self._number, self._name, arguments, options)


class _Handle:
    """What the driver has of a hosted worker."""

    def __init__(self, host: Any, number: int) -> None:
        self._host, self._number = host, number

    def __reduce__(self) -> tuple[Any, ...]:
        return _Handle, (self._host, self._number)

    def __getattr__(self, name: str) -> _Method:
        return _Method(self._host, self._number, name)


class _HostedClass(ActorClass):  # type: ignore[misc]
    """What the driver makes workers of; the place that each is given in the cluster stays reserved for it."""

    def __new__(cls, *_: object) -> "_HostedClass":
        return object.__new__(cls)

    def __init__(self, plain: type, hosts: Iterator[Any], numbers: Iterator[int]) -> None:
        self._plain, self._hosts, self._numbers = plain, hosts, numbers

    def options(self, **_: object) -> "_HostedClass":
        return self

    def remote(self, **options: Any) -> _Handle:
        host, number = next(self._hosts), next(self._numbers)
        host.made.remote(number, self._plain, options)
        return _Handle(host, number)


@contextmanager
def hosted(processes: int, seconds: float) -> Iterator[list[Any]]:
    """Within, all workers of the cluster that was joined live in so many processes, which it gives."""
    hosts = [
        ray.remote(Host).options(num_cpus=0, max_concurrency=SIDE_BY_SIDE).remote(seconds) for _ in range(processes)
    ]
    ray.get([host.waits.remote() for host in hosts])
    among, numbers, kills = cycle(hosts), count(), actor_manager.ray.kill

    def get(_: object, trainable_cls: type) -> Any:
        return _HostedClass(trainable_cls, among, numbers)

    def killed(actor: Any, **options: Any) -> None:
        if not isinstance(actor, _Handle):
            kills(actor, **options)

    classes, _ActorClassCache.get, actor_manager.ray.kill = _ActorClassCache.get, get, killed
    try:
        yield hosts
    finally:
        _ActorClassCache.get, actor_manager.ray.kill = classes, kills
        for host in hosts:
            kills(host)
