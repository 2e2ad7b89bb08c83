"""What may join a cluster, counted by hand."""

import pytest

from skipstack.search.execution.engines.autoscaling import Autoscaling, MachineType, needed
from skipstack.search.execution.engines.capacity import SMALLEST, Resources

SMALL = MachineType("small", {"CPU": 2.0}, 4)
WITH_GPUS = MachineType("gpus", {"CPU": 8.0, "GPU": 2.0}, 3)
CPU: Resources = {"cpu": 1.0}


@pytest.mark.parametrize(
    ("autoscaling", "trial", "places"),
    [
        (Autoscaling((SMALL,)), CPU, 8),
        (Autoscaling((SMALL,), head={"CPU": 3.0}), CPU, 11),
        (Autoscaling((SMALL, WITH_GPUS)), CPU, 32),
        (Autoscaling((SMALL, WITH_GPUS), most=4), CPU, 26),
        (Autoscaling((SMALL, WITH_GPUS), most=2), {"cpu": 1.0, "gpu": 0.5}, 8),
        (Autoscaling((SMALL,)), {"cpu": 3.0}, 0),
        (Autoscaling((MachineType("any", {"CPU": 2.0}),)), CPU, None),
        (Autoscaling((MachineType("any", {"CPU": 2.0}),), most=5), CPU, 10),
        (Autoscaling((SMALL, MachineType("any", {"GPU": 2.0}))), CPU, 8),
        (Autoscaling(), CPU, None),
    ],
)
def test_places_are_those_of_all_machines_that_may_be_there(
    autoscaling: Autoscaling, trial: Resources, places: int | None
) -> None:
    assert autoscaling.slots(trial) == places
    assert autoscaling.may_hold(trial) == (places != 0)


def test_what_may_join_is_said_in_words() -> None:
    assert Autoscaling((SMALL, WITH_GPUS), most=3).in_words() == (
        "2 CPUs and no GPU (small, up to 3); 8 CPUs and 2 GPUs (gpus, up to 3)"
    )
    assert Autoscaling((MachineType("any", {"CPU": 2.0}),)).in_words() == "2 CPUs and no GPU (any)"
    assert Autoscaling().in_words() == "machines that the cluster's autoscaler may start"


@pytest.mark.parametrize(
    ("gpus", "device", "machines", "autoscaling", "expected"),
    [
        ("auto", "auto", [], Autoscaling((SMALL,)), CPU),
        ("auto", "auto", [{"CPU": 4.0}], Autoscaling((WITH_GPUS,)), {"cpu": 1.0, "gpu": SMALLEST}),
        ("auto", "cpu", [{"CPU": 4.0}], Autoscaling((WITH_GPUS,)), CPU),
        ("auto", "auto", [{"CPU": 4.0, "GPU": 1.0}], Autoscaling(()), {"cpu": 1.0, "gpu": SMALLEST}),
        ("auto", "auto", [{"GPU": 1.0}, {"CPU": 4.0}], Autoscaling(()), CPU),
        (0.25, "auto", [], Autoscaling((SMALL,)), {"cpu": 1.0, "gpu": 0.25}),
        (0.0, "auto", [], Autoscaling((WITH_GPUS,)), CPU),
    ],
)
def test_some_of_a_gpu_is_waited_for_where_the_cluster_may_get_one(
    gpus: float, device: str, machines: list[Resources], autoscaling: Autoscaling, expected: Resources
) -> None:
    assert needed(gpus, device, machines, autoscaling) == expected  # type: ignore[arg-type]


def test_of_cpus_as_many_are_waited_for_as_a_trial_gets() -> None:
    assert needed(0.0, "auto", [], Autoscaling((SMALL,)), cpus=3.0) == {"cpu": 3.0}
