"""Simulation against real runs: the same trials and decisions, on a clock that can be worked out by hand."""

import math
import random
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import canonical_json
from skipstack.search.api.simulation.recordings import RecordedSpace, recordings
from skipstack.search.api.simulation.simulated import SimulatedEngine
from skipstack.search.api.simulation.simulation import SCHEDULERS, Outcome, simulate, with_scheduler
from skipstack.search.execution.driver.driver import Driver
from skipstack.search.ledger.events import Event, Proposed
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.strategy.schedulers.config import AshaConfig
from skipstack.search.strategy.schedulers.scheduler import Decision
from skipstack.search.study.config import SearchConfig, StudyConfig
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.task import EpochResult
from skipstack.spaces.space import Point, Space
from tests.search.changed import changed, scheduler_of, searched
from tests.search.made_up import DEPTH, GATE, RATE, ended, opening, proposed, record_of, reported, study
from tests.search.toy import ToyWorker, open_toy, run_toy, toy_study

EPOCHS = 6


class SlowToyWorker(ToyWorker):
    """Deeper networks take longer, and later epochs a little."""

    def run_epoch(self) -> EpochResult:
        result = super().run_epoch()
        seconds = self.task.config.model.stack.depth + 0.125 * result.epoch
        return EpochResult(epoch=result.epoch, score=result.score, metrics=result.metrics, seconds=seconds)


def run(path: Path, config: StudyConfig) -> StudyRecord:
    return run_toy(open_toy(path, config), worker=SlowToyWorker)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> StudyRecord:
    """All nine trials of a grid, run to their ends."""
    return run(tmp_path_factory.mktemp("whole"), searched(toy_study(trials=9, proposer="grid"), scheduler="none"))


def simulated(record: StudyRecord, search: SearchConfig, workers: int = 1, *, extrapolate: bool = False) -> Outcome:
    return simulate(record, recordings(record, extrapolate=extrapolate), search, workers=workers)


# --- against real studies ---------------------------------------------------------------------------------------------


@pytest.mark.first(3)
@pytest.mark.parametrize("name", SCHEDULERS)
@pytest.mark.parametrize("proposer", ["grid", "one_at_a_time"])
def test_one_worker_does_what_the_serial_engine_does_under_that_scheduler(
    name: str, proposer: str, whole: StudyRecord, tmp_path: Path
) -> None:
    search = changed(with_scheduler(whole.study.search, name, reduction=2), proposer=proposer)
    real = run(tmp_path, searched(toy_study(trials=9, proposer="grid"), **dict(search)))
    outcome = simulated(whole, search)
    trials = real.trials.values()
    assert outcome.trials == len(trials)
    assert outcome.epochs == sum(len(trial.reports) for trial in trials)
    assert outcome.stopped == sum(trial.reason == "stopped" for trial in trials)
    assert outcome.completed == sum(trial.reason == "completed" for trial in trials)
    assert outcome.seconds == pytest.approx(sum(trial.seconds for trial in trials))
    assert outcome.best == real.ranked()[0].score


def test_a_scheduler_that_cannot_rank_by_several_objectives_is_refused(whole: StudyRecord) -> None:
    search = changed(whole.study.search, objectives=("score", "latency"))
    assert with_scheduler(search, "asha").scheduler.kind == "asha"
    with pytest.raises(UserError, match="--scheduler median: got 2 objectives with median"):
        with_scheduler(search, "median")


@pytest.mark.parametrize("limit", [{"hours": 1e-6}, {"enough": {"hours": 1e-6, "minimum_trials": 4}}])
def test_hours_do_not_count_on_a_simulated_clock(limit: dict[str, Any], whole: StudyRecord) -> None:
    search = whole.study.search
    assert simulated(whole, changed(search, **limit)) == simulated(whole, search)


@pytest.mark.first(1)
@pytest.mark.parametrize("variant", ["stopping", "promotion"])
def test_a_race_of_seeds_is_replayed_from_the_curves_of_each(variant: str, tmp_path: Path) -> None:
    """Recorded with all seeds at once, with a race as well: either tells what the other would have been."""
    plain = searched(toy_study(trials=9, proposer="grid"), scheduler="none", seeds=4, first_seed=10)
    race = AshaConfig.model_validate({"resource": "seeds", "reduction": 2, "variant": variant})
    whole, raced = run(tmp_path / "whole", plain), run(tmp_path / "raced", searched(plain, scheduler=race))
    outcome = simulated(whole, raced.study.search)
    trials = raced.trials.values()
    assert outcome.epochs == sum(len(trial.seeds) for trial in trials)  # of 4 epochs each, which are a whole one
    assert outcome.stopped == sum(trial.reason == "stopped" for trial in trials) > 2
    assert outcome.best == raced.ranked()[0].score
    completed = {trial.number for trial in trials if trial.reason == "completed"}
    replayed = recordings(raced)
    assert {raced.trials[number].config.identity for number in completed} == set(replayed.curves)
    for name, curve in replayed.curves.items():
        theirs = recordings(whole).curves[name]
        assert [result.metrics for result in curve] == [result.metrics for result in theirs]
        assert [result.score for result in curve] == pytest.approx([result.score for result in theirs])
    extended = simulated(raced, raced.study.search, extrapolate=True)
    assert (extended.epochs, extended.stopped, extended.best) == (outcome.epochs, outcome.stopped, outcome.best)
    never = simulated(raced, with_scheduler(raced.study.search, "none"), extrapolate=True)
    assert (never.epochs, never.completed) == (9 * 4, 9)


def test_a_group_of_seeds_has_its_own_values_of_each_objective() -> None:
    def replayed(seeds: tuple[int, ...], earlier: tuple[int, ...]) -> EpochResult:
        task = SimpleNamespace(config=SimpleNamespace(identity="a"), number=0, seeds=seeds, earlier=earlier, reported=0)
        tasks, heard = iter([task]), list[EpochResult]()

        def report(_: int, result: EpochResult) -> Decision:
            heard.append(result)
            return Decision("stop")

        driver = SimpleNamespace(next=lambda: next(tasks, None), report=report)
        SimulatedEngine({"a": (recorded,)}, workers=1).run(cast("Driver", driver))
        return heard[0]

    lanes = {"dev_score": (0.5, 0.25, 0.75), "objective_seconds": (1.0, 2.0, 3.0)}
    recorded = EpochResult(epoch=1, score=0.5, metrics=lanes, seconds=3.0)
    first, others = replayed((5,), ()), replayed((6, 7), (5,))
    assert (first.metrics, first.score) == ({"dev_score": (0.5,), "objective_seconds": (1.0,)}, 0.5)
    assert (others.metrics, others.score) == ({"dev_score": (0.25, 0.75), "objective_seconds": (2.0, 3.0)}, 0.5)
    assert (first.seconds, others.seconds) == (1.0, 2.0)


def test_no_stopping_finds_the_best_and_asha_saves_epochs(whole: StudyRecord) -> None:
    never = simulated(whole, with_scheduler(whole.study.search, "none"))
    asha = simulated(whole, with_scheduler(whole.study.search, "asha", reduction=2))
    assert (never.rank, never.epochs, never.stopped) == (1, 9 * 4, 0)
    assert never.best == whole.ranked()[0].score
    assert asha.epochs < never.epochs
    assert asha.seconds < never.seconds


def curves_study(*curves: tuple[float, ...], seconds: float = 1.0) -> StudyRecord:
    """Completed trials with these dev scores; learning rates tell them apart."""
    config = study(scheduler="none", proposer="grid", seeds=1, trials=len(curves))
    events: list[Event] = []
    for number, curve in enumerate(curves):
        point: Point = {DEPTH: 1, RATE: 0.003 + 0.001 * number}
        events.append(proposed(config, number, point))
        for epoch, score in enumerate(curve, start=1):
            events.append(reported(number, epoch, score, seconds=seconds * (number + 1)))
        done = "completed" if len(curve) == EPOCHS else "stopped"
        events.append(ended(number, done if math.isfinite(curve[-1]) else "diverged"))
    return record_of(config, *events)


def test_workers_take_the_next_trial_when_they_are_free() -> None:
    """Epochs of trial n last n + 1 seconds, trials 6 epochs. Two workers: 0 at 0-6, 1 at 0-12, 2 at 6-24."""
    record = curves_study(*[(0.5,) * EPOCHS] * 3)
    search = record.study.search
    assert simulated(record, search, workers=1).seconds == 6 + 12 + 18
    assert simulated(record, search, workers=2).seconds == 24
    assert simulated(record, search, workers=3).seconds == simulated(record, search, workers=10_000).seconds == 18


def test_the_best_score_counts_from_the_moment_when_it_was_seen_and_is_ranked_among_all() -> None:
    record = curves_study((0.1, 0.2, 0.3, 0.4, 0.5, 0.5), (0.1, 0.9, 0.2, 0.2, 0.2, 0.2), (0.95,), (0.1, 0.2, math.nan))
    outcome = simulated(record, record.study.search)
    assert (outcome.best, outcome.best_after, outcome.rank) == (0.9, 6 + 2 * 2, 2)  # the stopped one is better
    assert (outcome.completed, outcome.diverged, outcome.trials) == (2, 1, 3)
    assert outcome.epochs == 6 + 6 + 3
    extended = simulated(record, record.study.search, extrapolate=True)
    assert (extended.best, extended.rank, extended.trials) == (0.95, 1, 4)
    assert extended.seconds == 6 * 1 + 6 * 2 + 6 * 3 + 3 * 4


def test_what_is_replayed_and_what_is_not_is_said() -> None:
    record = curves_study((0.5,) * 6, (0.5, 0.6), (math.nan,))
    config = record.study
    record.apply(proposed(config, 3, {DEPTH: 1, RATE: 0.02}))
    record.apply(ended(3, "failed", "no luck"))
    record.apply(proposed(config, 4, {DEPTH: 1, RATE: 0.03}))
    plain, extended = recordings(record), recordings(record, extrapolate=True)
    assert (len(plain.points), plain.extended, plain.left_out) == (2, 0, {"stopped": 1, "failed": 1, "running": 1})
    assert (len(extended.points), extended.extended, extended.left_out) == (3, 1, {"failed": 1, "running": 1})
    curve = extended.curves[record.trials[1].config.identity]
    assert [result.score for result in curve] == [0.5, 0.6, 0.6, 0.6, 0.6, 0.6]
    assert [result.epoch for result in curve] == [1, 2, 3, 4, 5, 6]
    assert plain.scores == (0.6, 0.5)
    nothing = curves_study((0.5, 0.6))
    with pytest.raises(UserError, match=r"recorded all its 6 epochs \(got 1 stopped; allowed: .* --extrapolate\)"):
        recordings(nothing)


# --- what must always hold --------------------------------------------------------------------------------------------


def random_record(seed: int, trials: int, epochs: int = EPOCHS) -> StudyRecord:
    """Whole curves at random points."""
    draw, source = random.Random(seed), np.random.default_rng(seed)
    config = study(scheduler="none", proposer="random", seeds=1, trials=trials)
    space = Space(config.space)
    events: list[Event] = []
    for number in range(trials):
        events.append(proposed(config, number, space.sample(source)))
        events += [reported(number, epoch, draw.random(), seconds=draw.random()) for epoch in range(1, epochs + 1)]
        events.append(ended(number))
    return record_of(config, *events)


@pytest.mark.slow
@given(
    st.integers(0, 10**6),
    st.integers(1, 12),
    st.integers(1, 15),
    st.sampled_from(SCHEDULERS),
    st.sampled_from(["grid", "random", "tpe"]),
)
@settings(max_examples=30)
def test_every_setting_keeps_its_books_and_repeats_itself(
    seed: int, trials: int, workers: int, name: str, proposer: str
) -> None:
    record = random_record(seed % 5, trials)
    search = changed(with_scheduler(record.study.search, name), proposer=proposer, seed=seed)
    outcome = simulated(record, search, workers)
    assert outcome == simulated(record, search, workers)
    assert outcome.trials == trials == outcome.stopped + outcome.completed + outcome.diverged
    assert outcome.trials <= outcome.epochs <= trials * EPOCHS
    seconds = sum(trial.seconds for trial in record.trials.values())
    assert outcome.seconds <= seconds + 1e-9
    if name == "none":
        assert outcome.epochs == trials * EPOCHS
        assert outcome.rank == 1
        assert outcome.seconds >= seconds / workers - 1e-9


def test_decisions_are_those_of_the_scheduler_on_the_reports_in_the_order_of_the_clock() -> None:
    """A plain twin of the engine: of all trials that run, the one whose epoch ends next reports."""
    record = random_record(seed=3, trials=12)
    search = changed(with_scheduler(record.study.search, "asha", reduction=2), proposer="grid")
    order = sorted(
        record.trials.values(),
        key=lambda trial: (trial.point[DEPTH], str(trial.point.get(GATE, "")), trial.point[RATE]),
    )
    judge, waiting = scheduler_of(search, EPOCHS), list(enumerate(order))
    running: dict[int, tuple[float, int]] = {}
    now, epochs, stopped = 0.0, 0, 0
    while waiting or running:
        while waiting and len(running) < 4:
            number, trial = waiting.pop(0)
            running[number] = (now + trial.reports[0].seconds, 1)
        number = min(running, key=lambda each: running[each])
        now, epoch = running.pop(number)
        epochs += 1
        action = judge.report(number, epoch, order[number].reports[epoch - 1].score).action
        stopped += action == "stop"
        if action == "continue":
            running[number] = (now + order[number].reports[epoch].seconds, epoch + 1)
    outcome = simulated(record, search, workers=4)
    assert (outcome.epochs, outcome.stopped) == (epochs, stopped)
    assert outcome.seconds == pytest.approx(now)


def test_other_seeds_propose_in_another_order_and_fewer_trials_are_a_part() -> None:
    record = random_record(seed=1, trials=30)
    search = record.study.search.model_copy(update={"trials": 5})
    outcomes = {simulated(record, search.model_copy(update={"seed": seed})).best for seed in range(8)}
    assert len(outcomes) > 1
    assert simulated(record, search).trials == 5
    assert simulated(record, search.model_copy(update={"trials": 500})).trials == 30


# --- the recorded space -----------------------------------------------------------------------------------------------


def told(point: Point) -> Proposed:
    return Proposed(time=0.0, trial=0, point=point, config_identity="", seeds=())


def test_what_is_composed_becomes_the_nearest_recorded_point_that_is_left() -> None:
    record = random_record(seed=2, trials=20)
    points = recordings(record).points
    space = RecordedSpace(record.study.space, points)
    left = list(points)
    source = np.random.default_rng(0)
    whole_space = Space(record.study.space)

    def distance(one: Point, other: Point) -> float:
        total = 0.0
        for path in (DEPTH, GATE, RATE):
            if path in one and path in other and path == RATE:
                total += abs(math.log(float(str(one[path])) / float(str(other[path])))) / math.log(10)
            else:
                total += one.get(path) != other.get(path)
        return total

    while left:
        state = source.bit_generator.state
        wanted = whole_space.compose(lambda path, domain: domain.sample(source))
        source.bit_generator.state = state
        found = space.compose(lambda path, domain: domain.sample(source))
        assert distance(found, wanted) == pytest.approx(min(distance(other, wanted) for other in left))
        assert space.allowed(found)
        assert sorted(map(canonical_json, space.enumerate())) == sorted(map(canonical_json, left))
        space.take(told(found))
        left.remove(found)
        assert not space.allowed(found)
    with pytest.raises(UserError, match="no recorded trial is left"):
        space.sample(source)


def test_samples_are_even_over_what_is_left() -> None:
    record = random_record(seed=2, trials=10)
    space = RecordedSpace(record.study.space, recordings(record).points)
    source = np.random.default_rng(0)
    for point in list(space.enumerate())[:4]:
        space.take(told(point))
    drawn = [canonical_json(space.sample(source)) for _ in range(1200)]
    counts = [drawn.count(text) for text in set(drawn)]
    assert len(counts) == 6
    assert all(140 < number < 260 for number in counts)


# --- size -------------------------------------------------------------------------------------------------------------


def large(trials: int) -> Iterator[Event]:
    draw, source = random.Random(0), np.random.default_rng(0)
    config = study(scheduler=AshaConfig().model_dump(), proposer="random", seeds=1, trials=trials)
    space = Space(config.space)
    yield from opening(config)
    for number in range(trials):
        yield proposed(config, number, space.sample(source))
        quality = draw.random()
        for epoch in range(1, EPOCHS + 1):
            yield reported(number, epoch, quality * (1 - 0.5**epoch), seconds=draw.uniform(1, 2))
        yield ended(number)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCHEDULERS)
def test_ten_thousand_trials_side_by_side_take_no_longer_than_one(
    name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "large"
    if not path.exists():
        with Ledger(path / "ledger") as ledger:
            ledger.append(*large(10_000))
    record = read_study(path)
    search = with_scheduler(record.study.search, name)
    outcome = simulated(record, search, workers=10_000)
    assert outcome.trials == 10_000
    assert outcome.seconds < 2 * EPOCHS
