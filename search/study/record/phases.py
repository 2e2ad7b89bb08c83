"""Computes from the times of a study's events when each trial was waiting, training, paused, or being measured."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from skipstack.search.ledger.events import (
    Begun,
    Decided,
    Ended,
    Event,
    Interrupted,
    Measuring,
    Placed,
    Reported,
    Resumed,
    Retried,
    Started,
    Tested,
    Untested,
)

Phase = Literal["waiting", "training", "paused", "measuring"]
"""A phase of a trial: waiting for a worker, being trained, paused at a rung, or being measured on the test split."""


@dataclass(frozen=True, slots=True)
class PhaseSpan:
    """The time that a trial spent in one phase.

    ``trial``: the trial's number. ``began``, ``until``: the start and the end, in Unix seconds. ``under_way``: whether
    the phase continues. ``state``: how the phase ended. It is the name of the next phase, the reason of the trial's end
    or of a fault, ``measured`` or ``interrupted``. If the phase continues, it is ``waiting``, ``running``, ``paused``
    or ``measuring``.
    """

    trial: int
    phase: Phase
    began: float
    until: float
    state: str
    under_way: bool = False


class Phases:
    """Computes the phases of the trials of a search or of an ablation. Pass its events to ``happened`` in ledger order;
    events that change no phase may be left out. ``spans`` then yields the phases.
    """

    def __init__(self) -> None:
        self.over: list[PhaseSpan] = []
        """The phases that have ended, in the order of their ends."""
        self._now: dict[int, tuple[Phase, float]] = {}
        self._time = 0.0
        self._queues = False
        self._says_who_waits = False
        """Whether the ledger says when a worker starts a trial. True from the first ``Begun`` event on."""

    def happened(self, event: Event) -> None:
        """Update the phases with the next event."""
        before, self._time = self._time, event.time
        match event:
            case Placed():
                self._queues = event.engine == "ray"
            case Interrupted():
                self._leave(event.time)
            case Resumed():
                self._leave(before)  # the last driver was killed, some time after its last event
            case Started(trial=number):
                self._begin(number, "waiting" if self._queues else "training", event.time)
            case Begun(trial=number):
                self._says_who_waits = True
                self._begin(number, "training", event.time)
            case Reported(trial=number) if self._phase(number) == "waiting":
                self._begin(number, "training", event.time - event.seconds)
            case Decided(trial=number, decision="pause"):
                self._end(number, event.time, "paused")
                self._now[number] = "paused", event.time
            case Measuring(trial=number):
                self._begin(number, "measuring", event.time)
            case Retried(trial=number):
                self._end(number, event.time, event.cause)
            case Ended(trial=number) | Untested(trial=number):
                self._end(number, event.time, event.reason)
            case Tested(trial=number):
                self._end(number, event.time, "measured")
            case _:
                pass

    def now(self, phase: Phase) -> list[int]:
        """Return the numbers of the trials in the given phase, in the order in which they entered the phase."""
        return [number for number, (current, _) in self._now.items() if current == phase]

    def spans(self) -> Iterator[PhaseSpan]:
        """Yield all phases so far. Phases that continue last until the last event."""
        yield from self.over
        for number, (phase, began) in self._now.items():
            state = "running" if phase == "training" else phase
            yield PhaseSpan(number, phase, began, self._time, state, under_way=True)

    def _phase(self, number: int) -> Phase | None:
        return self._now[number][0] if number in self._now else None

    def _begin(self, number: int, phase: Phase, time: float) -> None:
        before = self._now.pop(number, None)
        if before is not None:
            self.over.append(PhaseSpan(number, before[0], before[1], max(time, before[1]), phase))
        self._now[number] = phase, time

    def _end(self, number: int, time: float, state: str) -> None:
        if number in self._now:
            phase, began = self._now.pop(number)
            if phase == "waiting" and not self._says_who_waits:
                phase = "training"  # the ledger does not record which part of the time was waiting
            self.over.append(PhaseSpan(number, phase, began, time, state))

    def _leave(self, time: float) -> None:
        """End at ``time`` all phases except pauses, since no worker is running any more."""
        for number in [number for number, (phase, _) in self._now.items() if phase != "paused"]:
            self._end(number, time, "interrupted")
