"""Hyperband against the table that its paper prints, and against a plain reading of the whole history."""

from collections import defaultdict
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skipstack.search.strategy.schedulers.config import HyperbandConfig
from skipstack.search.strategy.schedulers.conformance import life
from skipstack.search.strategy.schedulers.halving import dealt, sizes
from skipstack.search.strategy.schedulers.hyperband import Hyperband
from skipstack.search.strategy.schedulers.scheduler import Decision
from tests.oracles.schedulers import hyperband_waiting
from tests.search.strategy.schedulers.traces import PICKS

PRINTED = (
    ((81, 1), (27, 3), (9, 9), (3, 27), (1, 81)),
    ((34, 3), (11, 9), (3, 27), (1, 81)),
    ((15, 9), (5, 27), (1, 81)),
    ((8, 27), (2, 81)),
    ((5, 81),),
)
"""Li et al. (2018), table 1: (n_i, r_i) of each bracket for R = 81, eta = 3."""


def test_the_brackets_are_those_of_the_papers_table() -> None:
    subject = Hyperband(HyperbandConfig(), 81, seeds=1)
    assert subject.sizes == tuple(bracket[0][0] for bracket in PRINTED)
    assert tuple((*ladder, 81) for ladder in subject.ladders) == tuple(
        tuple(level for _, level in bracket) for bracket in PRINTED
    )


@pytest.mark.parametrize("workers", [1, 4, 1000])
def test_so_many_trials_reach_each_rung_as_the_paper_prints_and_they_are_the_best(workers: int) -> None:
    """Trial n has the score 37 n mod 143 throughout: all different, in no order."""
    subject = Hyperband(HyperbandConfig(), 81, seeds=1)
    reached: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    running: list[int] = []
    born = 0
    while True:
        while len(running) < workers:
            trial = subject.promotable()
            if trial is not None:
                subject.promoted(trial)
            elif born < 143:
                trial, born = born, born + 1
            else:
                break
            running.append(trial)
        if not running:
            break
        trial = running.pop(0)
        epoch = subject.spending.last(trial) + 1
        if any(epoch == level for _, level in PRINTED[subject.bracket(trial)]):
            reached[subject.bracket(trial), epoch].append(trial)
        if subject.report(trial, epoch, 37 * trial % 143).action == "continue":
            running.append(trial)
    for number, bracket in enumerate(PRINTED):
        members = [trial for trial in range(143) if subject.bracket(trial) == number]
        best_first = sorted(members, key=lambda trial: -(37 * trial % 143))
        for size, level in bracket:
            assert sorted(reached[number, level]) == sorted(best_first[:size])


@given(PICKS, st.integers(1, 2), st.integers(2, 3), st.integers(1, 9), st.integers(1, 40), st.integers(1, 8))
def test_what_is_promoted_equals_the_oracle_on_any_order_of_arrival(
    picks: list[tuple[int, float]], grace: int, reduction: int, maximum: int, trials: int, workers: int
) -> None:
    subject = Hyperband(HyperbandConfig(grace=grace, reduction=reduction), maximum, frozenset({0}), seeds=1)
    reports: list[tuple[int, int, float]] = []
    gone_on: set[tuple[int, int]] = set()
    over: set[int] = set()
    last: dict[int, int] = {}
    in_vain: set[int] = set()

    def waiting(total: int | None) -> tuple[set[int], set[int]]:
        """Of every bracket, the best that waits to go on, and those that wait in vain."""
        found, beaten, first = set(), set[int](), 0
        while first < trials:
            for size, ladder in zip(subject.sizes, subject.ladders, strict=True):
                members = range(first, min(first + size, total or trials))
                first += size
                if total is None and first > trials:
                    continue  # not all of them are born
                winners, losers = hyperband_waiting(
                    reports, gone_on, over, members=members, rungs=ladder, reduction=reduction
                )
                found |= set(winners[:1])
                beaten |= losers
        return found, beaten

    for told in life(subject, picks, trials=trials, workers=workers, failing=True):
        if told.decision is not None:
            assert told.score is not None
            reports.append((told.trial, told.epoch, told.score))
            last[told.trial] = told.epoch
            if told.decision.action in ("stop", "complete"):
                over.add(told.trial)
            if told.trial == 0 and told.decision.rung is not None:
                gone_on.add((0, told.epoch))
        elif told.ended:
            over.add(told.trial)
        else:
            assert told.trial in waiting(trials)[0]
            assert told.trial not in in_vain
            gone_on.add((told.trial, last[told.trial]))
        for total in (None, trials):
            due, winners = subject.promotable(total), waiting(total)[0]
            assert (due in winners) if due is not None else not winners
        assert set(subject.beaten()) == waiting(None)[1]
        in_vain |= set(subject.beaten())


def test_trials_go_to_the_bracket_that_is_furthest_behind_its_share() -> None:
    """By hand: three of four trials go to the first bracket, two of five."""
    assert list(islice(dealt((3, 1)), 8)) == [0, 0, 1, 0, 0, 0, 1, 0]
    assert list(islice(dealt((2, 3)), 5)) == [1, 0, 1, 0, 1]


def test_a_bracket_cut_short_by_the_end_of_the_study_still_sends_its_best_to_the_end() -> None:
    subject = Hyperband(HyperbandConfig(), 9, seeds=1)
    for trial in range(4):
        assert subject.report(trial, 1, 0.1 * trial) == Decision("pause", rung=1)
    assert subject.promotable() is None  # five more may come
    assert subject.promotable(4) == 3
    subject.promoted(3)
    assert subject.promotable(4) is None  # 4 // 3 go on
    subject.report(3, 2, 0.3)
    assert subject.report(3, 3, 0.3) == Decision("pause", rung=3)
    assert subject.promotable(4) == 3  # 4 // 9 would be none
    subject.promoted(3)
    assert [subject.report(3, epoch, 0.3).action for epoch in range(4, 10)] == ["continue"] * 5 + ["complete"]
    assert subject.promotable(4) is None


def test_nobody_waits_for_a_trial_that_ended_on_its_way() -> None:
    subject = Hyperband(HyperbandConfig(grace=3), 9, seeds=1)  # brackets of 3 at rung 3, and of 2 that run to the end
    assert subject.sizes == (3, 2)
    assert sizes(2, 3) == (3, 2)
    for epoch in (1, 2, 3):
        subject.report(0, epoch, 0.5)
        subject.report(1, epoch, 0.6)
    assert subject.promotable() is None
    subject.ended(2)
    assert subject.promotable() == 1


def test_a_whole_trial_of_seconds_that_never_came_to_the_next_rung_is_not_waited_for() -> None:
    subject = Hyperband(HyperbandConfig(grace=10, resource="seconds", maximum=30), 2, seeds=1)
    for trial in range(3):
        assert subject.report(trial, 1, 0.1 * trial, 11.0) == Decision("pause", rung=10)
    assert subject.promotable() == 2
    subject = Hyperband(HyperbandConfig(grace=10, resource="seconds", maximum=30), 2, seeds=1)
    for trial in (0, 1):
        assert subject.report(trial, 1, 0.1 * trial, 11.0) == Decision("pause", rung=10)
    assert subject.report(2, 1, 0.9, 1.0) == Decision("continue")
    assert subject.report(2, 2, 0.9, 1.0) == Decision("complete")
    assert subject.promotable() == 1


def test_the_top_rung_goes_before_and_who_ended_while_it_was_paused_is_not_promoted() -> None:
    subject = Hyperband(HyperbandConfig(), 9, seeds=1)  # brackets of 9, 5 and 3
    for trial in range(9):
        subject.report(trial, 1, 0.1 * trial)
    for trial in (8, 7, 6):
        assert subject.promotable() == trial
        subject.promoted(trial)
        for epoch in (2, 3):
            subject.report(trial, epoch, 0.1 * trial)
    assert subject.promotable() == 8  # at rung 3 of the first bracket
    for first in (17, 9):  # the next round of the brackets, and the second of this one, begun at rung 3
        for trial in range(first, first + (9 if first == 17 else 5)):
            for epoch in range(1, 2 if first == 17 else 4):
                subject.report(trial, epoch, 0.9)
    assert subject.promotable() == 8
    subject.promoted(8)
    assert subject.promotable() == 9  # rung 3 again, though a later bracket
    subject.ended(9)
    assert subject.promotable() == 17
    subject.promoted(17)
    assert subject.promotable() == 18
    subject.ended(18)
    assert subject.promotable() == 19
