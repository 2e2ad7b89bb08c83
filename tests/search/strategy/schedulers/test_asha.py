"""Stopping-ASHA against a plain oracle over the whole history. Against Ray's own: ``engines/ray/test_asha.py``."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skipstack.search.strategy.schedulers.config import AshaConfig
from skipstack.search.strategy.schedulers.halving import Asha, rungs_below
from skipstack.search.strategy.schedulers.scheduler import Decision, NeverStop
from skipstack.search.study.config import SearchConfig
from tests.oracles.asha import decisions
from tests.search.changed import scheduler_of
from tests.search.strategy.schedulers.traces import BAD, PICKS, Report, trace


@given(PICKS, st.integers(1, 4), st.integers(2, 6), st.integers(1, 30), st.integers(1, 25))
def test_decisions_equal_the_oracle_on_any_order_of_arrival(
    picks: list[tuple[int, float]], grace: int, reduction: int, maximum: int, trials: int
) -> None:
    asha = Asha(AshaConfig(grace=grace, reduction=reduction), maximum)
    reports, answers = [], []
    for report, decision in trace(asha, picks, trials):
        reports.append(report)
        answers.append((decision.action, decision.rung))
        assert decision.diverged == (not math.isfinite(report[2]))
    assert answers == decisions(reports, grace=grace, reduction=reduction, maximum=maximum)


@given(PICKS, st.integers(1, 20))
def test_replaying_the_reports_gives_the_same_decisions_and_the_same_future(
    picks: list[tuple[int, float]], trials: int
) -> None:
    config = AshaConfig(grace=1, reduction=2)
    asha = Asha(config, 9)
    lived = list(trace(asha, picks, trials))
    replayed = Asha(config, 9)
    assert [replayed.report(*report) for report, _ in lived] == [decision for _, decision in lived]
    for trial in range(trials, trials + 5):
        assert asha.report(trial, 1, 60.0 * trial) == replayed.report(trial, 1, 60.0 * trial)


@pytest.mark.parametrize(
    ("grace", "reduction", "maximum", "expected"),
    [
        (1, 3, 20, (1, 3, 9)),
        (1, 3, 27, (1, 3, 9)),
        (1, 3, 28, (1, 3, 9, 27)),
        (2, 4, 33, (2, 8, 32)),
        (5, 5, 3126, (5, 25, 125, 625, 3125)),
        (1, 10, 1001, (1, 10, 100, 1000)),
        (4, 2, 4, ()),
        (5, 2, 4, ()),
    ],
)
def test_rungs_are_whole_powers_below_the_maximum(
    grace: int, reduction: int, maximum: int, expected: tuple[int, ...]
) -> None:
    assert rungs_below(maximum, grace, reduction) == expected


def test_a_score_equal_to_the_cutoff_goes_on_where_floating_point_would_stop_it() -> None:
    # With 10 scores and reduction 3 the index is 9 * 2/3 = 6 exactly; 9 * (1 - 1/3) in floats is above 6.
    asha = Asha(AshaConfig(grace=1, reduction=3), 9)
    for trial in range(10):
        asha.report(trial, 1, float(trial))  # ascending: none is stopped
    assert asha.report(10, 1, 6.0) == Decision("continue", rung=1)


@pytest.mark.parametrize("bad", BAD)
def test_a_diverged_score_stops_its_trial_at_any_epoch_and_enters_no_rung(bad: float) -> None:
    for subject in (Asha(AshaConfig(grace=1, reduction=2), 2), NeverStop(2)):
        assert subject.report(0, 1, bad) == Decision("stop", rung=None, diverged=True)
        assert subject.report(1, 1, -5.0).action == "continue"
        assert subject.report(1, 2, bad) == Decision("stop", rung=None, diverged=True)


@pytest.mark.parametrize(
    ("before", "report", "message"),
    [
        ([], (0, 2, 0.5), "reports epoch 2 after epoch 0"),
        ([], (0, 0, 0.5), "reports epoch 0 after epoch 0"),
        ([(0, 1, 0.5)], (0, 1, 0.5), "reports epoch 1 after epoch 1"),
        ([(0, 1, 0.5)], (0, 3, 0.5), "reports epoch 3 after epoch 1"),
        ([(0, 1, 0.5), (1, 1, 0.4)], (1, 2, 0.9), "trial 1 reports epoch 2, but it ended at epoch 1"),
        ([(0, 1, 0.5), (0, 2, 0.5), (0, 3, 0.5), (0, 4, 0.5)], (0, 5, 0.5), "it ended at epoch 4"),
    ],
    ids=["skips the first rung", "epoch 0", "twice", "skips an epoch", "after a stop", "after the last"],
)
def test_reports_out_of_order_are_errors_and_change_nothing(before: list[Report], report: Report, message: str) -> None:
    config = AshaConfig(grace=1, reduction=2)
    asha, untouched = Asha(config, 4), Asha(config, 4)
    for earlier in before:
        assert asha.report(*earlier) == untouched.report(*earlier)
    with pytest.raises(ValueError, match=message):
        asha.report(*report)
    assert asha.report(7, 1, 0.45) == untouched.report(7, 1, 0.45)


def test_without_a_config_every_trial_runs_all_its_epochs() -> None:
    subject = scheduler_of(SearchConfig(scheduler="none"), 3)
    assert isinstance(subject, NeverStop)
    for trial, score in enumerate([0.9, 0.1, 0.0]):
        actions = [subject.report(trial, epoch, score).action for epoch in (1, 2, 3)]
        assert actions == ["continue", "continue", "complete"]
    assert isinstance(scheduler_of(SearchConfig(), 3), Asha)


def test_ten_thousand_trials_replay_quickly() -> None:
    asha = Asha(AshaConfig(grace=1, reduction=3), 9)
    scores = random.Random(0)
    stopped = sum(asha.report(trial, 1, scores.random()).action == "stop" for trial in range(10_000))
    assert 6_000 < stopped < 7_300  # two thirds, in any order of arrival


def test_a_spared_trial_goes_on_and_its_score_still_counts_for_the_others() -> None:
    asha = Asha(AshaConfig(grace=1, reduction=2), 4, spared=frozenset({1}))
    assert asha.report(0, 1, 0.9).action == "continue"
    assert asha.report(1, 1, 0.5) == Decision("continue", rung=1)
    assert asha.report(2, 1, 0.6).action == "stop"  # below the median of 0.5 and 0.9
    assert asha.report(3, 1, 0.7).action == "continue"  # above the median of 0.5, 0.6 and 0.9: 0.6
    assert asha.report(1, 2, math.nan) == Decision("stop", diverged=True)
