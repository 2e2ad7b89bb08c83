"""Decides how often a trial's files are sent while nobody asks for them: the longer it takes, the more rarely."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

SELDOM: Final = 20
"""Wait until the next sending, in durations of the last one: so it takes a twentieth of a trial's time at most."""

LATEST: Final = 600.0
"""Longest wait until the next sending, in seconds: after that, a lost machine would cost too much training."""


class Pace:
    """Says when the next sending is due, by ``clock``, in seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._ended = -LATEST + clock()
        self._took = 0.0

    def is_due(self) -> bool:
        """Whether it is time to send."""
        return self._clock() - self._ended >= min(SELDOM * self._took, LATEST)

    @contextmanager
    def sending(self) -> Iterator[None]:
        """Measure the time that the block takes to send files."""
        began = self._clock()
        yield
        self._ended = self._clock()
        self._took = self._ended - began
