"""The end of a study's hours (``search.hours``): the wait for reports of running trials, and messages to record."""

from dataclasses import dataclass
from typing import Final, Self

AT_A_REPORT: Final = "stopped at the next report"

NOT_CONTINUED: Final = "not continued"

LEAST: Final = 60.0
"""Shortest wait for a report, in seconds."""

EPOCHS: Final = 2
"""The wait for a report, as a multiple of the longest epoch. The wait is never shorter than ``LEAST``."""


@dataclass(frozen=True, slots=True)
class Patience:
    """The wait for the next reports of running trials. ``seconds``: its length. ``until``: its end, as a Unix time."""

    seconds: float
    until: float

    @classmethod
    def of(cls, longest: float, now: float) -> Self:
        """Return the wait from ``now`` (Unix time) on. ``longest``: the seconds of the longest epoch so far."""
        seconds = max(LEAST, EPOCHS * longest)
        return cls(seconds, now + seconds)

    def is_over(self, now: float) -> bool:
        """Whether the wait is over."""
        return now >= self.until

    @property
    def words(self) -> str:
        """The message that is recorded for a trial that did not report during the wait."""
        return f"no report within {round(self.seconds, 1):g} s"
