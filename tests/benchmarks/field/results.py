"""What has been run: ``results.jsonl`` has a line for each race, and for the cost of each search's proposals."""

import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.benchmarks.field.marks import Courses
from tests.benchmarks.field.race import Course, Moment

FILE: Final = Path(__file__).with_name("results.jsonl")


class Key(NamedTuple):
    """A race."""

    task: str
    method: str
    workers: int
    seed: int


class Size(NamedTuple):
    """Of a task (``race.Task``)."""

    scale: float
    budget: float


class Cost(NamedTuple):
    """The processor seconds of a proposal and its report after ``trials``."""

    seconds: float
    trials: int


@dataclass(frozen=True, slots=True)
class Results:
    """``courses``: of each race. ``sizes``: of each task. ``costs``: of each search."""

    courses: dict[Key, Course]
    sizes: dict[str, Size]
    costs: dict[str, Cost]

    @classmethod
    def read(cls) -> "Results":
        """All lines; the last of a key counts."""
        found = cls({}, {}, {})
        for line in FILE.read_text().splitlines() if FILE.exists() else ():
            match json.loads(line):
                case {"race": key, "size": size, "asked": asked, "seconds": seconds, "moments": moments}:
                    own = Key(*key)
                    found.courses[own] = Course(tuple(Moment(*each) for each in moments), seconds, asked)
                    found.sizes[own.task] = Size(*size)
                case {"proposals": method, "seconds": seconds, "trials": trials}:
                    found.costs[method] = Cost(seconds, trials)
        return found

    def add(self, key: Key, course: Course, size: Size) -> None:
        """Keep a race."""
        self.courses[key], self.sizes[key.task] = course, size
        moments = [(each.reports, _short(each.cost), _short(each.regret)) for each in course.moments]
        rest = {
            "size": [*map(_short, size)],
            "asked": course.asked,
            "seconds": _short(course.seconds),
            "moments": moments,
        }
        _append({"race": key, **rest})

    def cost(self, method: str, cost: Cost) -> None:
        """Keep the cost of a proposal."""
        self.costs[method] = cost
        _append({"proposals": method, "seconds": _short(cost.seconds), "trials": cost.trials})

    def of(self, workers: int, tasks: Collection[str]) -> Courses:
        """The races with so many workers on these tasks."""
        return {
            (key.method, key.task, key.seed): course
            for key, course in self.courses.items()
            if key.workers == workers and key.task in tasks
        }


def _append(line: dict[str, Any]) -> None:
    with FILE.open("a") as file:
        file.write(json.dumps(line, separators=(",", ":")) + "\n")


def _short(number: float) -> float:
    """Five digits of a number."""
    return float(f"{number:.5g}")
