"""The options of a run as the engine on Ray gets them."""

from collections.abc import Mapping
from typing import Any

import pytest

from skipstack.data.basis.errors import UserError
from skipstack.search.api.options import Execution
from skipstack.search.execution.engines.ray import engine as module


class Described:
    """An engine that is started nowhere, with what it was asked for."""

    def __init__(self, worker: object, **options: Any) -> None:
        self.options = options
        self.words = "each trial gets something"


def told(config: Mapping[str, Any], report: Any) -> None:
    """A function."""


@pytest.mark.parametrize(
    ("given", "asked", "words"),
    [
        ({}, (1, None), "each trial gets something"),
        ({"concurrent": 3}, (1, 3), "each trial gets something"),
        ({"cpus_per_trial": 4}, (4, None), "each trial gets something; a network computes on one of its CPUs"),
        ({"cpus_per_trial": 4, "function": told}, (4, None), "each trial gets something"),
    ],
)
def test_cpus_and_a_number_at_a_time_reach_the_engine_and_who_leaves_cpus_idle_is_told(
    given: dict[str, Any], asked: tuple[int, int | None], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RayEngine", Described)
    started = Execution(**given).start()
    assert isinstance(started, Described)
    assert (started.options["cpus_per_trial"], started.options["concurrent"]) == asked
    assert started.words == words


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"engine": "serial", "trials_per_program": 0}, "got 0 (allowed: 1 or more)"),
        (
            {"engine": "serial", "trials_per_program": 2, "function": told},
            "got 2 for a function (allowed: 1, or a study of networks)",
        ),
    ],
)
def test_trials_that_can_share_no_program_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as refused:
        Execution(**given)
    assert str(refused.value) == f"--trials-per-program: {message}"


def test_ray_is_told_how_many_trials_share_a_program_and_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RayEngine", Described)
    started = [Execution(trials_per_program=number).start() for number in (1, 4)]
    assert [each.options["sharing"].most for each in started] == [1, 4]  # type: ignore[attr-defined]


def test_trials_of_one_program_are_told() -> None:
    started = Execution(engine="serial", device="cpu", trials_per_program=3).start()
    assert started.words == "3 trials at a time in one program where they fit, on a CPU"
