"""A function whose torch takes more threads than its trial has CPUs is warned of, once in a process."""

import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from skipstack.search.execution.driver.driver import Driver
from skipstack.search.execution.engines.serial import SerialEngine
from skipstack.search.execution.workers import seed_run
from skipstack.search.execution.workers.function_worker import FunctionWorkers
from skipstack.search.execution.workers.reporting import Report
from skipstack.search.ledger.ledger import Ledger
from tests.search.functions import Config, open_function


@pytest.fixture(autouse=True)
def first_process() -> Iterator[None]:
    """As in a process that has warned of nothing yet, and with its threads afterwards."""
    before = torch.get_num_threads()
    seed_run._warn_once.cache_clear()
    yield
    torch.set_num_threads(before)


def greedy(config: Config, report: Report) -> None:
    torch.set_num_threads(3)
    for _ in range(2):
        report(score=config["x"])


@pytest.mark.parametrize(("cpus", "times"), [(2, 1), (3, 0), (None, 0)])
def test_it_is_said_once_and_only_where_a_trial_has_fewer_cpus(cpus: int | None, times: int, tmp_path: Path) -> None:
    folder = open_function(tmp_path, greedy, trials=3, seeds=2)
    with warnings.catch_warnings(record=True) as told, Ledger(folder.ledger) as ledger:
        warnings.simplefilter("always")
        SerialEngine(FunctionWorkers(greedy, cpus)).run(Driver(folder, ledger, device="cpu", clock=lambda: 1.0))
    own = [str(each.message) for each in told if "threads" in str(each.message)]
    assert own == times * [
        "torch computes on 3 threads, and the trial has 2 of the CPUs (allowed: torch.set_num_threads(2), or "
        "cpus_per_trial=3)"
    ]
