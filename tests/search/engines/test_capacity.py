"""The room of a cluster, against counting by hand."""

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


def test_slots_are_what_the_scarcest_resource_allows() -> None:
    assert slots({"CPU": 8.0, "GPU": 1.0}, {"cpu": 1.0}) == 8
    assert slots({"CPU": 8.0, "GPU": 1.0}, {"cpu": 1.0, "gpu": 0.25}) == 4
    assert slots({"CPU": 8.0}, {"cpu": 1.0, "gpu": 0.25}) == 0
