"""Copies files over the life of a study: starts the keeper, and at the end removes the copies on all machines."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial

import ray
from ray.exceptions import RayError

from skipstack.search.execution.driver.driver import Driver
from skipstack.search.execution.driver.faults import ClusterLostError
from skipstack.search.execution.engines.ray.carrying.carried_workers import CarriedWorkers
from skipstack.search.execution.engines.ray.carrying.gathering import gathered
from skipstack.search.execution.engines.ray.carrying.mark import Mark
from skipstack.search.execution.engines.ray.carrying.remote_keeper import RemoteKeeper, start_keeper
from skipstack.search.execution.engines.ray.carrying.scratch import swept
from skipstack.search.execution.engines.ray.machines import asked
from skipstack.search.ledger.events import Ended, Event
from skipstack.search.study.task import Workers


@contextmanager
def carried(workers: Workers, driver: Driver, mark: Mark) -> Iterator[CarriedWorkers]:
    """The workers of a study whose files are copied to and from machines that do not see its ``mark``."""
    keeper = start_keeper(driver.folder)

    def hear(event: Event) -> None:
        if isinstance(event, Ended):
            keeper.over(event.trial)

    driver.listen(hear)
    try:
        yield CarriedWorkers(workers, keeper, mark, driver.halts)
    finally:
        with suppress(RayError, OSError, ClusterLostError):
            _end(keeper, mark)


def gather(carried: CarriedWorkers) -> bool:
    """Let every machine send the files of its trials; False if none was ever copied, or the cluster is gone."""
    with suppress(RayError, OSError):  # the cluster may be gone
        if carried.keeper.moved():
            asked(partial(gathered, carried.mark.word, carried.keeper))
            return True
    return False


def _end(keeper: RemoteKeeper, mark: Mark) -> None:
    if _may_have_carried(keeper):
        asked(partial(swept, mark.word))
    ray.kill(keeper.actor)


def _may_have_carried(keeper: RemoteKeeper) -> bool:
    """Whether any file was copied; True also if the keeper does not answer: it may have died."""
    try:
        return keeper.moved() > 0
    except OSError:
        return True
