"""What a cluster has room for, and how large a share of it each trial takes."""

import math
import time
from collections.abc import Callable, Mapping, Sequence

LOOKED_AT = 2.0
"""Seconds between two looks at a cluster, which grows and shrinks."""

SLACK = 1e-9

Resources = Mapping[str, float]
"""Amounts by name. What is ``cpu`` and ``gpu`` of a trial is ``CPU`` and ``GPU`` of a machine, as ray has it."""


class Capacity:
    """The room of a cluster whose machines ``machines`` tells. Trials are let in, and leave."""

    def __init__(self, machines: Callable[[], Sequence[Resources]]) -> None:
        self.taken: dict[str, Resources] = {}
        """By trial, those that run or wait for room."""
        self._look = machines
        self._machines: Sequence[Resources] = ()
        self._looked = -math.inf

    def is_full(self) -> bool:
        """Whether the trials that were let in need more than there is: so one at a time waits, and no machine does."""
        machines = self._current()
        needed: dict[str, float] = {}
        for taken in self.taken.values():
            for name, amount in taken.items():
                needed[name] = needed.get(name, 0.0) + amount
        return any(
            amount > sum(machine.get(name.upper(), 0.0) for machine in machines) + SLACK
            for name, amount in needed.items()
        )

    def take(self, trial: str, ordinary: Resources, share: int) -> Resources:
        """Let a trial in. What it takes: ``share`` times the ``ordinary``, and no more than one machine has."""
        machines = self._current()
        self.taken[trial] = {
            name: _shared(amount, share, most=max((machine.get(name.upper(), 0.0) for machine in machines), default=0))
            for name, amount in ordinary.items()
        }
        return self.taken[trial]

    def leave(self, trial: str) -> None:
        """A trial is over, or its attempt is."""
        self.taken.pop(trial, None)

    def _current(self) -> Sequence[Resources]:
        now = time.monotonic()
        if now - self._looked >= LOOKED_AT:
            self._machines, self._looked = self._look(), now
        return self._machines


def slots(machines: Resources, trial: Resources) -> int:
    """How many trials fit side by side into what all ``machines`` have."""
    return min(int(machines.get(name.upper(), 0) / needed + SLACK) for name, needed in trial.items())


def _shared(amount: float, share: int, *, most: float) -> float:
    """``share`` times ``amount``; of one device at most its whole, since a trial computes on one."""
    wanted = min(amount * share, 1.0) if amount < 1 else amount * share
    return max(amount, min(wanted, most))
