"""Checks whether machines that join a cluster during a study see the study's folder."""

from collections.abc import Callable, Collection, Iterable
from typing import Protocol


class Sight(Protocol):
    """The pending answer of a machine that was asked whether it sees the study's folder."""

    def is_over(self) -> bool:
        """Whether the answer has arrived, or is no longer awaited."""

    def answer(self) -> object:
        """Whether the machine sees the folder. The value is not a bool if the machine did not answer."""


class NewMachines:
    """Asks machines that join during a study whether they see the study's folder. ``known``: the ids of machines that
    need not be asked. ``ask`` sends the question to the machine with a given id, without waiting for the answer.
    """

    def __init__(self, known: Iterable[str], ask: Callable[[str], Sight]) -> None:
        self._known = set(known)
        self._ask = ask
        self._asked: dict[str, Sight] = {}

    def unseeing(self, machines: Collection[str]) -> int:
        """Ask new machines. Return how many answers have come since the last call from machines that do not see the
        folder.
        """
        joined = [machine for machine in machines if machine not in self._known]
        self._known.update(joined)
        self._asked |= {machine: self._ask(machine) for machine in joined}
        over = [machine for machine, each in self._asked.items() if each.is_over()]
        return sum(self._asked.pop(machine).answer() is False for machine in over)
