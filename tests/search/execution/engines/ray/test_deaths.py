"""Machines that go: Ray's own errors, one by one, and deaths of which Ray does not say whether a machine went."""

from types import SimpleNamespace
from typing import Any

import pytest
import ray
from ray import exceptions
from ray.core.generated.common_pb2 import ActorDiedErrorContext, NodeDeathInfo
from ray.exceptions import (
    ActorDiedError,
    ActorUnavailableError,
    LocalRayletDiedError,
    NodeDiedError,
    ObjectLostError,
    OutOfMemoryError,
    RayActorError,
    RayError,
    RaySystemError,
    WorkerCrashedError,
)

from skipstack.data.basis.errors import UserError
from skipstack.search.execution.driver.faults import ClusterLostError, OutOfSpaceError, WorkersSilentError
from skipstack.search.execution.engines.ray import deaths
from skipstack.search.execution.engines.ray.deaths import CLAIMED_WITHIN, Death, Kernel, loss, unborn
from skipstack.search.execution.engines.ray.machines import lost_cluster_interrupts

ACTOR, MACHINE = b"1" * 16, "ab" * 28


def died(reason: Any, how: Any = None) -> ActorDiedError:
    """As Ray makes it of what it was told."""
    info = {} if how is None else {"node_death_info": NodeDeathInfo(reason=how)}
    return ActorDiedError(ActorDiedErrorContext(reason=reason, actor_id=ACTOR, error_message="it died", **info))


def lost_object(kind: str = "ObjectLostError") -> ObjectLostError:
    made: ObjectLostError = getattr(exceptions, kind)("ab" * 28, None, "")
    return made


CRASHED = died(ActorDiedErrorContext.WORKER_DIED)
PREEMPTED = died(ActorDiedErrorContext.NODE_DIED, NodeDeathInfo.AUTOSCALER_DRAIN_PREEMPTED)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (PREEMPTED, "preempted"),
        (NodeDiedError("the node died"), "lost"),
        (LocalRayletDiedError(), "lost"),
        (lost_object(), "lost"),
        (lost_object("OwnerDiedError"), "lost"),
        (lost_object("ObjectFetchTimedOutError"), "lost"),
        (CRASHED, None),
        (ActorUnavailableError("it does not answer", ACTOR), None),
        (ActorDiedError(), None),
        (RayActorError(), None),
        (OutOfMemoryError("killed"), None),
        (WorkerCrashedError(), None),
        (None, None),
    ],
)
def test_the_loss_of_a_machine_is_known_by_ray_s_errors(error: RayError | None, reason: str | None) -> None:
    found = loss(error)
    assert (None if found is None else found.reason) == reason


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (RaySystemError("gone"), "the Ray cluster does not answer any more"),
        (NodeDiedError("the node died"), "a machine of the Ray cluster is lost"),
        (lost_object(), "a machine of the Ray cluster is lost"),
    ],
)
def test_what_nobody_has_answered_interrupts_in_order_and_says_which_it_was(error: RayError, words: str) -> None:
    with pytest.raises(ClusterLostError, match=words), lost_cluster_interrupts():
        raise error


class Asked:
    """A question that a machine answers at the second look, or not at all."""

    def __init__(self, answer: str | UserError) -> None:
        self._answer, self._looks = answer, 0

    def is_over(self) -> bool:
        self._looks += 1
        return self._looks > 1

    def answer(self) -> str | UserError:
        return self._answer


HERE, AWAY = "here", UserError("TaskUnschedulableError: the node died")


def death(
    monkeypatch: pytest.MonkeyPatch,
    error: RayError | None = CRASHED,
    *,
    machine: str = MACHINE,
    there: bool = True,
    reason: int = NodeDeathInfo.UNEXPECTED_TERMINATION,
    announced: bool = False,
    answer: str | UserError = HERE,
    words: str = "",
    kernel: Kernel | None = None,
) -> Death:
    """Of a process on a machine that is ``there`` or not; ``reason``: why it is not, once that is known."""
    monkeypatch.setattr(deaths, "check_this_machine", lambda: None)
    monkeypatch.setattr(deaths, "draining", lambda: frozenset({machine} if announced else ()))
    seen = iter([there, *([False] * 9)])
    monkeypatch.setattr(deaths, "nodes", lambda: [{"NodeID": machine, "Alive": next(seen), "DeathReason": reason}])
    monkeypatch.setattr(deaths, "Question", lambda *_, **__: Asked(answer))
    monkeypatch.setattr(ray, "get_runtime_context", lambda: SimpleNamespace(get_node_id=lambda: "this"))
    nobody: Any = None
    return Death(nobody, machine, error, words, Kernel(lambda: 0) if kernel is None else kernel)


TAKEN_BACK = NodeDeathInfo.AUTOSCALER_DRAIN_PREEMPTED


@pytest.mark.parametrize(
    ("answer", "why", "reason"),
    [
        (HERE, NodeDeathInfo.UNSPECIFIED, "crashed"),
        (AWAY, NodeDeathInfo.UNEXPECTED_TERMINATION, "lost"),
        (AWAY, TAKEN_BACK, "preempted"),
    ],
)
def test_a_worker_that_died_elsewhere_crashed_only_if_its_machine_answers(
    answer: str | UserError, why: int, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = death(monkeypatch, reason=why, answer=answer)
    assert not found.is_clear(), "it is not known yet"
    assert found.is_clear()
    assert found.fault().reason == reason


def test_a_machine_whose_end_was_announced_was_taken_back_however_it_went(monkeypatch: pytest.MonkeyPatch) -> None:
    found = death(monkeypatch, answer=AWAY, announced=True)
    while not found.is_clear():
        pass
    assert found.fault().reason == "preempted"


@pytest.mark.parametrize(("why", "reason"), [(NodeDeathInfo.UNEXPECTED_TERMINATION, "lost"), (TAKEN_BACK, "preempted")])
def test_a_worker_whose_machine_is_gone_is_told_so_at_once(
    why: int, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = death(monkeypatch, there=False, reason=why)
    assert found.is_clear()
    assert found.fault().reason == reason


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({}, "crashed"),
        ({"words": "... the node running low on memory ..."}, "out_of_memory"),
        ({"error": OutOfMemoryError("killed")}, "out_of_memory"),
    ],
)
def test_a_worker_that_died_here_has_crashed_or_ran_out_of_memory(
    given: dict[str, Any], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = death(monkeypatch, machine="this", **given)
    assert found.is_clear()
    assert found.fault().reason == reason


class Killing:
    """The kernel of this machine as it counts its kills: 7 so far; and a clock."""

    def __init__(self) -> None:
        self.kills, self.now = 7, 0.0
        self.kernel = Kernel(lambda: self.kills, lambda: self.now)

    def reasons(self, monkeypatch: pytest.MonkeyPatch, deaths: int, **given: Any) -> list[str]:
        """The reasons of so many deaths here, handled one after another."""
        return [death(monkeypatch, machine="this", kernel=self.kernel, **given).fault().reason for _ in range(deaths)]


@pytest.mark.parametrize("is_seen_before", [False, True])
def test_each_kill_of_the_kernel_explains_one_death(is_seen_before: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    here = Killing()
    assert here.reasons(monkeypatch, 1) == ["crashed"], "what it killed before the study began explains no death"
    here.kills += 2
    if is_seen_before:
        here.kernel.look()
    assert here.reasons(monkeypatch, 3) == ["out_of_memory", "out_of_memory", "crashed"]
    here.kills += 1
    assert here.reasons(monkeypatch, 2) == ["out_of_memory", "crashed"]


def test_a_kill_that_no_death_has_claimed_in_time_was_of_another_program(monkeypatch: pytest.MonkeyPatch) -> None:
    here = Killing()
    here.kills += 2
    here.kernel.look()
    here.now += CLAIMED_WITHIN
    assert here.reasons(monkeypatch, 1) == ["out_of_memory"]
    here.now += 1
    assert here.reasons(monkeypatch, 1) == ["crashed"]


def test_a_death_that_has_another_cause_claims_no_kill(monkeypatch: pytest.MonkeyPatch) -> None:
    here = Killing()
    here.kills += 1
    assert here.reasons(monkeypatch, 1, error=PREEMPTED) == ["preempted"]
    assert here.reasons(monkeypatch, 1, error=OutOfMemoryError("killed")) == ["out_of_memory"]
    assert not death(monkeypatch, kernel=here.kernel).is_clear(), "it died elsewhere"
    assert here.reasons(monkeypatch, 2) == ["out_of_memory", "crashed"]


def test_counters_that_cannot_be_read_for_a_moment_add_no_kill(monkeypatch: pytest.MonkeyPatch) -> None:
    here = Killing()
    here.kills = 0
    here.kernel.look()
    here.kills = 7
    assert here.reasons(monkeypatch, 1) == ["crashed"]


def test_processes_that_do_not_start_are_told_with_their_last_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deaths, "silent", WorkersSilentError)
    error = unborn("Traceback\n  ...\nImportError: no module named numpy\n")
    assert isinstance(error, WorkersSilentError)
    assert "ImportError: no module named numpy" in str(error)
    assert isinstance(unborn("OSError: [Errno 28] No space left on device: '/tmp/x'"), OutOfSpaceError)
