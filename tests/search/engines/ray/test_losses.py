"""Machines that go: Ray's own errors, one by one, and deaths of which Ray does not say whether a machine went."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import ray
from ray import exceptions
from ray.air.execution._internal.tracked_actor import TrackedActor
from ray.air.execution._internal.tracked_actor_task import TrackedActorTask
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
from skipstack.search.driver.faults import ClusterLostError, Fault
from skipstack.search.engines.ray import engine, losses, machines, plugins
from skipstack.search.engines.ray.cards import Cards
from skipstack.search.engines.ray.losses import loss_of
from skipstack.search.engines.ray.machines import draining, lost_cluster_interrupts
from skipstack.search.engines.ray.patches import ActorManager
from skipstack.search.engines.ray.places import Place
from skipstack.search.engines.ray.plugins import Plugins, SchedulerPlugin

ACTOR, MACHINE = b"1" * 16, "ab" * 28


def died(reason: Any, how: Any = None) -> ActorDiedError:
    """As Ray makes it of what it was told."""
    info = {} if how is None else {"node_death_info": NodeDeathInfo(reason=how)}
    return ActorDiedError(ActorDiedErrorContext(reason=reason, actor_id=ACTOR, error_message="it died", **info))


def lost_object(kind: str = "ObjectLostError") -> ObjectLostError:
    made: ObjectLostError = getattr(exceptions, kind)("ab" * 28, None, "")
    return made


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (died(ActorDiedErrorContext.NODE_DIED), "lost"),
        (died(ActorDiedErrorContext.NODE_DIED, NodeDeathInfo.UNEXPECTED_TERMINATION), "lost"),
        (died(ActorDiedErrorContext.NODE_DIED, NodeDeathInfo.AUTOSCALER_DRAIN_PREEMPTED), "preempted"),
        (NodeDiedError("the node died"), "lost"),
        (LocalRayletDiedError(), "lost"),
        (lost_object(), "lost"),
        (lost_object("OwnerDiedError"), "lost"),
        (lost_object("ObjectFetchTimedOutError"), "lost"),
        (died(ActorDiedErrorContext.WORKER_DIED), None),
        (ActorUnavailableError("it does not answer", ACTOR), None),
        (ActorDiedError(), None),
        (RayActorError(), None),
        (OutOfMemoryError("killed"), None),
        (WorkerCrashedError(), None),
        (None, None),
    ],
)
def test_the_loss_of_a_machine_is_known_by_ray_s_errors(error: RayError | None, reason: str | None) -> None:
    found = loss_of(error)
    assert (None if found is None else found.reason) == reason


def test_what_ray_says_of_a_machine_survives_where_tune_knows_errors_of_actors_alone() -> None:
    deaths: list[Exception] = []
    actor = TrackedActor(1, on_error=lambda _, error: deaths.append(error))
    room: Any = SimpleNamespace(free_resources=lambda acquired_resource: None)
    manager = ActorManager(room)
    manager._live_actors_to_ray_actors_resources[actor] = (None, None)
    manager._actor_task_failed(TrackedActorTask(actor), NodeDiedError("the node died"))
    (death,) = deaths
    assert isinstance(death, RayActorError)
    assert loss_of(death) == Fault("lost", "its machine was lost")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (NodeDiedError("the node died"), "lost"),
        (lost_object(), "lost"),
        (LocalRayletDiedError(), "lost"),
        (died(ActorDiedErrorContext.NODE_DIED, NodeDeathInfo.AUTOSCALER_DRAIN_PREEMPTED), "preempted"),
        (died(ActorDiedErrorContext.WORKER_DIED), "lost"),
        (WorkerCrashedError(), "crashed"),
        (OutOfMemoryError("killed"), "out_of_memory"),
    ],
)
def test_a_loss_while_a_trial_is_measured_is_that_measurement_s_fault(
    error: RayError, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose(_: object) -> None:
        raise error

    monkeypatch.setattr(ray, "get", lose)
    monkeypatch.setattr(engine, "check_this_machine", lambda: None)
    reference: Any = None
    with lost_cluster_interrupts():
        outcome = engine._outcome(reference)
    assert isinstance(outcome, Fault)
    assert outcome.reason == reason


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


@pytest.mark.parametrize(
    ("answer", "announced", "reason"),
    [(HERE, False, "crashed"), (AWAY, False, "lost"), (AWAY, True, "preempted"), (HERE, True, "preempted")],
)
def test_a_worker_that_died_elsewhere_crashed_only_if_its_machine_answers(
    answer: str | UserError, announced: bool, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(losses, "Question", lambda *_, **__: Asked(answer))
    monkeypatch.setattr(losses, "draining", lambda: frozenset({MACHINE} if announced else ()))
    told: list[Fault] = []
    shared, scheduler = scheduling(monkeypatch, machine=MACHINE, tell=told.append)
    scheduler.on_trial_error(failing(died(ActorDiedErrorContext.WORKER_DIED)), trial())
    shared.look()
    assert not told, "it is not known yet"
    shared.look()
    shared.look()
    assert [fault.reason for fault in told] == [reason]


@pytest.mark.parametrize("machine", [None, "this"])
def test_a_worker_that_died_here_or_who_knows_where_has_crashed_at_once(
    machine: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Fault] = []
    _, scheduler = scheduling(monkeypatch, machine=machine, tell=told.append)
    scheduler.on_trial_error(failing(died(ActorDiedErrorContext.WORKER_DIED)), trial())
    assert [fault.reason for fault in told] == ["crashed"]


def test_a_worker_whose_machine_is_known_to_be_lost_is_told_so_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Fault] = []
    _, scheduler = scheduling(monkeypatch, machine=MACHINE, tell=told.append)
    scheduler.on_trial_error(failing(died(ActorDiedErrorContext.NODE_DIED)), trial())
    assert [fault.reason for fault in told] == ["lost"]


def scheduling(
    monkeypatch: pytest.MonkeyPatch, *, machine: str | None, tell: Callable[[Fault], None]
) -> tuple[Plugins, SchedulerPlugin]:
    """The plug-in of a driver that is told of faults, while trial 0 runs on ``machine``."""
    monkeypatch.setattr(plugins, "check_this_machine", lambda: None)
    monkeypatch.setattr(plugins, "machine_of", lambda error: machine)
    monkeypatch.setattr(ray, "get_runtime_context", lambda: SimpleNamespace(get_node_id=lambda: "this"))
    monkeypatch.setattr(ray.util, "get_node_ip_address", lambda: "10.0.0.1")
    driver: Any = SimpleNamespace(faulted=lambda number, fault: tell(fault), measured=None)
    nothing: Any = None
    shared = Plugins(
        driver,
        nothing,
        nothing,
        nothing,
        preflight=None,
        cards=Cards(),
        say=nothing,
        look=lambda: None,
        on_idle=lambda: None,
        part=nothing,
        on_late_files=nothing,
    )
    shared.places.held["t"] = Place(None, {}, {0: nothing})
    return shared, SchedulerPlugin(shared)


def failing(error: Exception) -> Any:
    return SimpleNamespace(failure=error)


def trial() -> Any:
    return SimpleNamespace(trial_id="t", error_file="", node_ip="10.0.0.2")


def test_machines_that_are_to_go_are_known_by_the_ids_of_their_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machines.state, "get_draining_nodes", lambda: {"ab": 0, "cd": 1_700_000_000_000})
    assert draining() == {"ab", "cd"}
