"""The room of a cluster, against counting by hand."""

import itertools
import math

import numpy as np
import pytest

from skipstack.search.engines import capacity as module
from skipstack.search.engines.capacity import Capacity, Resources, slots


def fill(subject: Capacity, ordinary: Resources) -> int:
    count = 0
    while not subject.is_full():
        subject.take(str(count), ordinary, 1)
        count += 1
    return count


@pytest.mark.parametrize(
    ("nodes", "ordinary", "fit"),
    [
        ([{"CPU": 4.0}], {"cpu": 1.0}, 4),
        ([{"CPU": 2.0}, {"CPU": 3.0}], {"cpu": 1.0}, 5),
        ([{"CPU": 16.0, "GPU": 1.0}], {"cpu": 1.0, "gpu": 0.25}, 4),
        ([{"CPU": 2.0, "GPU": 4.0}], {"cpu": 1.0, "gpu": 0.25}, 2),
        ([{"CPU": 16.0, "GPU": 1.0}], {"cpu": 1.0, "gpu": 0.3}, 3),
        ([{"CPU": 16.0, "GPU": 1.0}, {"CPU": 4.0}], {"cpu": 1.0, "gpu": 0.1}, 10),
        ([{"CPU": 64.0, "GPU": 8.0}] * 4, {"cpu": 1.0, "gpu": 0.34}, 64),
        ([{"CPU": 64.0, "GPU": 4.0}] * 2, {"cpu": 1.0, "gpu": 0.6}, 8),
        ([{"CPU": 8.0, "GPU": 3.0}] * 2, {"cpu": 1.0, "gpu": 2.0}, 2),
        ([{"CPU": 1.0, "GPU": 4.0}, {"CPU": 9.0}], {"cpu": 1.0, "gpu": 0.5}, 1),
        ([{"CPU": 1.5}, {"CPU": 1.5}], {"cpu": 1.0}, 2),
    ],
)
def test_one_trial_more_than_fits_is_let_in(nodes: list[Resources], ordinary: Resources, fit: int) -> None:
    assert fill(Capacity(lambda: nodes), ordinary) == fit + 1


def test_who_leaves_makes_room() -> None:
    subject = Capacity(lambda: [{"CPU": 2.0}])
    fill(subject, {"cpu": 1.0})
    subject.leave("0")
    assert not subject.is_full()
    subject.leave("0")
    assert fill(subject, {"cpu": 1.0}) == 1


def test_a_processor_is_idle_while_nobody_takes_it_and_nobody_waits() -> None:
    subject, seen = Capacity(lambda: [{"CPU": 2.0}]), []
    for trial in ("0", "1", "2"):
        seen.append(subject.has_idle_cpu())
        subject.take(trial, {"cpu": 1.0}, 1)
    for trial in ("0", "1"):
        seen.append(subject.has_idle_cpu())
        subject.leave(trial)
    assert [*seen, subject.has_idle_cpu()] == [True, True, False, False, False, True]


def test_a_cluster_that_grows_and_shrinks_is_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOKED_AT", 0.0)
    nodes: list[Resources] = [{"CPU": 1.0}]
    subject = Capacity(lambda: nodes)
    assert fill(subject, {"cpu": 1.0}) == 2
    nodes.append({"CPU": 2.0})
    assert not subject.is_full()
    subject.take("another", {"cpu": 1.0}, 1)
    subject.take("and another", {"cpu": 1.0}, 1)
    assert subject.is_full()
    nodes.clear()
    assert subject.is_full()


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
    assert Capacity(lambda: nodes).take("0", ordinary, share) == taken


def test_trials_of_different_sizes_are_counted_together() -> None:
    subject = Capacity(lambda: [{"CPU": 8.0, "GPU": 1.0}])
    for number, gpu in enumerate((0.5, 0.3, 0.2)):
        assert not subject.is_full()
        subject.take(str(number), {"cpu": 1.0, "gpu": gpu}, 1)
    assert not subject.is_full()
    subject.take("small", {"cpu": 1.0, "gpu": 0.01}, 1)
    assert subject.is_full()


def test_a_gpu_has_no_room_for_what_only_two_together_have() -> None:
    subject = Capacity(lambda: [{"CPU": 8.0, "GPU": 2.0}])
    for number, gpu in enumerate((0.5, 0.7)):
        subject.take(str(number), {"cpu": 1.0, "gpu": gpu}, 1)
        assert not subject.is_full()
    subject.take("a whole one", {"cpu": 1.0, "gpu": 1.0}, 1)
    assert subject.is_full(), "0.8 of GPUs are free, and no whole one"
    subject.leave("0")
    assert not subject.is_full()
    subject.take("a small one", {"cpu": 1.0, "gpu": 0.3}, 1)
    assert not subject.is_full()
    subject.take("another", {"cpu": 1.0, "gpu": 0.01}, 1)
    assert subject.is_full()


def test_trials_without_a_gpu_keep_off_machines_that_have_some() -> None:
    subject = Capacity(lambda: [{"CPU": 1.0, "GPU": 1.0}, {"CPU": 1.0}])
    subject.take("0", {"cpu": 1.0}, 1)
    subject.take("1", {"cpu": 1.0, "gpu": 1.0}, 1)
    assert not subject.is_full()


@pytest.mark.parametrize("seed", range(20))
def test_trials_that_have_a_place_never_take_more_than_a_machine_or_a_gpu_has(seed: int) -> None:
    """Any trials that come and go: those that do not wait fit, by a search over all ways to place them."""
    random = np.random.default_rng(seed)
    nodes = [{"CPU": float(random.integers(1, 4)), "GPU": float(random.integers(0, 3))} for _ in range(2)]
    subject, inside = Capacity(lambda: nodes), {}
    for number in range(12):
        if inside and random.random() < 0.4:
            leaving = str(random.choice(list(inside)))
            subject.leave(leaving)
            del inside[leaving]
        if not subject.is_full():
            gpu = float(random.choice([0.0, 0.3, 0.5, 0.7, 1.0, 2.0]))
            inside[str(number)] = subject.take(str(number), {"cpu": 1.0, "gpu": gpu} if gpu else {"cpu": 1.0}, 1)
        if not subject.is_full():
            devices = tuple((1.0,) * int(node["GPU"]) for node in nodes)
            assert can_be_placed(list(inside.values()), tuple(node["CPU"] for node in nodes), devices), (nodes, inside)


def can_be_placed(trials: list[Resources], cpus: tuple[float, ...], gpus: tuple[tuple[float, ...], ...]) -> bool:
    """Whether trials fit into machines with so many CPUs and so much of each GPU, by trying everything."""
    if not trials:
        return True
    share = trials[0].get("gpu", 0.0)
    for node in range(len(cpus)):
        for devices in itertools.combinations(range(len(gpus[node])), math.ceil(share)):
            left = [own - min(1.0, share) * (place in devices) for place, own in enumerate(gpus[node])]
            if cpus[node] >= 1.0 and min(left, default=0.0) > -1e-9:
                fewer = (*cpus[:node], cpus[node] - 1.0, *cpus[node + 1 :])
                if can_be_placed(trials[1:], fewer, (*gpus[:node], tuple(left), *gpus[node + 1 :])):
                    return True
    return False


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
