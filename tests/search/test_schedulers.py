"""Median stopping and "one epoch, keep the best" against plain oracles, and what every scheduler promises."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from search.asha import Asha
from search.config import AshaConfig, KeepBestConfig, MedianConfig, SearchConfig
from search.keep_best import KeepBest
from search.median import Median
from search.scheduler import Decision, NeverStop, Scheduler
from search.schedulers import scheduler
from tests.oracles.schedulers import keep_best_decisions, median_decisions
from tests.search.traces import BAD, PICKS, trace

# Multiples of 840 have exact means over up to 8 epochs, and tie often.
EXACT = st.lists(
    st.tuples(st.integers(0, 999), st.integers(0, 9).map(lambda score: 1680.0 * score) | st.sampled_from(BAD)),
    max_size=120,
)
EVERY = {
    "asha": SearchConfig(asha=AshaConfig(grace=2, reduction=2)),
    "median": SearchConfig(asha=None, median=MedianConfig(grace=2)),
    "keep best": SearchConfig(asha=None, keep_best=KeepBestConfig(keep=2)),
    "none": SearchConfig(asha=None),
}
every = pytest.mark.parametrize("config", EVERY.values(), ids=EVERY.keys())


@given(EXACT, st.integers(1, 4), st.integers(1, 5), st.integers(1, 8), st.integers(1, 25))
def test_median_decisions_equal_the_oracle_on_any_order_of_arrival(
    picks: list[tuple[int, float]], grace: int, minimum: int, maximum: int, trials: int
) -> None:
    subject = Median(MedianConfig(grace=grace, minimum_trials=minimum), maximum)
    lived = list(trace(subject, picks, trials))
    expected = median_decisions([report for report, _ in lived], grace=grace, minimum=minimum, maximum=maximum)
    assert [decision.action for _, decision in lived] == expected


@given(PICKS, st.integers(1, 6), st.integers(1, 8), st.integers(1, 25))
def test_keep_best_decisions_equal_the_oracle_on_any_order_of_arrival(
    picks: list[tuple[int, float]], keep: int, maximum: int, trials: int
) -> None:
    subject = KeepBest(KeepBestConfig(keep=keep), maximum)
    lived = list(trace(subject, picks, trials))
    expected = keep_best_decisions([report for report, _ in lived], keep=keep, maximum=maximum)
    assert [decision.action for _, decision in lived] == expected


@given(st.permutations(range(12)), st.integers(1, 12))
def test_side_by_side_the_best_first_epochs_complete_and_nothing_else_does(order: list[int], keep: int) -> None:
    subject = KeepBest(KeepBestConfig(keep=keep), 4)
    alive = [trial for trial in order if subject.report(trial, 1, float(trial)).action == "continue"]
    ends = {}
    for epoch in (2, 3, 4):
        ends = {trial: subject.report(trial, epoch, 0.0).action for trial in alive}
        alive = [trial for trial in alive if ends[trial] == "continue"]
    assert {trial for trial, end in ends.items() if end == "complete"} == set(range(12 - keep, 12))


@every
@given(PICKS, st.integers(1, 20))
def test_replaying_the_reports_gives_the_same_decisions(
    config: SearchConfig, picks: list[tuple[int, float]], trials: int
) -> None:
    lived = list(trace(scheduler(config, 6), picks, trials))
    replayed = scheduler(config, 6)
    assert [replayed.report(*report) for report, _ in lived] == [decision for _, decision in lived]


@every
@given(PICKS, st.integers(1, 20), st.integers(1, 7))
def test_no_trial_stops_before_the_earliest_epoch_and_rungs_lie_below_the_last(
    config: SearchConfig, picks: list[tuple[int, float]], trials: int, maximum: int
) -> None:
    subject = scheduler(config, maximum)
    assert subject.earliest <= maximum
    assert all(rung < maximum for rung in subject.rungs)
    for (_, epoch, score), decision in trace(subject, picks, trials):
        assert decision.rung in (None, *subject.rungs)
        assert decision.diverged == (not math.isfinite(score))
        if decision.action == "stop" and not decision.diverged:
            assert epoch >= subject.earliest


@every
def test_a_spared_trial_goes_on_and_a_diverged_one_never_does(config: SearchConfig) -> None:
    subject = scheduler(config, 5, frozenset({9}))
    for trial in range(6):
        for epoch in (1, 2, 3):
            if subject.report(trial, epoch, 10.0 - trial).action != "continue":
                break
    actions = [subject.report(9, epoch, 0.0).action for epoch in range(1, 6)]
    assert actions == ["continue"] * 4 + ["complete"]
    for number, bad in enumerate(BAD):
        assert subject.report(20 + number, 1, bad) == Decision("stop", diverged=True)


@pytest.mark.parametrize(
    ("name", "kind"), [("asha", Asha), ("median", Median), ("keep best", KeepBest), ("none", NeverStop)]
)
def test_a_study_names_its_scheduler_by_one_key(name: str, kind: type[Scheduler]) -> None:
    assert type(scheduler(EVERY[name], 5)) is kind


def test_two_schedulers_in_one_study_are_refused() -> None:
    with pytest.raises(ValidationError, match=r"got asha and median \(allowed: one of them; `asha: null` leaves"):
        SearchConfig(median=MedianConfig())
