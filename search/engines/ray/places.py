"""Places: processes of the cluster with the trials that they hold, and the trials that wait for one."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Final

from skipstack.search.driver.driver import Driver
from skipstack.search.driver.task import TrialTask
from skipstack.search.engines.room import Resources


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
    """A process that trains, or is to start. ``taken``: what it has of a machine; ``tasks``: its trials, by number."""

    program: TrialTask | None
    taken: Resources
    tasks: dict[int, TrialTask] = field(default_factory=dict)

    def hold(self, tasks: Iterable[TrialTask]) -> None:
        """Take in these trials."""
        self.tasks.update((task.number, task) for task in tasks)


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

    def mates(self, program: TrialTask | None, count: int, but: Collection[int]) -> list[TrialTask]:
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
