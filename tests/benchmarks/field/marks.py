"""Two searches compared over tasks and seeds: the ratio of their regrets, and the cost to the other's last regret.

Array legend: R seeds, S tasks.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

import numpy as np

from skipstack.search.statistics.estimates import over_sentences_too
from skipstack.search.statistics.multiple_testing import holm
from tests.benchmarks.field.race import Course

FLOOR: Final = 0.01
"""Is added to both regrets, in units of the task's scale: a regret of 0 has no ratio."""

Courses = Mapping[tuple[str, str, int], Course]
"""By method, task and seed."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """The ratio of one search's regrets to another's, a geometric mean over ``tasks`` and ``seeds``.

    ``low``, ``high``, ``p``: the 95 % interval and the p of a ratio of 1, over other seeds and other tasks. None with a
    single seed or task.
    """

    value: float
    low: float | None
    high: float | None
    p: float | None
    tasks: int
    seeds: int


def log_regret(regret: float, scale: float) -> float:
    """The logarithm of a regret in units of the task's scale."""
    return math.log(regret / scale + FLOOR)


def common_tasks(courses: Courses, methods: Sequence[str], tasks: Iterable[str]) -> list[str]:
    """Those of ``tasks`` that all these methods have run: a search that is slow may have run on fewer."""
    known = {(method, task) for method, task, _ in courses}
    return [task for task in tasks if all((method, task) in known for method in methods)]


def common_seeds(courses: Courses, methods: Sequence[str], tasks: Sequence[str]) -> list[int]:
    """The seeds that all these methods have run on all these tasks, ascending."""
    own = [
        {seed for name, other, seed in courses if (name, other) == (method, task)}
        for method in methods
        for task in tasks
    ]
    return sorted(set.intersection(*own)) if own else []


def ratio(courses: Courses, ours: str, theirs: str, scales: Mapping[str, float]) -> Ratio | None:
    """How the last regrets of ``ours`` compare with those of ``theirs``, on the tasks that both have run; None if they
    have no seed in common.

    The logarithm of the ratio is a table of seeds and tasks, whose mean has an interval over both, as a difference of
    two networks has over seeds and sentences (``chance.mean_squares``). ``scales``: of each task.
    """
    tasks = common_tasks(courses, (ours, theirs), scales)
    seeds = common_seeds(courses, (ours, theirs), tasks)
    if not seeds:
        return None
    table_RS = np.array(
        [
            [
                log_regret(courses[ours, task, seed].after(), scales[task])
                - log_regret(courses[theirs, task, seed].after(), scales[task])
                for task in tasks
            ]
            for seed in seeds
        ]
    )
    value = float(table_RS.mean())
    if len(tasks) == 1:
        return Ratio(math.exp(value), None, None, None, 1, len(seeds))
    found = over_sentences_too(value, table_RS, scale=1.0)
    low, high = (None if each is None else math.exp(each) for each in (found.low, found.high))
    return Ratio(math.exp(value), low, high, found.p, len(tasks), len(seeds))


def cost_to_reach(courses: Courses, ours: str, theirs: str, among: Iterable[str]) -> tuple[float, float] | None:
    """The median over tasks and seeds of the cost at which ``ours`` has the last regret of ``theirs``, relative to the
    cost at which ``theirs`` has it; and the share of races in which ``ours`` ever has it. The median is infinite if it
    is reached in fewer than half. None if they have no seed in common. ``among``: tasks, of which those count that both
    have run.
    """
    tasks = common_tasks(courses, (ours, theirs), among)
    seeds = common_seeds(courses, (ours, theirs), tasks)
    if not seeds:
        return None
    found = []
    for task in tasks:
        for seed in seeds:
            last = courses[theirs, task, seed].moments[-1].regret
            found.append(courses[ours, task, seed].until(last) / courses[theirs, task, seed].until(last))
    return median(found), sum(map(math.isfinite, found)) / len(found)


def corrected(ratios: Sequence[Ratio | None]) -> tuple[float | None, ...]:
    """The p values of a table, corrected for their number by Holm's procedure."""
    return tuple(each.p for each in holm([None if each is None else each.p for each in ratios]))
