"""The comparison of schedulers over recorded studies: its recordings, its rivals, its tables, and what they promise."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from skipstack.search.api.simulation.recordings import RecordedSpace, recordings
from skipstack.search.api.simulation.simulation import with_scheduler
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.spaces.space import Point
from tests.benchmarks.rivals.replayed import Rival, replay
from tests.benchmarks.rivals.replayed_optuna import PRUNERS, OptunaSearch
from tests.benchmarks.rivals.replayed_ray import RayAsha
from tests.benchmarks.schedulers.measured import Found, found, spread, worst
from tests.benchmarks.schedulers.methods import DEFAULT, KEPT, OTHERS, RECORDINGS, STUDIES, Recorded
from tests.benchmarks.schedulers.orders import SCHEDULERS, heard
from tests.benchmarks.schedulers.page import PAGE, PICTURE, by_method, share_rows, tables
from tests.benchmarks.schedulers.recording import record
from tests.search.api.simulation.test_simulation import EPOCHS, random_record, run, simulated
from tests.search.api.simulation.test_trajectory import in_order, scores
from tests.search.changed import changed, scheduler_of, searched
from tests.search.statistics.measured import rows_of
from tests.search.toy import toy_study

# --- recordings -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("study", [*STUDIES, *OTHERS])
def test_a_recording_is_small_and_holds_whole_curves_and_no_more(study: str) -> None:
    (file,) = (RECORDINGS / study / "ledger").iterdir()
    assert file.stat().st_size < 300_000
    recorded = Recorded.of(RECORDINGS / study)
    assert len(recorded.curves.points) >= 49
    assert {len(curve) for curve in recorded.curves.curves.values()} == {9}
    assert recorded.record.study.search.stops_nothing
    events = Ledger(RECORDINGS / study / "ledger").read()
    assert {event.kind for event in events} <= {
        "study_opened",
        "corpus_prepared",
        "proposed",
        "reported",
        "ended",
        "finished",
    }
    assert all(corpus.health is None for corpus in recorded.record.corpora.values())
    assert '"/' not in json.dumps(recorded.record.study.model_dump(mode="json"))  # no path of a machine


def test_a_recording_is_simulated_as_its_study_is(tmp_path: Path) -> None:
    run(tmp_path / "study", searched(toy_study(trials=9, proposer="grid"), scheduler="none"))
    record(tmp_path / "study", tmp_path / "recording")
    study, recording = (Recorded.of(tmp_path / name) for name in ("study", "recording"))
    assert recording.goal == study.goal
    for name in ("asha", "none"):
        search = changed(with_scheduler(study.record.study.search, name), proposer="random")
        there, here = simulated(recording.record, search), simulated(study.record, search)
        assert [(each.epochs, each.score) for each in there.course.moments] == [
            (each.epochs, each.score) for each in here.course.moments
        ]
        assert there.seconds == pytest.approx(here.seconds, abs=0.1)


# --- rivals -----------------------------------------------------------------------------------------------------------


class Patient(Rival):
    """Stops nothing; trials in the order in which they were recorded."""

    def __init__(self, points: tuple[Point, ...]) -> None:
        self.heard: list[tuple[int, int, float]] = []
        self.points = points

    def begin(self, number: int, space: RecordedSpace) -> Point:
        return self.points[number]

    def goes_on(self, number: int, epoch: int, score: float) -> bool:
        self.heard.append((number, epoch, score))
        return True

    def end(self, number: int, scores: list[float], *, stopped: bool) -> None:
        assert not stopped
        self.heard.append((number, len(scores), scores[-1]))


def test_a_rival_hears_every_epoch_and_its_course_is_the_running_maximum() -> None:
    planted = random_record(4, trials=10)
    points = recordings(planted).points
    rival = Patient(points)
    course, epochs = replay(planted.study.space, recordings(planted), rival)
    trials = list(planted.trials.values())
    assert rival.heard == [(trial.number, report.epoch, report.score) for trial in trials for report in trial.reports]
    best_N = np.maximum.accumulate([score for _, _, score in rival.heard])
    assert [course.after(epoch) for epoch in range(1, epochs + 1)] == best_N.tolist()
    beside = Patient(points)
    replay(planted.study.space, recordings(planted), beside, workers=10_000)
    assert sorted(beside.heard) == sorted(rival.heard)
    assert beside.heard != rival.heard


@pytest.mark.first(6)
@pytest.mark.parametrize("name", SCHEDULERS)
@pytest.mark.parametrize("seed", range(2))
def test_the_plain_engine_hears_what_a_simulation_does(name: str, seed: int) -> None:
    planted = random_record(seed, trials=14)
    search = changed(planted.study.search, proposer="grid", scheduler=SCHEDULERS[name])
    outcome = simulated(planted, search)
    best_N = np.maximum.accumulate(heard([scores(trial) for trial in in_order(planted)], SCHEDULERS[name]))
    assert outcome.epochs == len(best_N)
    assert [outcome.course.after(epoch) for epoch in range(1, outcome.epochs + 1)] == best_N.tolist()


def plain_asha(planted: StudyRecord, order: list[TrialRecord], reduction: int) -> list[float]:
    """The scores that our own ASHA lets a single worker see, the trials in this order."""
    search = with_scheduler(planted.study.search, "asha", reduction=reduction)
    judge, seen = scheduler_of(search, EPOCHS), []
    for number, trial in enumerate(order):
        for report in trial.reports:
            seen.append(report.score)
            if judge.report(number, report.epoch, report.score).action != "continue":
                break
    return seen


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("reduction", [2, 4])
def test_rays_asha_without_a_cluster_stops_what_its_rule_stops(seed: int, reduction: int) -> None:
    """Ours has the same rule, and a plain twin of its own (``tests/oracles/schedulers.py``)."""
    planted = random_record(seed, trials=30)
    recorded = recordings(planted)

    class Told(RayAsha):
        def begin(self, number: int, space: RecordedSpace) -> Point:
            point = super().begin(number, space)
            order.append(next(trial for trial in planted.trials.values() if trial.point == point))
            return point

    order: list[TrialRecord] = []
    course, epochs = replay(planted.study.space, recorded, Told(seed, epochs=EPOCHS, reduction=reduction))
    seen = plain_asha(planted, order, reduction)
    assert epochs == len(seen) < 30 * EPOCHS
    assert [course.after(epoch) for epoch in range(1, epochs + 1)] == np.maximum.accumulate(seen).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("pruner", PRUNERS)
def test_optunas_search_has_every_trial_once_and_repeats_itself(pruner: str) -> None:
    planted = random_record(1, trials=30)
    recorded = recordings(planted)
    course, epochs = replay(planted.study.space, recorded, OptunaSearch(pruner, seed=5))
    assert replay(planted.study.space, recorded, OptunaSearch(pruner, seed=5)) == (course, epochs)
    assert replay(planted.study.space, recorded, OptunaSearch(pruner, seed=6)) != (course, epochs)
    assert 30 < epochs < 30 * EPOCHS


# --- what the page says -----------------------------------------------------------------------------------------------


def test_the_spread_of_a_worst_median_is_what_other_seeds_would_make_of_it() -> None:
    sure, unsure = Found("one", "m", (0.1,) * 20, ()), Found("two", "m", (*(0.05,) * 10, *(0.3,) * 10), ())
    assert spread([sure]) == pytest.approx((0.1, 0.1))
    low, high = spread([sure, unsure])
    assert low == pytest.approx(0.1)
    assert high == pytest.approx(0.3)
    assert spread([Found("three", "m", (math.inf,) * 20, ())]) == (math.inf, math.inf)


@pytest.mark.slow
def test_the_rows_of_ray_tune_are_those_of_the_page() -> None:
    """The others, which take minutes, are made anew by the benchmark below."""
    method = "Ray Tune: random, ASHA"
    (row,) = share_rows([found(study, method) for study in STUDIES])
    assert row in rows_of(PAGE.read_text(), "shares")


@pytest.fixture(scope="module")
def made() -> tuple[dict[str, list[str]], list[Found]]:
    rows, alone = tables()
    return rows, list(alone)


@pytest.mark.benchmark
@pytest.mark.timeout(7200)
def test_the_tables_are_what_is_made_anew(made: tuple[dict[str, list[str]], list[Found]]) -> None:
    page = PAGE.read_text()
    for name, rows in made[0].items():
        assert rows == rows_of(page, name)
    assert PICTURE.exists()


@pytest.mark.benchmark
@pytest.mark.timeout(7200)
def test_the_default_needs_a_quarter_at_most_and_is_never_behind_one_epoch(
    made: tuple[dict[str, list[str]], list[Found]],
) -> None:
    """By the medians; a fifth is within what other seeds of these studies would change."""
    methods = by_method(made[1])
    assert worst(methods[DEFAULT]) <= 0.25
    for baseline in (f"TPE, {KEPT}", f"random, {KEPT}"):
        for row, kept in zip(methods[DEFAULT], methods[baseline], strict=True):
            assert row.quartiles.median is not None
            assert kept.quartiles.median is None or row.quartiles.median <= kept.quartiles.median
