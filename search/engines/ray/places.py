"""Places: processes of the cluster with the trials that they hold, and the trials that wait for one."""

import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from skipstack.search.driver.driver import Driver
from skipstack.search.driver.task import TrialTask
from skipstack.search.engines.room import Capacity, Resources
from skipstack.search.engines.settling import Settling


@dataclass(frozen=True, slots=True)
class Sharing:
    """``most`` trials of one program are in a place at a time. ``program_of`` gives that of a trial, as one trial with
    all of its lanes; None: it has a place to itself.
    """

    most: int = 1
    program_of: Callable[[TrialTask], TrialTask | None] = lambda task: None


ALONE: Final = Sharing()


@dataclass(eq=False, slots=True)
class Place:
    """A process that trains, or is to start. ``taken``: what it has of a machine; ``tasks``: its trials, by number;
    ``begun``: those of them that it has taken up.
    """

    program: TrialTask | None
    taken: Resources
    tasks: dict[int, TrialTask] = field(default_factory=dict)
    begun: set[int] = field(default_factory=set)

    def hold(self, tasks: Iterable[TrialTask]) -> None:
        """Take in these trials."""
        for task in tasks:
            self.tasks[task.number] = task
            self.begun.discard(task.number)

    def begin(self) -> list[int]:
        """Take up the trials that it has not begun with: their numbers."""
        new = [number for number in self.tasks if number not in self.begun]
        self.begun.update(new)
        return new


class Waiting:
    """Trials that the driver has given, and that wait for a place, the oldest first.

    Where programs are shared, as many are taken from the driver beforehand as a place holds, so that trials of one
    program come together; else one. ``program_of``: that of a trial, on what trials compute now.
    """

    def __init__(self, driver: Driver, most: int, program_of: Callable[[TrialTask], TrialTask | None]) -> None:
        self._driver = driver
        self._most = most
        self._program_of = program_of
        self._tasks: list[tuple[TrialTask, TrialTask | None]] = []

    def first(self, but: Collection[int]) -> tuple[TrialTask, TrialTask | None] | None:
        """The first trial that is none of ``but``, and its program; None if there is none now. It waits on."""
        self._end_with_the_hours()
        while True:
            for task, program in self._tasks:
                if task.number not in but:
                    return task, program
            if not self._draw():
                return None

    def take(self, task: TrialTask) -> None:
        """It waits no more."""
        self._tasks = [each for each in self._tasks if each[0] is not task]

    def mates(self, program: TrialTask | None, count: float, but: Collection[int]) -> list[TrialTask]:
        """Take up to ``count`` trials of a program."""
        self._end_with_the_hours()
        found: list[TrialTask] = []
        while program is not None and len(found) < count:
            mate = next((task for task, own in self._tasks if own == program and task.number not in but), None)
            if mate is not None:
                self.take(mate)
                found.append(mate)
            elif not self._draw():
                break
        return found

    def _end_with_the_hours(self) -> None:
        """Where the study's hours are over, those that wait are not continued."""
        if self._tasks and self._driver.hours_are_over():
            tasks, self._tasks = self._tasks, []
            for task, _ in tasks:
                self._driver.not_continued(task.number)

    def _draw(self) -> bool:
        """Take the driver's next trial, unless enough wait; whether there is one."""
        task = self._driver.next() if len(self._tasks) < self._most else None
        if task is not None:
            self._tasks.append((task, self._program_of(task)))
        return task is not None


class Places:
    """The places of a study that trains. ``sharing``: which trials share one; ``most``: so many run at a time.

    What a trial takes is settled for its place, which takes what all lanes of its program do.
    """

    def __init__(
        self, driver: Driver, settling: Settling, capacity: Capacity, sharing: Sharing, most: int | None
    ) -> None:
        self._settling = settling
        self._capacity = capacity
        self._sharing = sharing
        self._most = most
        self._waiting = Waiting(driver, sharing.most, self._program)
        self.held: dict[str, Place] = {}
        """By what Tune takes for a trial."""
        self.alone: set[int] = set()
        """Trials that were in a place whose process ended: which of them ended it is not known."""
        self.parting: set[int] = set()
        """Trials that have ended or paused, and send what is left of them; others may begin meanwhile."""

    def next(self) -> TrialTask | None:
        """The trial for which a place is opened next; None if there is none now."""
        found = self._waiting.first(self.parting)
        return None if found is None else found[0]

    def open(self, trial_id: str) -> Place | None:
        """A place for the next trial, and for others of its program.

        None where it is not known yet what it takes. Where places are shared, None as well where there is no room:
        trials that waited there for room could join none of the places that have some meanwhile.
        """
        found, allotment = self._waiting.first(self.parting), self._settling.allotment
        assert found is not None, "a trial is next"
        task, program = found
        counted = task if program is None else replace(program, number=task.number)
        if not allotment.is_known(counted):
            return None
        ordinary = allotment.ordinary(counted)
        if self._sharing.most > 1 and not (self._free() > 0 and self._capacity.has_room(ordinary, task.share)):
            return None
        self._waiting.take(task)
        place = self.held[trial_id] = Place(program, self._capacity.take(trial_id, ordinary, task.share))
        place.hold([allotment.confined(task, place.taken)])
        self.joining(place)
        return place

    def joining(self, place: Place) -> list[TrialTask]:
        """Trials that wait, or that the driver has now, for what is free of a place, which holds them from now on."""
        free = min(self._sharing.most - len(place.tasks), self._free())
        allotment, mates = self._settling.allotment, self._waiting.mates(place.program, free, self.parting)
        confined = [allotment.confined(each, place.taken) for each in mates]
        place.hold(confined)
        return confined

    def _free(self) -> float:
        """How many more trials may run."""
        return math.inf if self._most is None else self._most - sum(len(each.tasks) for each in self.held.values())

    def _program(self, task: TrialTask) -> TrialTask | None:
        """The program that a trial may share, on what trials compute now."""
        if task.number in self.alone:
            return None
        allotment = self._settling.allotment
        return self._sharing.program_of(allotment.confined(task, allotment.resources))
