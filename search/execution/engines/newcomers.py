"""Machines that join a cluster in the midst of a study: whether they see its folder."""

from collections.abc import Callable, Collection, Iterable
from typing import Protocol


class Sight(Protocol):
    """A machine's answer to whether it sees the study's folder."""

    def is_over(self) -> bool:
        """Whether the answer is there, or was too long in coming."""

    def answer(self) -> object:
        """Whether it sees it; anything else where it did not answer."""


class Newcomers:
    """Asks machines that join after those ``known``, by id, until one does not see the study's folder. ``ask`` begins
    to ask one: nobody waits for an answer.
    """

    def __init__(self, known: Iterable[str], ask: Callable[[str], Sight]) -> None:
        self._known = set(known)
        self._ask = ask
        self._asked: dict[str, Sight] = {}

    def unseeing(self, machines: Collection[str]) -> int:
        """How many of those that have joined since the last look answer that they do not see it."""
        joined = [machine for machine in machines if machine not in self._known]
        self._known.update(joined)
        self._asked |= {machine: self._ask(machine) for machine in joined}
        over = [machine for machine, each in self._asked.items() if each.is_over()]
        return sum(self._asked.pop(machine).answer() is False for machine in over)
