"""The score that a trial needs at its next rung is where the scheduler's own decision turns."""

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skipstack.search.strategy.schedulers.conformance import life, replay
from skipstack.search.strategy.schedulers.keep_best import KeepBest
from skipstack.search.strategy.schedulers.median import Median
from skipstack.search.strategy.schedulers.scheduler import Scheduler
from skipstack.search.study.config import SearchConfig
from tests.search.changed import scheduler_of
from tests.search.strategy.schedulers.traces import PICKS

PROMOTION = {"kind": "asha", "variant": "promotion"}
KINDS: dict[str, dict[str, Any]] = {
    "asha": {"kind": "asha", "grace": 1, "reduction": 2},
    "asha, brackets": {"kind": "asha", "reduction": 2, "brackets": 3},
    "asha, thirds": {"kind": "asha", "grace": 2, "reduction": 3},
    "promotion": {**PROMOTION, "reduction": 2},
    "promotion, brackets": {**PROMOTION, "reduction": 3, "brackets": 2},
    "median": {"kind": "median", "grace": 2, "minimum_trials": 2},
    "keep best": {"kind": "keep_best", "keep": 2},
}
SMALL = 1.0
"""Beside scores, all multiples of 60."""


def goes_on(future: Scheduler, trial: int, rung: int, score: float) -> bool:
    """Whether the trial goes on beyond its next rung, where it reports this score until then."""
    while (epoch := future.spending.last(trial) + 1) <= rung:
        decision = future.report(trial, epoch, score)
        if decision.action in ("stop", "complete"):
            return False
    while decision.action == "pause":
        promoted = future.promotable()
        if promoted is None:
            return False
        if promoted == trial:
            return True
        future.promoted(promoted)
    return True


@settings(max_examples=60)
@given(PICKS, st.integers(1, 4), st.integers(3, 20), st.sampled_from(sorted(KINDS)))
def test_the_score_that_is_needed_is_where_the_decision_turns(
    picks: list[tuple[int, float]], workers: int, trials: int, kind: str
) -> None:
    search = SearchConfig.model_validate({"scheduler": KINDS[kind]})
    subject = scheduler_of(search, 9)
    lived = list(life(subject, picks, trials=trials, workers=workers))

    def ends_well(trial: int, rung: int, score: float) -> bool:
        replayed = scheduler_of(search, 9)
        for told in lived:
            replay(replayed, told)
        return goes_on(replayed, trial, rung, score)

    trained = {told.trial for told in lived if told.decision is None or told.decision.action == "continue"}
    over = {told.trial for told in lived if told.ended or (told.decision and told.decision.action != "continue")}
    for trial in sorted(trained - over):
        for ahead in subject.ahead(trial)[:1]:
            if isinstance(subject, Median) and subject.spending.last(trial) + 1 < ahead.rung:
                continue  # epochs between may decide before
            if ahead.needed is None:
                assert ahead.results < {"asha": 1}.get(kind.partition(",")[0], 3), "few results"
                if kind.startswith("asha") or isinstance(subject, KeepBest | Median):
                    assert ends_well(trial, ahead.rung, -1000.0)
                continue
            assert ends_well(trial, ahead.rung, ahead.needed + SMALL)
            if isinstance(subject, Median):
                continue  # it is the best score so far that counts
            assert ends_well(trial, ahead.rung, ahead.needed) is not ahead.above
            assert not ends_well(trial, ahead.rung, ahead.needed - SMALL)


def test_hyperband_says_what_the_best_of_its_bracket_have_so_far() -> None:
    subject = scheduler_of(SearchConfig.model_validate({"scheduler": {"kind": "hyperband", "reduction": 2}}), 4)
    assert [(each.rung, each.results, each.needed) for each in subject.ahead(0)] == [(1, 0, None), (2, 0, None)]
    for trial, score in enumerate([1.0, 3.0, 2.0]):
        subject.report(trial, 1, score)
    first, second = subject.ahead(3)
    assert (first.results, first.needed, first.above) == (3, 2.0, True)  # the first bracket keeps two of its four
    assert (second.results, second.needed) == (0, None)
    subject.report(3, 1, 2.5)
    assert subject.promotable() == 1
    subject.promoted(1)
    assert subject.promotable() == 3


def test_nothing_is_ahead_of_a_trial_that_is_never_stopped() -> None:
    search = SearchConfig.model_validate({"scheduler": KINDS["asha"]})
    spared = scheduler_of(search, 9, frozenset({0}))
    assert spared.ahead(0) == ()
    assert [each.rung for each in spared.ahead(1)] == [1, 2, 4, 8]
    spared.report(1, 1, math.nan)
    assert spared.ahead(1) == (), "it has ended"
    assert scheduler_of(SearchConfig.model_validate({"scheduler": "none"}), 9).ahead(1) == ()


@pytest.mark.parametrize("kind", ["asha", "promotion"])
def test_a_rung_without_results_has_no_threshold(kind: str) -> None:
    subject = scheduler_of(SearchConfig.model_validate({"scheduler": KINDS[kind]}), 9)
    assert {(each.results, each.needed) for each in subject.ahead(0)} == {(0, None)}
