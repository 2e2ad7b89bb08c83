"""Cards that break trial after trial: when one is left alone, and what then starts where."""

from types import SimpleNamespace
from typing import Any

import pytest
import ray

from skipstack.data.basis.errors import NoGpuError, UserError
from skipstack.search.driver.faults import Fault
from skipstack.search.engines.ray.actor import BROKEN_BEFORE, TrialActor
from skipstack.search.engines.ray.cards import Card, Cards
from skipstack.search.engines.ray.patches import Placement, elsewhere
from skipstack.search.engines.ray.plugins import Plugins

FIRST, SECOND = Card("ab", "one (10.0.0.1)", ("0",)), Card("ab", "one (10.0.0.1)", ("1",))
WITHOUT = Card("cd", "two (10.0.0.2)", ())
MACHINES = {"ab": (FIRST.name, {"CPU": 8.0, "GPU": 2.0}), "cd": (WITHOUT.name, {"CPU": 4.0, "GPU": 0.0})}


@pytest.mark.parametrize(
    ("trials", "alone"),
    [([1, 2], False), ([1, 2, 3], True), ([1, 1, 1], False), ([1, 1, 1, 2], True), ([1, 2, "works", 3], False)],
)
def test_a_card_is_left_alone_that_breaks_three_in_a_row_and_not_one_trial_alone(
    trials: list[int | str], alone: bool
) -> None:
    cards = Cards()
    for each in trials:
        if isinstance(each, str):
            cards.worked(FIRST)
        else:
            cards.broke(FIRST, each)
    assert cards.is_left_alone(FIRST) == cards.any_left_alone == alone
    assert not cards.is_left_alone(SECOND)


def left_alone(*cards: Card) -> Cards:
    found = Cards()
    for card in cards:
        assert [found.broke(card, trial) for trial in range(4)] == [False, False, True, False]
    return found


def test_machines_have_left_what_is_not_left_alone() -> None:
    assert left_alone(FIRST).left(MACHINES)["ab"][1] == {"CPU": 8.0, "GPU": 1.0}
    assert left_alone(FIRST, SECOND).left(MACHINES)["ab"][1] == {"CPU": 8.0, "GPU": 0.0}
    assert left_alone(WITHOUT).left(MACHINES).keys() == {"ab"}


def test_a_machine_without_another_card_is_avoided_without_a_fence() -> None:
    assert left_alone(FIRST, SECOND).avoided(MACHINES) == {"ab"}
    assert left_alone(WITHOUT).avoided(MACHINES) == {"cd"}
    assert left_alone(WITHOUT).avoided({}) == set()
    assert Cards().avoided(MACHINES) == set()


def test_cards_are_named_as_people_find_them() -> None:
    assert FIRST.words == "GPU 0 of machine one (10.0.0.1)"
    assert Card("ab", "one", ("0", "3")).words == "GPUs 0 and 3 of machine one"
    assert WITHOUT.words == "machine two (10.0.0.2)"


def test_a_gpu_that_was_there_and_is_gone_is_the_card_s_fault_and_not_the_user_s() -> None:
    shared = Plugins.__new__(Plugins)
    shared.cards = Cards()
    gone = NoGpuError("--device cuda: no GPU here (allowed: auto, cpu)")
    assert shared.on_card(gone, FIRST) is gone
    shared.cards.worked(FIRST)
    fault = shared.on_card(gone, FIRST)
    assert isinstance(fault, Fault)
    assert (fault.reason, fault.broken) == ("crashed", "device")
    assert isinstance(gone, UserError)


def test_a_trial_is_not_begun_in_a_process_that_an_earlier_one_has_left_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skipstack.search.engines.ray.actor.broken_here", lambda: "CUDA error: unspecified")
    actor: Any = TrialActor.__new__(TrialActor)
    actor.begun, actor.config = False, {"given": SimpleNamespace(numbers=[3, 4])}
    fault = Fault("lost", f"{BROKEN_BEFORE}: CUDA error: unspecified", broken="program")
    assert actor._outcomes() == {3: fault, 4: fault}


def test_a_request_for_room_elsewhere_is_equal_to_the_one_without(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []
    monkeypatch.setattr(
        "skipstack.search.engines.ray.patches.placement_group", lambda *_, **options: asked.append(options)
    )
    request = ray.tune.PlacementGroupFactory([{"CPU": 1.0, "GPU": 0.5}])
    other = elsewhere(request, frozenset({"ab", "cd"}))
    other.to_placement_group()
    assert other == request
    assert hash(other) == hash(request)
    assert asked[0]["bundle_label_selector"] == [{"ray.io/node-id": "!in(ab,cd)"}]
    assert elsewhere(request, frozenset()) is request


def test_what_was_asked_for_is_asked_for_anew_once_other_machines_are_avoided(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else it would wait for ever for a machine that is avoided no more, or come to one that is to be avoided."""
    asked: list[frozenset[str]] = []
    cancelled: list[object] = []

    class Room(Placement):
        def _stage(self, request: Any, group: object) -> None:
            self._request_to_staged_pgs[request].add(group)

    def request(self: Room, made: Any) -> None:
        asked.append(made)
        self._stage(made, len(asked))

    def cancel(self: Room, made: Any) -> None:
        cancelled.append(self._request_to_staged_pgs[made].pop())

    base = "ray.air.execution.PlacementGroupResourceManager"
    monkeypatch.setattr(f"{base}.request_resources", request)
    monkeypatch.setattr(f"{base}.cancel_resource_request", cancel)
    monkeypatch.setattr(
        "skipstack.search.engines.ray.patches.elsewhere", lambda each, avoided: asked.append(avoided) or each
    )
    wanted = ray.tune.PlacementGroupFactory([{"CPU": 1.0, "GPU": 0.5}])
    room = Room()
    room._stage(wanted, "first")
    room._stage(wanted, "second")
    room.avoid(frozenset({"ab"}))
    room.avoid(frozenset({"ab"}))
    assert set(cancelled) == {"first", "second"}
    assert asked == [frozenset({"ab"}), wanted] * 2
    room.avoid(frozenset())
    assert asked[4:] == [frozenset(), wanted] * 2
