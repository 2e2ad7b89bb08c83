"""The last sentence: what the numbers carry, whatever became of the study."""

from typing import Any

import pytest

from skipstack.dashboards.reports.exploration.closing import search_in_a_sentence
from skipstack.dashboards.reports.wording import listed
from skipstack.search.api.study import exploration_of
from skipstack.search.ledger.events import Event, Reason
from tests.search.made_up import DEPTH, GATE, RATE, ended, proposed, record_of, reported, study

BASE: dict[str, Any] = {DEPTH: 3, GATE: "sigmoid_below", RATE: 0.01}
OTHER: dict[str, Any] = {DEPTH: 5, GATE: "none", RATE: 0.0123456}
THEN = "This is described and not tested: `skipstack ablate` tests it with fresh seeds."


def sentence(*trials: tuple[dict[str, Any], float | None, Reason]) -> str:
    """Of a study of these trials: point, dev accuracy at the only epoch, and end."""
    config = study()
    events: list[Event] = []
    for number, (point, accuracy, reason) in enumerate(trials):
        events.append(proposed(config, number, point))
        events += [] if accuracy is None else [reported(number, 1, accuracy, accuracy)]
        events.append(ended(number, reason))
    return search_in_a_sentence(exploration_of(record_of(config, *events)))


def test_it_says_what_the_best_has_beside_the_base_and_what_would_tell_whether_it_holds() -> None:
    assert sentence((BASE, 0.9512, "completed"), (OTHER, 0.964, "completed"), (OTHER | {DEPTH: 3}, 0.9, "failed")) == (
        "Trial 1, the best of 2 on dev, reaches 96.40 %, where the base reaches 95.12 %; "
        f"it differs by depth 5, gate none and learning_rate 0.0123. {THEN}"
    )


def test_scores_that_print_alike_are_no_gain() -> None:
    assert sentence((BASE, 0.9512, "completed"), (BASE | {DEPTH: 5}, 0.951201, "completed")) == (
        f"Trial 1, the best of 2 on dev, reaches what the base reaches, 95.12 %; it differs by depth 5. {THEN}"
    )


def test_a_training_that_was_cut_short_is_not_called_whole() -> None:
    said = sentence((BASE, 0.9512, "stopped"), (BASE | {DEPTH: 5}, 0.96, "completed"))
    assert said == (
        "Trial 1, the best of 2 on dev, 1 of them stopped early, reaches 96.00 %, where the base reaches 95.12 %, "
        f"although not both were trained to the end; it differs by depth 5. {THEN}"
    )


@pytest.mark.parametrize(
    ("others", "why"),
    [
        ([], "no other trial has a score"),
        ([(OTHER, None, "failed")], "no other trial has a score"),
        (
            [(OTHER, 0.94, "stopped")],
            "the other one was stopped after 1 of 6 epochs, so it is not known what it would reach",
        ),
        ([(OTHER, 0.94, "completed")], "the other one reached no more"),
        ([(OTHER, 0.94, "completed"), (BASE | {DEPTH: 5}, 0.9512, "completed")], "none of the 2 others reached more"),
        (
            [(OTHER, 0.94, "stopped"), (BASE | {DEPTH: 5}, 0.9512, "stopped")],
            "the 2 others were stopped after 1 of 6 epochs, so it is not known what they would reach",
        ),
        (
            [(OTHER, 0.94, "stopped"), (BASE | {DEPTH: 5}, 0.9512, "completed")],
            "the one other that was trained to its end reached no more; 1 was stopped after 1 of 6 epochs, so it is "
            "not known what it would reach",
        ),
    ],
)
def test_the_base_may_be_the_best(others: list[Any], why: str) -> None:
    said = sentence((BASE, 0.9512, "completed"), *others)
    assert said == f"The base itself is the best on dev, with 95.12 %: {why}."


def test_without_a_score_of_the_base_nothing_is_compared() -> None:
    assert sentence((BASE, None, "failed"), (OTHER, 0.96, "completed")) == (
        "Trial 1 reaches 96.00 %; the base has no score that it could be compared with."
    )


def test_without_any_score_nothing_is_said_of_the_axes() -> None:
    said = "No trial has a score, so the axes cannot be compared."
    assert sentence() == sentence((BASE, None, "failed"), (OTHER, 0.9, "diverged")) == said


def test_a_list_reads_as_one_says_it() -> None:
    assert [listed("abc"[:length]) for length in (1, 2, 3)] == ["a", "a and b", "a, b and c"]
