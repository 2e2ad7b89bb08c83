"""Races our searches and others', and writes docs/field.md: `make field`, or `python -m tests.benchmarks.field`.

What was run before is not run again: a race's line is in ``results.jsonl``. So more seeds are a matter of ``--seeds``.
"""

import argparse
import time
from collections.abc import Iterator
from itertools import product
from typing import Final

from tests.benchmarks.field.methods import RACES, STOPPING_RACES, Field, proposal_cost, run
from tests.benchmarks.field.page import write
from tests.benchmarks.field.remote import MissingError
from tests.benchmarks.field.results import Key, Results, Size
from tests.benchmarks.field.tasks import names

COSTED: Final = "hpobench/australian"
"""The task on which the cost of a proposal is measured; nothing is said of its regret."""


def wanted(*, lock: bool, seeds: int, workers: list[int]) -> Iterator[Key]:
    """All races, task by task."""
    for task, seed, method in product(names(stopping=False, lock=lock), range(seeds), RACES):
        yield Key(task, method, 1, seed)
    for task, beside, seed, method in product(names(stopping=True, lock=lock), workers, range(seeds), STOPPING_RACES):
        yield Key(task, method, beside, seed)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.field", description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3, help="how many seeds a search has on a task (default: 3)")
    parser.add_argument("--workers", type=int, nargs="*", default=[4], help="of races with stopping (default: 4)")
    parser.add_argument(
        "--locked", action="store_true", help="run the locked half of the tasks instead of the open one"
    )
    parser.add_argument(
        "--methods", nargs="*", metavar="TEXT", default=[""], help="only searches with this in their names"
    )
    parser.add_argument("--tasks", nargs="*", metavar="TEXT", default=[""], help="only tasks with this in their names")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="end after the race that is on then")
    given = parser.parse_args()
    results, field, until = Results.read(), Field(), time.monotonic() + 60 * given.minutes
    missing: dict[str, str] = {}

    def wants(method: str) -> bool:
        """Whether a search is still to be run, and can be."""
        asked = any(text in method for text in given.methods)
        return asked and method.partition(":")[0] not in missing and time.monotonic() < until

    for key in wanted(lock=given.locked, seeds=given.seeds, workers=given.workers):
        if key in results.courses or not wants(key.method) or not any(text in key.task for text in given.tasks):
            continue
        task = field.task(key.task)
        try:
            course = run(field, key.method, task, seed=key.seed, workers=key.workers)
        except MissingError as error:
            missing[key.method.partition(":")[0]] = str(error)
        else:
            results.add(key, course, Size(task.scale, task.budget))
            print(f"{key}: {course.asked} trials, {course.seconds:.1f} s", flush=True)
    for method in RACES:
        if method not in results.costs and wants(method):
            try:
                results.cost(method, proposal_cost(field, method, field.task(COSTED)))
            except MissingError as error:
                missing[method.partition(":")[0]] = str(error)
    for tool, why in missing.items():
        print(f"{tool}: {why}")
    field.close()
    write(results)


if __name__ == "__main__":
    main()
