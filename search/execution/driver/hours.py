"""How trials end that were not trained to their ends when the hours of their study were over."""

from dataclasses import dataclass
from typing import Final, Self

AT_A_REPORT: Final = "stopped at the next report"

NOT_CONTINUED: Final = "not continued"

LEAST: Final = 60.0
"""Seconds for which a report is waited for at least."""

EPOCHS: Final = 2
"""A report is waited for as long as so many of the longest epochs take."""


@dataclass(frozen=True, slots=True)
class Patience:
    """The ``seconds`` for which the next reports of running trials are waited for, ``until`` a Unix time."""

    seconds: float
    until: float

    @classmethod
    def of(cls, longest: float, now: float) -> Self:
        """From now on, in a study whose ``longest`` epoch so far took so many seconds."""
        seconds = max(LEAST, EPOCHS * longest)
        return cls(seconds, now + seconds)

    def is_over(self, now: float) -> bool:
        """Whether nobody waits any more."""
        return now >= self.until

    @property
    def words(self) -> str:
        """What is recorded of a trial that did not report meanwhile."""
        return f"no report within {round(self.seconds, 1):g} s"
