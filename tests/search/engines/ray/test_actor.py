"""What an actor tells of its trial, without a cluster."""

import socket
from typing import Any

import pytest
import ray

from skipstack.search.driver.faults import OutOfSpaceError
from skipstack.search.driver.task import EpochResult
from skipstack.search.engines.ray import actor as module
from skipstack.search.engines.ray.actor import TrialActor

FULL = "trials/000001: not written, the disk is full (allowed: a disk with room)"


class FullAttempt:
    """Has no room for an epoch."""

    def run_epoch(self) -> EpochResult:
        raise OutOfSpaceError(FULL)

    def close(self) -> None:
        """Nothing is held."""


@pytest.mark.parametrize(("preflight", "where"), [(None, ""), (object(), "; met on machine host-7 (10.0.0.7)")])
def test_of_several_machines_the_one_is_named_that_met_a_full_disk(
    preflight: object, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "host-7")
    monkeypatch.setattr(ray.util, "get_node_ip_address", lambda: "10.0.0.7")
    monkeypatch.setattr(module, "_check_once", lambda _: None)
    actor: Any = object.__new__(TrialActor)
    actor.config, actor.attempt = {"preflight": preflight}, FullAttempt()
    outcome = actor.step()["outcome"]
    assert isinstance(outcome, OutOfSpaceError)
    assert str(outcome) == FULL + where
