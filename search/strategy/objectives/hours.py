"""The hours of a study, counted over all its runs from the times of its events."""

from collections.abc import Iterable
from typing import Final

from skipstack.search.ledger.events import Event, Finished, Interrupted, Measuring, Shortened, Tested, Untested
from skipstack.search.strategy.objectives.stopping_rule import WORK

HOUR: Final = 3600.0
"""Seconds of an hour."""

LAST_OF_A_RUN: Final = (Finished, Interrupted)

DURING_A_RUN: Final = (*WORK, Measuring, Tested, Untested, *LAST_OF_A_RUN)
"""Events of a run. Time next to other events does not count: nobody may have run the study."""


def cut_short(ends: Iterable[tuple[int, str, str]]) -> dict[str, list[int]]:
    """The trials that ended because the study's hours were over, by the message with which they were stopped. ``ends``:
    number, state and message of each trial.
    """
    cut: dict[str, list[int]] = {}
    for number, state, message in ends:
        if state == "stopped" and message:
            cut.setdefault(message, []).append(number)
    return cut


class Working:
    """The time for which a study's search was run: each run from its first trial to its end, or to its last event if
    it was killed.
    """

    def __init__(self) -> None:
        self._seconds = 0.0
        self._last: float | None = None

    def happened(self, event: Event) -> None:
        """Add the time of an event."""
        if not _during_a_run(event):
            self._last = None
            return
        if self._last is not None:
            self._seconds += max(event.time - self._last, 0.0)
        self._last = None if isinstance(event, LAST_OF_A_RUN) else event.time

    def rests(self) -> None:
        """Count no time until the next event: nobody runs the study."""
        self._last = None

    def seconds(self, now: float | None = None) -> float:
        """The seconds so far, up to ``now`` if a run goes on."""
        return self._seconds + (0.0 if self._last is None or now is None else max(now - self._last, 0.0))


def _during_a_run(event: Event) -> bool:
    asked = isinstance(event, Shortened) and event.gain is None and event.over is None  # by the user, between two runs
    return isinstance(event, DURING_A_RUN) or (isinstance(event, Shortened) and not asked)
