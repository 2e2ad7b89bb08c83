"""The end of a study's hours: how long it waits for the reports of running trials, and the messages recorded for trials
that it ends.
"""

from dataclasses import dataclass
from typing import Final, Self

AT_A_REPORT: Final = "stopped at the next report"

NOT_CONTINUED: Final = "not continued"

LEAST: Final = 60.0
"""Shortest wait for a report, in seconds."""

EPOCHS: Final = 2
"""Length of the wait for a report in multiples of the longest epoch, if that is more than ``LEAST``."""


@dataclass(frozen=True, slots=True)
class Patience:
    """The wait for the next reports of running trials. ``seconds``: its length. ``until``: its end, as a Unix time."""

    seconds: float
    until: float

    @classmethod
    def of(cls, longest: float, now: float) -> Self:
        """Return the wait that begins at ``now``, in a study whose longest epoch so far took ``longest`` seconds."""
        seconds = max(LEAST, EPOCHS * longest)
        return cls(seconds, now + seconds)

    def is_over(self, now: float) -> bool:
        """Whether the wait is over."""
        return now >= self.until

    @property
    def words(self) -> str:
        """The message that is recorded for a trial that did not report during the wait."""
        return f"no report within {round(self.seconds, 1):g} s"
