"""Studies that have enough: when, how often, and what an hour more would really have brought them."""

from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skipstack.search.ledger.events import Gain, Placed, Reported, Resumed, Started
from skipstack.search.strategy.objectives.stopping_rule import StoppingRule, StoppingRuleConfig
from tests.search.strategy.objectives.endings import HEAVY, WORLDS, asked, endings, trial

STUDIES = 40
SCORES = st.lists(st.floats(0.0, 1.0), min_size=4, max_size=30)


def said(scores: list[float], deviation: float, hourly: float, config: StoppingRuleConfig) -> list[Gain | None]:
    return list(asked(np.array(scores), deviation, hourly, config))


@pytest.mark.first(4)
@pytest.mark.parametrize("stops", [False, True])
@pytest.mark.parametrize(("deviation", "hourly"), [(1.0, 2), (1.0, 5), (3.0, 10)])
@pytest.mark.parametrize("world", WORLDS)
def test_what_is_given_up_is_less_than_a_tenth_of_a_seeds_deviation(
    world: str, deviation: float, hourly: float, *, stops: bool
) -> None:
    """On average over the studies, whose scores deviate by 1 and their seeds by ``deviation``. They all end."""
    found = endings(world, deviation=deviation, hourly=hourly, studies=STUDIES, stops=stops)
    assert len(found) == STUDIES
    assert all(each.expected < 0.1 for each in found)
    assert fmean(each.truth for each in found) < 0.1
    assert fmean(each.truth > 0.2 for each in found) < 0.15


def test_what_hardly_ever_happens_is_not_foretold() -> None:
    """Where one trial in 20 is far better, studies end which have not seen one: more is given up than a tenth."""
    found = endings(list(HEAVY)[1], deviation=1.0, hourly=2, studies=STUDIES)
    assert 0.1 < fmean(each.truth for each in found) < 0.5


def test_the_more_seeds_deviate_the_sooner_it_is_enough() -> None:
    ends = [fmean(each.trials for each in endings("normal", deviation=d, hourly=2, studies=20)) for d in (0.5, 1, 3)]
    assert ends == sorted(ends, reverse=True)
    assert ends[0] > 1.5 * ends[2]


@given(SCORES, st.integers(4, 30))
def test_of_few_trials_nothing_is_said(scores: list[float], least: int) -> None:
    scores = [score + 1e-3 * number for number, score in enumerate(scores)]
    config = StoppingRuleConfig(minimum_trials=least, deviations=1e9)
    says = said(scores, 1.0, 1.0, config)
    assert [each is not None for each in says] == [number >= least for number in range(1, len(scores) + 1)]


@given(SCORES)
def test_of_single_seeds_or_of_seeds_that_are_alike_nothing_is_said(scores: list[float]) -> None:
    state = StoppingRule(StoppingRuleConfig(minimum_trials=4, deviations=1e9))
    for number, score in enumerate(scores):
        trial(state, number, number, 1.0, [score])
        assert state.gain() is None
    if len(set(scores)) > 1:
        assert said(scores, 0.0, 1.0, StoppingRuleConfig(minimum_trials=4))[-1] is None


@given(SCORES, st.floats(0.01, 5.0), st.floats(0.1, 100.0), st.floats(0.01, 3.0))
def test_what_is_said_follows_from_its_numbers(
    scores: list[float], deviation: float, hourly: float, deviations: float
) -> None:
    for gain in said(scores, deviation, hourly, StoppingRuleConfig(minimum_trials=4, deviations=deviations)):
        if gain is not None:
            assert gain.most < deviations * deviation
            assert gain.seed_deviation == pytest.approx(deviation)
            assert gain.hours == pytest.approx(max(1.0, 1 / hourly))
            assert gain.trials == pytest.approx(max(hourly, 1.0), abs=0.5)


def test_a_study_whose_last_trials_still_raised_the_best_goes_on() -> None:
    """Scores that rise as a proposer learns, by 0.2 a trial: independent ones of the same values would say enough."""
    rising = [0.2 * number for number in range(40)]
    config = StoppingRuleConfig(deviations=2.0)
    assert said(rising, 1.0, 40.0, config)[-1] is None
    mixed = np.random.default_rng(0).permutation(rising[:-1]).tolist()
    order = [*sorted(mixed, reverse=True)]
    assert said(order, 1.0, 10.0, config)[-1] is not None


def test_pauses_of_the_study_count_for_nothing() -> None:
    """Ten hours between one driver and the next change nothing that is said; ten hours of work do."""
    generator = np.random.default_rng(0)
    scores = generator.normal(size=30)

    def gain(night: float, *, worked: bool) -> Gain | None:
        state = StoppingRule(StoppingRuleConfig(deviations=100.0))
        for number, score in enumerate(scores.tolist()):
            time = 60.0 * number + night * (number >= 15)
            if number == 15 and not worked:
                state.happened(
                    Placed(
                        time=time,
                        place="",
                        engine="serial",
                        address=None,
                        gpus_per_trial=0.0,
                        device="cpu",
                        tracking_uri=None,
                    )
                )
                state.happened(Resumed(time=time, code_version=""))
            trial(state, number, time, 60.0, [score - 1, score + 1])
        return state.gain()

    assert gain(36_000.0, worked=False) == gain(0.0, worked=False)
    slow, fast = gain(36_000.0, worked=True), gain(0.0, worked=True)
    assert slow is not None
    assert fast is not None
    assert (fast.trials, slow.trials) == (60, 3)
    assert slow.most < fast.most


def test_a_clock_that_is_set_back_adds_nothing() -> None:
    state = StoppingRule(StoppingRuleConfig(minimum_trials=4, deviations=1e9))
    state.happened(Started(time=1e9, trial=0))
    for number in range(6):
        trial(state, number, 3600.0 * number, 3600.0, [0.1 * number, 0.2 * number])
    found = state.gain()
    assert found is not None
    assert found.trials == 1


def test_trials_count_up_to_the_first_that_is_not_over() -> None:
    """Those that are over early are the worse ones."""
    state, alone = (StoppingRule(StoppingRuleConfig(minimum_trials=4, deviations=1e9)) for _ in range(2))
    state.happened(Started(time=0.0, trial=0))
    for number in range(1, 40):
        trial(state, number, 60.0 * number, 60.0, [0.1 * number, 0.1])
        assert state.gain() is None
    state.left(0, "completed", 0.5, [0.4, 0.6])
    assert state.gain() is not None
    assert alone.gain() is None


def test_nothing_is_enough_while_the_best_waits_at_a_rung() -> None:
    state = StoppingRule(StoppingRuleConfig(minimum_trials=4, deviations=1e9))
    for number in range(6):
        trial(state, number, 60.0 * number, 60.0, [0.1 * number, 0.2 * number])
    assert state.gain() is not None
    state.left(2, None, 5.0, [5.0, 5.1])
    assert state.gain() is None
    state.left(2, "stopped", 6.0, [6.0, 6.1])
    assert state.gain() is not None


def test_trials_without_a_score_take_their_time_and_add_nothing() -> None:
    state = StoppingRule(StoppingRuleConfig(minimum_trials=4, deviations=1e9))
    for number in range(10):
        trial(state, number, 60.0 * number, 60.0, [0.1 * number, 0.2])
    before = state.gain()
    state.happened(Reported(time=1200.0, trial=10, epoch=1, score=0.0, metrics={}, seconds=600.0))
    state.left(10, "diverged", None, [])
    after = state.gain()
    assert before is not None
    assert after is not None
    assert (before.trials, after.trials) == (60, 33)
