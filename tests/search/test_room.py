"""The room of a cluster, against counting by hand."""

from collections.abc import Sequence

import pytest

from search import room as module
from search.room import Resources, Room


def room(nodes: Sequence[Resources], **ordinary: float) -> Room:
    return Room(ordinary, lambda: nodes)


def fill(subject: Room) -> int:
    count = 0
    while not subject.is_full():
        subject.take(str(count), 1)
        count += 1
    return count


@pytest.mark.parametrize(
    ("nodes", "ordinary", "slots"),
    [
        ([{"CPU": 4.0}], {"cpu": 1.0}, 4),
        ([{"CPU": 2.0}, {"CPU": 3.0}], {"cpu": 1.0}, 5),
        ([{"CPU": 16.0, "GPU": 1.0}], {"cpu": 1.0, "gpu": 0.25}, 4),
        ([{"CPU": 2.0, "GPU": 4.0}], {"cpu": 1.0, "gpu": 0.25}, 2),
        ([{"CPU": 16.0, "GPU": 1.0}], {"cpu": 1.0, "gpu": 0.3}, 3),
        ([{"CPU": 16.0, "GPU": 1.0}, {"CPU": 4.0}], {"cpu": 1.0, "gpu": 0.1}, 10),
    ],
)
def test_one_trial_more_than_fits_is_let_in(nodes: list[Resources], ordinary: dict[str, float], slots: int) -> None:
    assert fill(room(nodes, **ordinary)) == slots + 1


def test_who_leaves_makes_room() -> None:
    subject = room([{"CPU": 2.0}], cpu=1.0)
    fill(subject)
    subject.leave("0")
    assert not subject.is_full()
    subject.leave("0")
    assert fill(subject) == 1


def test_a_cluster_that_grows_and_shrinks_is_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOKED_AT", 0.0)
    nodes: list[Resources] = [{"CPU": 1.0}]
    subject = room(nodes, cpu=1.0)
    assert fill(subject) == 2
    nodes.append({"CPU": 2.0})
    assert not subject.is_full()
    subject.take("another", 1)
    subject.take("and another", 1)
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
    assert room(nodes, **ordinary).take("0", share) == taken
