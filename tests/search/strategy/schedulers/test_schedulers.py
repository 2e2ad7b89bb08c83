"""Median stopping and "one epoch, keep the best" against plain oracles, and what every scheduler promises."""

import math
import random
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from skipstack.data.basis.errors import UserError
from skipstack.search.strategy.schedulers.build import described
from skipstack.search.strategy.schedulers.config import AshaConfig, KeepBestConfig, MedianConfig
from skipstack.search.strategy.schedulers.conformance import BAD, PROMISES, SchedulerSubject, life, replay
from skipstack.search.strategy.schedulers.halving import Asha, Promotion
from skipstack.search.strategy.schedulers.hyperband import Hyperband
from skipstack.search.strategy.schedulers.keep_best import KeepBest
from skipstack.search.strategy.schedulers.median import Median
from skipstack.search.strategy.schedulers.scheduler import Decision, NeverStop, Scheduler
from skipstack.search.study.config import SearchConfig
from tests.oracles.schedulers import keep_best_decisions, median_decisions
from tests.search.changed import scheduler_of
from tests.search.strategy.schedulers.traces import PICKS, trace

# Multiples of 840 have exact means over up to 8 epochs, and tie often.
EXACT = st.lists(
    st.tuples(st.integers(0, 999), st.integers(0, 9).map(lambda score: 1680.0 * score) | st.sampled_from(BAD)),
    max_size=120,
)
PROMOTION = {"kind": "asha", "variant": "promotion"}
EVERY: dict[str, dict[str, Any]] = {
    "asha": {"scheduler": {"kind": "asha", "grace": 2, "reduction": 2}},
    "asha, brackets": {"scheduler": {"kind": "asha", "reduction": 2, "brackets": 3}},
    "asha, seconds": {"scheduler": {"kind": "asha", "reduction": 2, "resource": "seconds", "maximum": 7}},
    "asha, seeds": {"scheduler": {"kind": "asha", "reduction": 2, "resource": "seeds"}},
    "promotion": {"scheduler": {**PROMOTION, "grace": 2, "reduction": 2}},
    "promotion, brackets": {"scheduler": {**PROMOTION, "reduction": 2, "brackets": 3}},
    "promotion, seconds": {
        "scheduler": {**PROMOTION, "reduction": 2, "brackets": 2, "resource": "seconds", "maximum": 7}
    },
    "promotion, seeds": {"scheduler": {**PROMOTION, "reduction": 2, "resource": "seeds"}},
    "hyperband": {"scheduler": {"kind": "hyperband", "reduction": 2}},
    "hyperband, seconds": {"scheduler": {"kind": "hyperband", "reduction": 2, "resource": "seconds", "maximum": 7}},
    "hyperband, seeds": {"scheduler": {"kind": "hyperband", "reduction": 2, "resource": "seeds"}},
    "median": {"scheduler": {"kind": "median", "grace": 2}},
    "keep best": {"scheduler": {"kind": "keep_best", "keep": 2}},
    "none": {"scheduler": "none"},
}
every = pytest.mark.parametrize(
    "config", [SearchConfig.model_validate({"seeds": 5, **own}) for own in EVERY.values()], ids=EVERY.keys()
)
few = settings(max_examples=25)
WHOLE = 6


@given(EXACT, st.integers(1, 4), st.integers(1, 5), st.integers(1, 8), st.integers(1, 25))
def test_median_decisions_equal_the_oracle_on_any_order_of_arrival(
    picks: list[tuple[int, float]], grace: int, minimum: int, maximum: int, trials: int
) -> None:
    subject = Median(MedianConfig(grace=grace, minimum_trials=minimum), maximum)
    lived = list(trace(subject, picks, trials))
    expected = median_decisions([report for report, _ in lived], grace=grace, minimum=minimum, maximum=maximum)
    assert [decision.action for _, decision in lived] == expected


@pytest.mark.parametrize(("others", "median"), [([0.2, 0.6], 0.4), ([0.1, 0.2, 0.6], 0.2), ([0.1, 0.2, 0.6, 0.9], 0.4)])
def test_a_trial_stops_below_the_median_of_the_others(others: list[float], median: float) -> None:
    for score, action in ((median - 0.05, "stop"), (median + 0.05, "continue")):
        subject = Median(MedianConfig(grace=1, minimum_trials=1), 4)
        for trial, other in enumerate(others):
            subject.report(trial, 1, other)
        assert subject.report(9, 1, score).action == action


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


# --- what every scheduler promises -----------------------------------------------------------------------------------


@every
@few
@given(PICKS, st.integers(1, 20), st.integers(1, 6), st.integers(0, 200), st.integers(1, 7))
def test_every_scheduler_keeps_each_promise(
    config: SearchConfig, picks: list[tuple[int, float]], trials: int, workers: int, cut: int, maximum: int
) -> None:
    config = _without_brackets(config) if maximum < WHOLE else config
    for promise in PROMISES.values():
        promise(SchedulerSubject(lambda: scheduler_of(config, maximum), picks, trials, workers, cut))


@every
@few
@given(st.integers(0, 10**6), st.integers(1, 20), st.integers(1, 6))
def test_a_study_comes_to_its_end_with_whole_trials_the_spared_one_among_them(
    config: SearchConfig, seed: int, trials: int, workers: int
) -> None:
    draw = random.Random(seed)
    picks = ((draw.randrange(999), draw.choice((draw.random(), 0.5))) for _ in count())
    lived = list(life(scheduler_of(config, WHOLE, frozenset({0})), picks, trials=trials, workers=workers))
    ends = {event.trial: event.decision.action for event in lived if event.decision is not None}
    assert set(ends) == set(range(trials))
    assert set(ends.values()) <= {"complete", "stop", "pause"}
    assert ends[0] == "complete"
    assert all(
        event.decision.action in ("continue", "complete") for event in lived if event.trial == 0 if event.decision
    )


@every
def test_scores_of_the_spared_trial_count_and_only_a_diverged_one_ends_it(config: SearchConfig) -> None:
    subject = scheduler_of(config, WHOLE, frozenset({0}))
    assert subject.report(0, 1, math.nan) == Decision("stop", diverged=True)
    for number, bad in enumerate(BAD, start=1):
        assert subject.report(number, 1, bad) == Decision("stop", diverged=True)


def _without_brackets(config: SearchConfig) -> SearchConfig:
    if not isinstance(config.scheduler, AshaConfig):
        return config
    return config.model_copy(update={"scheduler": config.scheduler.model_copy(update={"brackets": 1})})


# --- resources --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["stopping", "promotion"])
@given(picks=PICKS, trials=st.integers(1, 20), workers=st.integers(1, 6))
def test_epochs_of_one_second_make_rungs_of_seconds_those_of_epochs(
    variant: str, picks: list[tuple[int, float]], trials: int, workers: int
) -> None:
    own = {"reduction": 2, "variant": variant}
    epochs = scheduler_of(SearchConfig(scheduler=AshaConfig(**own)), WHOLE)
    seconds = scheduler_of(
        SearchConfig(scheduler=AshaConfig(**own, resource="seconds", maximum=WHOLE)),
        100,
    )
    for event in life(epochs, picks, trials=trials, workers=workers):
        assert replay(seconds, replace(event, seconds=1.0)) == event.decision
        assert seconds.promotable() == epochs.promotable()


def test_the_first_report_at_or_after_a_rung_of_seconds_counts_for_it_and_one_may_count_for_several() -> None:
    config = SearchConfig.model_validate(
        {"scheduler": {"kind": "asha", "reduction": 2, "resource": "seconds", "maximum": 8}}
    )
    subject = scheduler_of(config, 100)  # rungs at 1, 2 and 4 seconds
    assert [subject.report(0, epoch, 0.5, 0.75).rung for epoch in range(1, 8)] == [None, 1, 2, None, None, 4, None]
    assert subject.report(1, 1, 0.6, 4.5) == Decision("continue", rung=4)  # at each of the three
    assert subject.report(2, 1, 0.54, 1.0) == Decision("stop", rung=1)  # below the median of 0.5 and 0.6
    assert subject.report(3, 1, 0.54, 3.0) == Decision("stop", rung=2)  # at rung 1 the median is 0.54 now
    assert subject.report(1, 2, 0.1, 3.5) == Decision("complete")
    assert subject.report(4, 1, 0.9, 50.0) == Decision("complete")
    assert subject.report(5, 1, 0.55, 4.0) == Decision("stop", rung=4)  # 0.9 stands at all the rungs, too


def test_a_report_at_several_rungs_has_to_pass_each_of_them() -> None:
    config = SearchConfig.model_validate(
        {"scheduler": {"kind": "asha", "reduction": 2, "resource": "seconds", "maximum": 8}}
    )
    subject = scheduler_of(config, 100)
    assert subject.report(0, 1, 0.9, 1.0) == Decision("continue", rung=1)
    assert subject.report(0, 2, 0.1, 1.0) == Decision("continue", rung=2)
    assert subject.report(1, 1, 0.5, 2.0) == Decision("stop", rung=2)  # at rung 2 it is ahead, at rung 1 it is not
    assert subject.report(2, 1, 0.8, 2.0) == Decision("continue", rung=2)  # and its score stands at both


def test_trials_of_a_bracket_are_compared_with_each_other_alone() -> None:
    subject = scheduler_of(SearchConfig(scheduler=AshaConfig(reduction=2, brackets=2)), 4)
    assert isinstance(subject, Asha)
    first, second = ([trial for trial in range(9) if subject.bracket(trial) == bracket][:2] for bracket in (0, 1))
    for trial, score in ((first[0], 0.9), (second[0], 0.1)):
        assert subject.report(trial, 1, score).action == "continue"
        assert subject.report(trial, 2, score) == Decision("continue", rung=2)
    assert subject.report(second[1], 1, 0.5) == Decision("continue")  # its bracket has no rung at 1
    assert subject.report(second[1], 2, 0.5) == Decision("continue", rung=2)
    assert subject.report(first[1], 1, 0.5) == Decision("stop", rung=1)


def test_seeds_are_trained_in_groups_each_from_its_first_epoch() -> None:
    config = SearchConfig.model_validate(
        {"seeds": 5, "scheduler": {"kind": "asha", "reduction": 2, "resource": "seeds"}}
    )
    subject = scheduler_of(config, 2)  # rungs at 1, 2 and 4 seeds
    assert subject.rungs == (1, 2, 4)
    for rung in (1, 2, 4):
        assert subject.report(0, 1, 0.5) == Decision("continue")
        assert subject.report(0, 2, 0.5) == Decision("continue", rung=rung)
    assert subject.report(0, 1, 0.5) == Decision("continue")
    assert subject.report(0, 2, 0.5) == Decision("complete")
    assert subject.report(1, 1, 0.1) == Decision("continue")  # only a whole group is compared
    assert subject.report(1, 2, 0.1) == Decision("stop", rung=1)


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"resource": "seconds"}, r"seconds as the resource without a maximum \(allowed: maximum: the seconds"),
        ({"maximum": 9}, r"got a maximum of epochs \(allowed: with seconds; training.epochs says it here\)"),
        ({"resource": "seeds", "maximum": 9}, r"got a maximum of seeds \(allowed: with seconds; search.seeds"),
    ],
)
def test_only_seconds_have_a_maximum_of_their_own(own: dict[str, object], message: str) -> None:
    for name in ("asha", "hyperband"):
        with pytest.raises(ValidationError, match=message):
            SearchConfig.model_validate({"scheduler": {"kind": name, **own}})


def test_more_brackets_than_there_is_room_for_are_refused() -> None:
    config = SearchConfig(scheduler=AshaConfig(brackets=4, reduction=3))
    assert len(scheduler_of(config, 10).rungs) == 3  # and a bracket without a rung
    with pytest.raises(
        UserError, match=r"brackets: got 4 \(allowed: up to 3, since there are 2 rungs below 9 epochs\)"
    ):
        scheduler_of(config, 9)


# --- names ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("asha", Asha),
        ("promotion", Promotion),
        ("hyperband", Hyperband),
        ("median", Median),
        ("keep best", KeepBest),
        ("none", NeverStop),
    ],
)
def test_a_study_names_its_scheduler_by_its_kind(name: str, kind: type[Scheduler]) -> None:
    assert type(scheduler_of(SearchConfig.model_validate(EVERY[name]), 5)) is kind


@pytest.mark.parametrize(
    ("search", "told"),
    [
        ({}, "asha (grace 1, reduction 3)"),
        (
            {"scheduler": {"kind": "asha", "variant": "promotion", "brackets": 2}},
            "asha-promotion (grace 1, reduction 3, brackets 2)",
        ),
        (
            {"scheduler": {"kind": "asha", "resource": "seconds", "maximum": 600}},
            "asha (grace 1, reduction 3, resource seconds, maximum 600)",
        ),
        ({"scheduler": {"kind": "hyperband"}}, "hyperband (grace 1, reduction 3)"),
        ({"scheduler": {"kind": "median"}}, "median (grace 1, minimum trials 3)"),
        ({"scheduler": "none"}, "none"),
    ],
)
def test_a_scheduler_is_described_in_a_few_words(search: dict[str, Any], told: str) -> None:
    assert described(SearchConfig.model_validate(search).scheduler) == told
