"""What would have been returned at each moment, against curves laid end to end, and against a plain twin."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from skipstack.search.api.simulation.recordings import recordings
from skipstack.search.api.simulation.simulation import SCHEDULERS, with_scheduler
from skipstack.search.api.simulation.trajectory import Moment, Trajectory
from skipstack.search.strategy.schedulers.config import AshaConfig
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.trial_record import TrialRecord
from tests.search.api.simulation.test_simulation import EPOCHS, curves_study, random_record, run, simulated
from tests.search.changed import changed, scheduler_of, searched
from tests.search.made_up import DEPTH, GATE, RATE
from tests.search.toy import toy_study


def steps(course: Trajectory, epochs: int) -> list[float | None]:
    """What would be returned after each epoch."""
    return [course.after(epoch) for epoch in range(1, epochs + 1)]


def in_order(record: StudyRecord) -> list[TrialRecord]:
    """As a grid proposes them."""
    return sorted(
        record.trials.values(),
        key=lambda trial: (trial.point[DEPTH], str(trial.point.get(GATE, "")), trial.point[RATE]),
    )


def scores(trial: TrialRecord) -> list[float]:
    return [report.score for report in trial.reports]


# --- against plain computations ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_where_nothing_stops_it_is_the_running_maximum_of_the_curves_end_to_end(seed: int) -> None:
    record = random_record(seed, trials=9)
    outcome = simulated(record, changed(record.study.search, proposer="grid"))
    best_N = np.maximum.accumulate(np.concatenate([scores(trial) for trial in in_order(record)]))
    assert steps(outcome.course, 9 * EPOCHS) == best_N.tolist()
    assert outcome.course.moments[-1].score == outcome.best
    for within in (0.0, 0.05, 0.3):
        moment = outcome.course.until(best_N[-1] - within)
        assert moment is not None
        assert moment.epochs == 1 + int(np.argmax(best_N >= best_N[-1] - within))
    seconds_N = np.cumsum([report.seconds for trial in in_order(record) for report in trial.reports])
    for moment in outcome.course.moments:
        assert moment.seconds == pytest.approx(seconds_N[int(moment.epochs) - 1])


def twin(record: StudyRecord, *, workers: int, reduction: int) -> NDArray[np.float64]:
    """Every score in the order in which a plain engine under ASHA hears of it."""
    search = changed(with_scheduler(record.study.search, "asha", reduction=reduction), proposer="grid")
    order, judge = in_order(record), scheduler_of(search, EPOCHS)
    waiting, heard = list(range(len(order))), []
    running: dict[int, tuple[float, int]] = {}
    now = 0.0
    while waiting or running:
        while waiting and len(running) < workers:
            number = waiting.pop(0)
            running[number] = (now + order[number].reports[0].seconds, 1)
        number = min(running, key=lambda each: running[each])
        now, epoch = running.pop(number)
        heard.append(order[number].reports[epoch - 1].score)
        if judge.report(number, epoch, heard[-1]).action == "continue":
            running[number] = (now + order[number].reports[epoch].seconds, epoch + 1)
    return np.array(heard)


@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize("seed", range(3))
def test_under_asha_it_is_the_running_maximum_of_what_a_plain_engine_hears(seed: int, workers: int) -> None:
    record = random_record(seed, trials=12)
    search = changed(with_scheduler(record.study.search, "asha", reduction=2), proposer="grid")
    outcome = simulated(record, search, workers)
    best_N = np.maximum.accumulate(twin(record, workers=workers, reduction=2))
    assert steps(outcome.course, outcome.epochs) == best_N.tolist()


# --- what must always hold --------------------------------------------------------------------------------------------


@given(
    st.integers(0, 10**6),
    st.integers(1, 12),
    st.integers(1, 5),
    st.sampled_from(SCHEDULERS),
    st.sampled_from(["grid", "random", "tpe"]),
    st.floats(0, 0.5),
)
@settings(max_examples=30)
def test_more_epochs_never_mean_more_regret(
    seed: int, trials: int, workers: int, name: str, proposer: str, within: float
) -> None:
    record = random_record(seed % 5, trials)
    outcome = simulated(
        record, changed(with_scheduler(record.study.search, name), proposer=proposer, seed=seed), workers
    )
    best = recordings(record).best
    assert best == max(max(scores(trial)) for trial in record.trials.values())
    regrets = [best - (score or -math.inf) for score in steps(outcome.course, outcome.epochs)]
    assert regrets == sorted(regrets, reverse=True)
    assert min(regrets) >= 0
    assert regrets[-1] == pytest.approx(best - (outcome.best or 0.0))
    moment = outcome.course.until(best - within)
    near = [epoch for epoch, regret in enumerate(regrets, start=1) if regret <= within + 1e-9]
    assert (None if moment is None else moment.epochs) == (near[0] if near else None)


# --- what falls back --------------------------------------------------------------------------------------------------


def test_a_trial_that_diverges_is_returned_until_then_and_not_counted_as_found() -> None:
    """Trial 0 has the highest score of all, 0.99, before its score is no number any more; then nothing is there."""
    record = curves_study((0.2, 0.99, math.nan), (0.1, 0.3, 0.5, 0.5, 0.5, 0.5), (0.4, 0.1, 0.1, 0.1, 0.1, 0.1))
    course = simulated(record, record.study.search).course
    assert recordings(record).best == 0.5
    assert course.moments == (
        Moment(1, 1.0, 0.2),
        Moment(2, 2.0, 0.99),
        Moment(3, 3.0, None),
        Moment(4, 3 + 2.0, 0.1),
        Moment(5, 3 + 4.0, 0.3),
        Moment(6, 3 + 6.0, 0.5),
    )
    assert course.until(0.5) == Moment(6, 9.0, 0.5)
    assert course.until(0.6) is None
    assert (course.after(0), course.after(2), course.after(3), course.after(4.5)) == (None, 0.99, None, 0.1)
    nothing = curves_study((0.2, math.nan))
    assert recordings(nothing).best is None
    assert simulated(nothing, nothing.study.search).course.until(0.0) is None


def test_a_tenth_of_a_point_below_is_near_whatever_binary_numbers_make_of_it() -> None:
    lower, higher = next((n / 1000, (n + 1) / 1000) for n in range(1000) if (n + 1) / 1000 - 0.001 > n / 1000)
    course = Trajectory((Moment(1, 1.0, lower), Moment(2, 2.0, higher)))
    assert course.until(higher - 0.001) == course.moments[0]
    assert course.until(higher - 0.0009) == course.moments[1]


def test_where_seeds_race_scores_are_those_of_all_seeds(tmp_path: Path) -> None:
    """Recorded without a race: whoever stands first by some of its seeds counts with the recorded mean over all."""
    plain = searched(toy_study(trials=9, proposer="grid"), scheduler="none", seeds=4)
    record = run(tmp_path / "whole", plain)
    race = AshaConfig.model_validate({"resource": "seeds", "reduction": 2})
    outcome = simulated(record, searched(plain, scheduler=race).search)
    whole = {max(scores(trial)) for trial in record.trials.values()}
    part = {max(scores(trial)[:epoch]) for trial in record.trials.values() for epoch in range(1, 5)}
    assert outcome.course.moments[-1].score in whole
    assert {moment.score for moment in outcome.course.moments} <= part
    assert outcome.course.moments[0].epochs == 1 / 4
