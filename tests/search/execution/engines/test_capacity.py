"""The room of a cluster, against counting by hand, and what each trial gets of machines that are described."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from skipstack.data.basis.errors import UserError
from skipstack.search.execution.engines.capacity import Allotment, Answers, Resources, allotted, enlarged, slots
from skipstack.search.study.task import TrialTask
from tests.search.toy import toy_study

GB = 10**9
TWO_GPUS: list[Resources] = [{"CPU": 8.0, "GPU": 2.0}]
NONE_HERE = UserError("no GPU here")


@pytest.mark.parametrize(
    ("ordinary", "share", "nodes", "taken"),
    [
        ({"cpu": 1.0}, 1, [{"CPU": 8.0}], {"cpu": 1.0}),
        ({"cpu": 1.0}, 2, [{"CPU": 8.0}], {"cpu": 2.0}),
        ({"cpu": 1.0}, 2, [{"CPU": 1.0}, {"CPU": 1.0}], {"cpu": 1.0}),
        ({"cpu": 1.0, "gpu": 0.25}, 2, [{"CPU": 8.0, "GPU": 1.0}], {"cpu": 2.0, "gpu": 0.5}),
        ({"cpu": 1.0, "gpu": 0.75}, 2, [{"CPU": 8.0, "GPU": 4.0}], {"cpu": 2.0, "gpu": 1.0}),
        ({"cpu": 1.0, "gpu": 1.0}, 2, [{"CPU": 8.0, "GPU": 1.0}], {"cpu": 2.0, "gpu": 1.0}),
        ({"cpu": 1.0, "gpu": 0.25}, 2, [{"CPU": 8.0}, {"CPU": 1.0, "GPU": 1.0}], {"cpu": 1.0, "gpu": 0.5}),
        ({"cpu": 1.0, "gpu": 1.0}, 2, [{"CPU": 8.0, "GPU": 1.0}, {"CPU": 2.0, "GPU": 2.0}], {"cpu": 2.0, "gpu": 2.0}),
    ],
)
def test_a_larger_share_is_what_was_asked_for_as_far_as_one_machine_has_it(
    ordinary: dict[str, float], share: int, nodes: list[Resources], taken: dict[str, float]
) -> None:
    assert enlarged(ordinary, share, nodes) == taken


@pytest.mark.parametrize(
    ("nodes", "trial", "expected"),
    [
        ([{"CPU": 8.0, "GPU": 1.0}], {"cpu": 1.0}, 8),
        ([{"CPU": 8.0, "GPU": 1.0}], {"cpu": 1.0, "gpu": 0.25}, 4),
        ([{"CPU": 8.0}], {"cpu": 1.0, "gpu": 0.25}, 0),
        ([{"CPU": 8.0, "GPU": 1.0}] * 2, {"cpu": 1.0, "gpu": 2.0}, 0),
        ([{"CPU": 8.0, "GPU": 1.0}] * 2, {"cpu": 1.0, "gpu": 0.6}, 2),
        ([{"CPU": 8.0}, {"GPU": 1.0}], {"cpu": 1.0, "gpu": 0.6}, 0),
        ([{"CPU": 3.0, "GPU": 5.0}, {"CPU": 1.0, "GPU": 2.0}], {"cpu": 1.0, "gpu": 2.0}, 3),
    ],
)
def test_slots_are_counted_machine_by_machine_and_gpu_by_gpu(
    nodes: list[Resources], trial: Resources, expected: int
) -> None:
    assert slots(nodes, trial) == expected


class Counted:
    """A count that is over once it was asked for ``asks`` times."""

    def __init__(self, answer: int | UserError, asks: int = 0) -> None:
        self._answer, self.asks = answer, asks

    def is_over(self) -> bool:
        self.asks -= 1
        return self.asks < 0

    def answer(self) -> int | UserError:
        return self._answer


def allot(
    gpus: Any,
    device: str,
    machines: Sequence[Resources],
    sizes: Answers = (),
    counted: int | UserError = 0,
    cpus: int = 1,
) -> Allotment:
    return allotted(
        gpus,
        device,
        machines,
        cpus_per_trial=cpus,
        answers=sizes,
        count=lambda _: Counted(counted, asks=1),
    )


@pytest.fixture
def trial() -> TrialTask:
    config = toy_study().space.base
    place = Path("none")
    return TrialTask(
        number=0, config=config, seeds=(0,), order_seed=0, lanes=1, corpus=place, folder=place, device="auto"
    )


@pytest.mark.parametrize(
    ("gpus", "device", "machines", "sizes", "resources", "words"),
    [
        (0.0, "auto", TWO_GPUS, (), {"cpu": 1.0}, "each trial gets 1 CPU and no GPU: 8 side by side"),
        (0.0, "cpu", TWO_GPUS, (), {"cpu": 1.0}, "each trial gets 1 CPU and no GPU: 8 side by side"),
        (
            0.3,
            "auto",
            TWO_GPUS,
            (),
            {"cpu": 1.0, "gpu": 0.3},
            "each trial gets 1 CPU and 0.3 of a GPU: 6 side by side",
        ),
        (2.0, "cuda", TWO_GPUS, (), {"cpu": 1.0, "gpu": 2.0}, "each trial gets 1 CPU and 2 GPUs: 1 side by side"),
        ("auto", "auto", [{"CPU": 4.0}], (), {"cpu": 1.0}, "each trial gets 1 CPU and no GPU: 4 side by side"),
        ("auto", "cpu", TWO_GPUS, (), {"cpu": 1.0}, "each trial gets 1 CPU and no GPU: 8 side by side"),
        (
            "auto",
            "auto",
            TWO_GPUS,
            (("a", NONE_HERE),),
            {"cpu": 1.0},
            "each trial gets 1 CPU and no GPU: 8 side by side; GPUs are left alone (machine a: no GPU here)",
        ),
    ],
)
def test_what_each_trial_gets_is_decided_and_said(
    gpus: Any, device: str, machines: list[Resources], sizes: Answers, resources: Resources, words: str
) -> None:
    made = allot(gpus, device, machines, sizes)
    assert (made.resources, made.words, made.shares) == (resources, words, None)


def test_auto_gives_each_trial_the_share_of_the_smallest_gpu_that_it_needs_once_that_is_counted(
    trial: TrialTask, caplog: pytest.LogCaptureFixture
) -> None:
    sizes = (("a", 80 * GB), ("b", 10 * GB))
    made = allot("auto", "auto", TWO_GPUS * 2, sizes, counted=2 * GB)
    assert made.words == "each trial gets 1 CPU and as much of a GPU as it needs; the smallest GPU has 10.0 GB"
    assert not made.is_known(trial)
    assert made.is_known(trial)
    taken = made.ordinary(trial)
    assert taken == {"cpu": 1.0, "gpu": math.ceil((700 * 2**20 + 2.5 * GB) / GB * 10) / 100}
    confined = made.confined(trial, taken)
    assert made.confined(replace(trial, device="cuda-graphs"), taken).device == "cuda-graphs"
    assert (confined.device, confined.gpu_share) == ("cuda", taken["gpu"])
    uncounted = allot("auto", "auto", TWO_GPUS, sizes, counted=UserError("out of memory"))
    assert uncounted.ordinary(trial) == {"cpu": 1.0, "gpu": 1.0}
    assert caplog.messages == ["trial 0 gets a whole GPU: its memory could not be counted (out of memory)"]


@pytest.mark.parametrize(("gpus", "share"), [(0.25, 0.25), (1.0, None), (2.0, None)])
def test_a_share_given_by_hand_confines_a_trial_as_well(gpus: float, share: float | None, trial: TrialTask) -> None:
    machines: list[Resources] = [{"CPU": 8.0, "GPU": 2.0}]
    made = allot(gpus, "auto", machines)
    assert made.confined(trial, made.ordinary(trial)).gpu_share == share


def test_a_trial_that_ran_out_of_memory_may_take_its_doubled_share(trial: TrialTask) -> None:
    made = allot(0.25, "auto", TWO_GPUS)
    taken = enlarged(made.ordinary(trial), 2, TWO_GPUS)
    assert taken["gpu"] == made.confined(trial, taken).gpu_share == 0.5


def test_a_trial_may_have_several_cpus_and_twice_as_many_once_it_ran_out_of_memory() -> None:
    machines: list[Resources] = [{"CPU": 8.0, "GPU": 2.0}]
    without = allot(0.0, "auto", machines, cpus=3)
    assert (without.resources, without.words) == ({"cpu": 3.0}, "each trial gets 3 CPUs and no GPU: 2 side by side")
    assert enlarged(without.resources, 2, machines) == {"cpu": 6.0}
    needed = allot("auto", "auto", machines, (("a", 10 * GB),), cpus=4)
    assert needed.resources["cpu"] == 4.0
    assert needed.words == "each trial gets 4 CPUs and as much of a GPU as it needs; the smallest GPU has 10.0 GB"
    with pytest.raises(UserError, match=r"it needs 9 CPUs and no GPU, and [^\n]* smaller .* or --cpus-per-trial\)$"):
        allot(0.0, "auto", machines, cpus=9)


@pytest.mark.parametrize(
    ("gpus", "device", "machines", "sizes", "wrong"),
    [
        (0.0, "cuda", TWO_GPUS, (), "--device cuda: trials get no GPU, since --gpus-per-trial is 0"),
        (
            "auto",
            "cuda-graphs",
            [{"CPU": 4.0}],
            (),
            "--device cuda-graphs: trials get no GPU, since the machines have: 4",
        ),
        ("auto", "cuda", [{"CPU": 4.0}], (), "since the machines have: 4 CPUs and no GPU .* or --device cpu"),
        ("auto", "cuda", TWO_GPUS, (("a", NONE_HERE),), r"no GPU, since torch finds none \(machine a: no GPU here\)"),
        ("auto", "auto", TWO_GPUS * 2, (("a", NONE_HERE), ("b", GB)), "other machines, but machine a: no GPU here"),
        (
            2.0,
            "auto",
            [{"CPU": 8.0, "GPU": 1.0}] * 2,
            (),
            r"it needs 1 CPU and 2 GPUs, and the machines have: 8 CPUs and 1 GPU \(2 of them\) \(allowed: .*per-trial",
        ),
        (0.5, "auto", [{"CPU": 8.0}, {"GPU": 1.0}], (), "the machines have: 8 CPUs and no GPU; no CPU and 1 GPU"),
        ("auto", "auto", [{"CPU": 8.0}, {"GPU": 1.0}], (("b", GB),), "it needs 1 CPU and 0.01 of a GPU"),
    ],
)
def test_what_can_never_fit_is_refused_at_once(
    gpus: Any, device: str, machines: list[Resources], sizes: Answers, wrong: str
) -> None:
    with pytest.raises(UserError, match=wrong):
        allot(gpus, device, machines, sizes)
