"""Counts the hours for which a study has run, summed over all its runs, from the times of its events."""

from collections.abc import Iterable
from typing import Final

from skipstack.search.ledger.events import (
    Event,
    Extended,
    Finished,
    Interrupted,
    Measuring,
    Noted,
    Renamed,
    Shortened,
    Tested,
    Untested,
)
from skipstack.search.strategy.objectives.stopping_rule import WORK

HOUR: Final = 3600.0
"""Seconds in an hour."""

LAST_OF_A_RUN: Final = (Finished, Interrupted)
"""Events that end a run. The time after them does not count."""

DURING_A_RUN: Final = (*WORK, Measuring, Tested, Untested, *LAST_OF_A_RUN)
"""Events that occur only while a study runs. ``Shortened`` is also such an event, unless the user shortened the study.
"""

OF_A_USER: Final = (Extended, Noted, Renamed)
"""Events that a user causes, during a run or between two runs. ``Shortened`` is also such an event if the user
shortened the study. A study that is resumed after them has ``Resumed`` before its next event in ``DURING_A_RUN``.
"""

BY_A_USER: Final = "stopped by "
"""The beginning of the message of a trial that a user stopped. No message of a trial that the limit of hours stopped
begins in this way.
"""


def cut_short(ends: Iterable[tuple[int, str, str]]) -> dict[str, list[int]]:
    """Return the numbers of the trials that the study's limit of hours stopped, grouped by the message with which they
    ended. ``ends``: the number, state and message of each trial of a study whose hours are over. The message is empty
    if the scheduler stopped the trial.
    """
    cut: dict[str, list[int]] = {}
    for number, state, message in ends:
        if state == "stopped" and message and not message.startswith(BY_A_USER):
            cut.setdefault(message, []).append(number)
    return cut


class Working:
    """Adds up the time for which a study has run. Pass its events to ``happened`` in ledger order. A run counts from
    its first event in ``DURING_A_RUN`` to its last one. Events in ``OF_A_USER`` change nothing. After any other event,
    such as ``Resumed``, another run begins.
    """

    def __init__(self) -> None:
        self._seconds = 0.0
        self._last: float | None = None

    def happened(self, event: Event) -> None:
        """Add the time from the last event in ``DURING_A_RUN`` to ``event`` if both are of the same run."""
        by_the_user = isinstance(event, Shortened) and event.gain is None and event.over is None
        if by_the_user or isinstance(event, OF_A_USER):
            return
        if not isinstance(event, (*DURING_A_RUN, Shortened)):
            self._last = None
            return
        if self._last is not None:
            self._seconds += max(event.time - self._last, 0.0)
        self._last = None if isinstance(event, LAST_OF_A_RUN) else event.time

    @property
    def runs(self) -> bool:
        """Whether the last event was within a run."""
        return self._last is not None

    def rests(self) -> None:
        """Record that the study is not running, so that the time until the next event does not count."""
        self._last = None

    def seconds(self, now: float | None = None) -> float:
        """The seconds counted so far. If the study is running and ``now`` is given, the time from its last event to
        ``now`` is included.
        """
        return self._seconds + (0.0 if self._last is None or now is None else max(now - self._last, 0.0))
