"""What an actor tells of its trial, without a cluster: of what it was given, nothing."""

import socket
from copy import deepcopy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cloudpickle
import pytest
import ray

from skipstack.search.driver.faults import OutOfSpaceError
from skipstack.search.driver.task import EpochResult
from skipstack.search.engines.ray import actor as module
from skipstack.search.engines.ray.actor import Assignment, TrialActor
from skipstack.search.ledger.ledger import Ledger
from tests.search.toy import ToyWorker, open_toy, toy_driver, toy_study

pytestmark = pytest.mark.filterwarnings("default")  # ray's own warnings are not ours to mend


@pytest.fixture(autouse=True)
def no_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray starts wherever it is asked where it is, and later studies of the process would then train there."""
    monkeypatch.setattr(ray.util, "get_node_ip_address", lambda: "10.0.0.7")
    monkeypatch.setattr(module, "this_card", lambda: None)


FULL = "trials/000001: not written, the disk is full (allowed: a disk with room)"


class FullAttempt:
    """Has no room for an epoch."""

    number, reported = 1, 0

    def run_epoch(self) -> EpochResult:
        raise OutOfSpaceError(FULL)

    def close(self) -> None:
        """Nothing is held."""


@pytest.mark.parametrize(("preflight", "where"), [(None, ""), (object(), "; met on machine host-7 (10.0.0.7)")])
def test_of_several_machines_the_one_is_named_that_met_a_full_disk(
    preflight: object, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "host-7")
    monkeypatch.setattr(module, "_check_once", lambda _: None)
    actor: Any = object.__new__(TrialActor)
    actor.config = {"given": SimpleNamespace(preflight=preflight)}
    actor.attempts, actor.parting, actor.begun, actor.broken = [FullAttempt()], set(), True, False
    ((_, outcome),) = actor.step()["outcomes"]
    assert isinstance(outcome, OutOfSpaceError)
    assert str(outcome) == FULL + where


class HeavyWorkers:
    """Workers with much more to tell than a report."""

    def __init__(self) -> None:
        self.weight = bytes(1_000_000)

    def __call__(self, task: object) -> ToyWorker:
        return ToyWorker(task)  # type: ignore[arg-type]


@pytest.fixture
def given(tmp_path: Path) -> Assignment:
    folder = open_toy(tmp_path / "study", toy_study(trials=1))
    with Ledger(folder.ledger) as ledger:
        task = toy_driver(folder, ledger).next()
    assert task is not None
    return Assignment([task], HeavyWorkers(), None)  # type: ignore[arg-type]


def test_a_report_carries_nothing_of_what_its_worker_was_given(given: Assignment) -> None:
    actor = TrialActor(config={"given": given, "resources": {"cpu": 1.0}})
    told = actor.train()
    assert [(number, outcome.epoch) for number, outcome in told["outcomes"]] == [(0, 1)]
    assert len(cloudpickle.dumps(told)) < 2_000
    assert "config" not in told


def test_what_a_worker_is_given_is_neither_copied_nor_printed(given: Assignment) -> None:
    assert deepcopy({"given": given})["given"] is given
    assert len(str(given)) < 200
