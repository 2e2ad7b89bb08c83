"""How many trials a cluster has room for, and how large a share each of them takes."""

import math
import time
from collections.abc import Callable, Mapping, Sequence

LOOKED_AT = 2.0
"""Seconds between two looks at a cluster, which grows and shrinks."""

SLACK = 1e-9

Resources = Mapping[str, float]


class Room:
    """The room of a cluster whose machines ``nodes`` tells, for trials that ordinarily take ``ordinary`` each.

    Names are ray's: ``cpu`` and ``gpu`` of a trial are ``CPU`` and ``GPU`` of a machine.
    """

    def __init__(self, ordinary: Resources, nodes: Callable[[], Sequence[Resources]]) -> None:
        self.ordinary = ordinary
        self.taken: dict[str, Resources] = {}
        """By trial, those that run or wait for room."""
        self._look = nodes
        self._nodes: Sequence[Resources] = ()
        self._looked = -math.inf

    def is_full(self) -> bool:
        """Whether the trials that were let in need more than there is: so one at a time waits, and no machine does."""
        nodes = self._current()
        for name in self.ordinary:
            needed = sum(each[name] for each in self.taken.values())
            if needed > sum(node.get(name.upper(), 0.0) for node in nodes) + SLACK:
                return True
        return False

    def take(self, trial: str, share: int) -> Resources:
        """Let a trial in. What it takes: ``share`` times the ordinary, and no more than any machine has."""
        nodes = self._current()
        self.taken[trial] = {
            name: _shared(amount, share, most=max((node.get(name.upper(), 0.0) for node in nodes), default=0.0))
            for name, amount in self.ordinary.items()
        }
        return self.taken[trial]

    def leave(self, trial: str) -> None:
        """A trial is over, or its attempt is."""
        self.taken.pop(trial, None)

    def _current(self) -> Sequence[Resources]:
        now = time.monotonic()
        if now - self._looked >= LOOKED_AT:
            self._nodes, self._looked = self._look(), now
        return self._nodes


def _shared(amount: float, share: int, *, most: float) -> float:
    """``share`` times ``amount``; of one device at most its whole, since a trial computes on one."""
    wanted = amount * share
    if amount < 1:
        wanted = min(wanted, 1.0)
    return amount if share == 1 else max(amount, min(wanted, most))
