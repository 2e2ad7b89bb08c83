"""How often a trial's files are sent while nobody asks for them: the more seldom, the longer it takes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

SELDOM: Final = 20
"""Times as long as the last sending took, until the next: so it takes a twentieth of a trial's time at most."""

LATEST: Final = 600.0
"""Seconds until the next at the latest, after which a lost machine would cost too much training."""


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
        """Within, files are sent."""
        began = self._clock()
        yield
        self._ended = self._clock()
        self._took = self._ended - began
