"""What is said of the next hour: the pace of the study, and a bound on the best score only where one is known."""

from typing import Any

import numpy as np
import pytest

from skipstack.dashboards.reports.next_hour import next_hour
from skipstack.dashboards.reports.wording import enough_in_words
from skipstack.data.tasks.accuracy import Accuracy
from skipstack.data.tasks.measures import MEASURES
from skipstack.search.analysis.exploration.budgets import continued
from skipstack.search.ledger.events import Gain

ACCURACY, PERPLEXITY = MEASURES[Accuracy.name], MEASURES["perplexity"]


def said(proposer: str = "random", *, scores: int = 40, **given: Any) -> str:
    values = np.random.default_rng(0).uniform(0.8, 0.9, scores).tolist()
    found = continued(values, 100.0, 0.01, proposer=proposer)
    known = {"left": 30, "per_minute": 0.25, "seconds_left": 7200.0, "several": False, "raced": False}
    return " ".join(next_hour(continued=found, proposer=proposer, **{**known, "measure": ACCURACY, **given}))


def test_the_pace_says_how_many_trials_end_within_the_hour() -> None:
    assert said().startswith("At the present pace about 15 trials of 30 will end within the hour.")
    assert said(seconds_left=1800.0).startswith(
        "The study's hours are over in 30 min: until then about 8 trials of 30 "
    )
    assert said(left=12, seconds_left=2880.0).startswith(
        "At the present pace all 12 trials that are left will end within "
    )
    assert said(left=1, seconds_left=240.0).startswith("At the present pace the last trial will end within about 4 min")
    assert said(per_minute=None, seconds_left=None) == (
        "No trial has ended yet since the study was last started, so nothing is known of its pace. 30 are left."
    )
    assert said(left=0) == ""


def test_no_bound_is_given_where_seeds_race() -> None:
    assert said(raced=True).endswith("seeds race, so scores are means over different numbers of seeds.")


def test_a_bound_on_the_best_score_is_the_one_whose_reliability_was_measured() -> None:
    scores = np.random.default_rng(0).uniform(0.8, 0.9, 40).tolist()
    found = continued(scores, 100.0, 0.01, proposer="random")
    assert found is not None
    assert found.most is not None
    bound = f"improve the best accuracy by {100 * found.most:.2f} points at most, on average"
    assert bound in said()
    assert "for 20 more trials drawn at random, and in 81 of 100 searches" in said()


def test_where_smaller_is_better_the_best_improves_and_is_not_raised() -> None:
    enough = enough_in_words(Gain(trials=5, hours=1.0, most=0.5, seed_deviation=2.0), PERPLEXITY)
    for told in (enough, said(measure=PERPLEXITY)):
        assert "improve the best perplexity by" in told
        assert "raise" not in told


@pytest.mark.parametrize(
    ("why", "given"),
    [
        ("not for those of tpe", {"proposer": "tpe"}),
        ("for half as many more trials as have a score, 5, and for no more", {"scores": 10}),
        ("before 4 trials have a score", {"scores": 3}),
        ("the study has several objectives", {"several": True}),
        ("hardly a trial will end", {"per_minute": 0.001, "seconds_left": 1e6}),
    ],
)
def test_where_none_is_known_that_is_said(why: str, given: dict[str, Any]) -> None:
    told = said(**given)
    assert "No forecast of the best score is made" in told
    assert why in told
    assert "at most" not in told
