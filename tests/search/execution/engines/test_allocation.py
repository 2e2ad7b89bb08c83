"""What trials get of a cluster that others join and leave: settled anew, and never waited for."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.system import GPU_CONTEXT
from skipstack.search.execution.engines.allocation import Allocator
from skipstack.search.execution.engines.capacity import Machines, Resources, allotted
from skipstack.search.study.task import TrialTask
from tests.search.execution.engines.test_capacity import Counted
from tests.search.toy import toy_study

GB = 10**9
ONE: Resources = {"CPU": 8.0, "GPU": 1.0}


class Cluster:
    """Its machines by id, each with the bytes of its GPU, which it tells, if it joins, at the second look."""

    def __init__(self, gpus: Any = "auto", **machines: int | UserError | None) -> None:
        self.machines: dict[str, int | UserError | None] = machines
        self.asked: list[str] = []
        self.counted = 0
        size = self._size if gpus == "auto" else None
        self.allocator = Allocator(
            self._there,
            lambda there, answers: allotted(gpus, "auto", there, answers=answers, count=self._count),
            size,
        )

    def _there(self) -> Machines:
        each = self.machines.items()
        return {name: (name, {"CPU": 8.0} if size is None else ONE) for name, size in each}

    def _size(self, machine: str) -> Counted:
        self.asked.append(machine)
        size = self.machines[machine]
        assert size is not None
        return Counted(size, asks=int(self.allocator.is_allocated))

    def _count(self, task: TrialTask) -> Counted:
        self.counted += 1
        return Counted(2 * GB)


@pytest.fixture
def task() -> TrialTask:
    config, place = toy_study().space.base, Path("none")
    return TrialTask(
        number=0, config=config, seeds=(0,), order_seed=0, lanes=1, corpus=place, folder=place, device="auto"
    )


def test_a_smaller_gpu_that_joins_enlarges_the_shares_once_its_machine_has_answered(task: TrialTask) -> None:
    cluster = Cluster(a=80 * GB)
    share = cluster.allocator.begin().ordinary(task)["gpu"]
    cluster.machines["b"] = 20 * GB
    assert not cluster.allocator.look(), "its size is not known yet"
    assert cluster.allocator.allotment.ordinary(task)["gpu"] == share
    assert cluster.allocator.look()
    larger = cluster.allocator.allotment.ordinary(task)["gpu"]
    assert larger == pytest.approx((GPU_CONTEXT + 2.5 * GB) / (20 * GB), abs=0.01)
    assert larger > share
    assert "the smallest GPU has 20.0 GB" in cluster.allocator.allotment.words
    assert not cluster.allocator.look()
    assert (cluster.asked, cluster.counted) == (["a", "b"], 1), "nothing is asked or counted twice"


def test_the_places_of_machines_that_join_and_leave_are_said_anew() -> None:
    cluster = Cluster(0.0, a=None)
    assert cluster.allocator.begin().words.endswith("8 side by side")
    cluster.machines["b"] = None
    assert cluster.allocator.look()
    assert cluster.allocator.allotment.words.endswith("16 side by side")
    del cluster.machines["a"], cluster.machines["b"]
    assert not cluster.allocator.look()
    assert cluster.allocator.allotment.resources == {"cpu": 1.0}, "trials wait, as they did, for others"


def test_gpus_that_join_a_cluster_without_any_are_used(task: TrialTask) -> None:
    cluster = Cluster(a=None)
    before = cluster.allocator.begin()
    assert before.confined(task, before.ordinary(task)).device == "cpu"
    cluster.machines["b"] = 80 * GB
    assert [cluster.allocator.look() for _ in range(3)] == [False, True, False]
    after = cluster.allocator.allotment
    assert after.confined(task, after.ordinary(task)).device == "cuda"


def test_a_machine_that_joins_and_does_not_answer_changes_nothing(task: TrialTask) -> None:
    cluster = Cluster(a=80 * GB)
    cluster.allocator.begin()
    cluster.machines["b"] = UserError("no answer within 120 s")
    before = cluster.allocator.allotment.words
    assert [cluster.allocator.look() for _ in range(4)] == [False] * 4
    assert cluster.allocator.allotment.words == before
    assert cluster.asked == ["a", "b"]


def test_the_first_machines_must_all_answer_and_none_is_waited_for_that_is_not_there() -> None:
    with pytest.raises(UserError, match="torch finds the GPUs of other machines, but machine b: no GPU here"):
        Cluster(a=80 * GB, b=UserError("no GPU here")).allocator.begin()
    with pytest.raises(UserError, match="no trial fits"):
        Cluster(2.0, a=None).allocator.begin()
    assert not Cluster(a=None).allocator.is_allocated


def test_trials_of_another_size_are_asked_for_by_their_mean(task: TrialTask) -> None:
    cluster = Cluster(a=20 * GB)
    made = cluster.allocator.begin()
    assert made.usual == {"cpu": 1.0, "gpu": 0.01}
    share = made.ordinary(task)["gpu"]
    assert made.usual == {"cpu": 1.0, "gpu": share}
    assert made.ordinary(replace(task, seeds=(0, 1)))["gpu"] == share
    assert made.usual == {"cpu": 1.0, "gpu": share}
