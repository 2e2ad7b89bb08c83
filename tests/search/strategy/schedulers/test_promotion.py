"""Promotion-ASHA against the paper's own loop over the whole history."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from skipstack.search.strategy.schedulers.config import AshaConfig
from skipstack.search.strategy.schedulers.conformance import life
from skipstack.search.strategy.schedulers.halving import Promotion
from skipstack.search.strategy.schedulers.scheduler import Decision
from tests.oracles.asha import get_job
from tests.search.strategy.schedulers.traces import PICKS


@given(PICKS, st.integers(1, 3), st.integers(2, 4), st.integers(1, 30), st.integers(1, 25), st.integers(1, 8))
def test_what_is_promoted_equals_the_papers_loop_on_any_order_of_arrival(
    picks: list[tuple[int, float]], grace: int, reduction: int, maximum: int, trials: int, workers: int
) -> None:
    subject = Promotion(AshaConfig(grace=grace, reduction=reduction, variant="promotion"), maximum)
    reports: list[tuple[int, int, float]] = []
    promoted: set[tuple[int, int]] = set()
    last: dict[int, int] = {}

    def job() -> int | None:
        return get_job(reports, promoted, grace=grace, reduction=reduction, maximum=maximum)

    for told in life(subject, picks, trials=trials, workers=workers, failing=True):
        if told.score is not None:
            reports.append((told.trial, told.epoch, told.score))
            last[told.trial] = told.epoch
        elif not told.ended:
            assert job() == told.trial
            promoted.add((told.trial, last[told.trial]))
        assert subject.promotable() == job()


def test_a_trial_pauses_at_each_rung_and_goes_on_when_enough_are_there() -> None:
    subject = Promotion(AshaConfig(grace=1, reduction=2, variant="promotion"), 4)
    assert subject.report(0, 1, 0.3) == Decision("pause", rung=1)
    assert subject.promotable() is None  # the top half of one is none
    assert subject.report(1, 1, 0.5) == Decision("pause", rung=1)
    assert subject.promotable() == 1
    subject.promoted(1)
    assert subject.promotable() is None
    assert subject.report(2, 1, 0.4) == Decision("pause", rung=1)
    assert subject.report(3, 1, 0.1) == Decision("pause", rung=1)
    assert subject.promotable() == 2
    subject.promoted(2)
    assert subject.report(1, 2, 0.6) == Decision("pause", rung=2)
    assert subject.report(2, 2, 0.7) == Decision("pause", rung=2)
    assert subject.report(4, 1, 0.9) == Decision("pause", rung=1)
    assert subject.report(5, 1, 0.2) == Decision("pause", rung=1)
    assert subject.promotable() == 2  # the top rung comes first
    subject.promoted(2)
    assert subject.promotable() == 4
    assert subject.report(2, 3, 0.7) == Decision("continue")
    assert subject.report(2, 4, 0.7) == Decision("complete")


def test_a_spared_trial_takes_a_place_among_the_best_without_pausing() -> None:
    subject = Promotion(AshaConfig(grace=1, reduction=2, variant="promotion"), 4, frozenset({0}))
    assert subject.report(0, 1, 0.9) == Decision("continue", rung=1)
    subject.report(1, 1, 0.5)
    assert subject.promotable() is None  # the best half of two is the spared one
    subject.report(2, 1, 0.4)
    subject.report(3, 1, 0.3)
    assert subject.promotable() == 1
    assert [subject.report(0, epoch, 0.9).action for epoch in (2, 3, 4)] == ["continue", "continue", "complete"]


def test_each_bracket_has_rungs_of_its_own_and_takes_about_as_much() -> None:
    """27 epochs, reduction 3: n_s = 27, 12, 6, 4, and a trial of the last bracket is never paused."""
    subject = Promotion(AshaConfig(variant="promotion", brackets=4), 27)
    assert subject.ladders == ((1, 3, 9), (3, 9), (9,), ())
    assert Counter(subject.bracket(trial) for trial in range(98)) == {0: 54, 1: 24, 2: 12, 3: 8}
    for start in range(0, 90, 7):  # and at any time nearly so
        dealt = Counter(subject.bracket(trial) for trial in range(start))
        assert all(abs(dealt[bracket] - size * start / 49) <= 1 for bracket, size in enumerate((27, 12, 6, 4)))
    whole = next(trial for trial in range(49) if subject.bracket(trial) == 3)
    assert [subject.report(whole, epoch, 0.1).action for epoch in range(1, 28)] == ["continue"] * 26 + ["complete"]
    first, second = ([trial for trial in range(30) if subject.bracket(trial) == bracket] for bracket in (0, 1))
    for place, trial in enumerate(first[:3]):
        subject.report(trial, 1, 0.1 * place)
    assert subject.report(second[0], 1, 0.9) == Decision("continue")
    assert subject.promotable() == first[2]
