"""The field: its clock, its marks, its halves, and that the page says what was run."""

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from skipstack.spaces.space import Point, Space
from tests.benchmarks.field.marks import FLOOR, Ratio, corrected, cost_to_reach, ratio
from tests.benchmarks.field.ours import SCHEDULERS, Ours
from tests.benchmarks.field.page import PAGE, PICTURE, tables
from tests.benchmarks.field.race import Course, Curve, Moment, Search, race
from tests.benchmarks.field.remote import Child, Remote
from tests.benchmarks.field.results import Cost, Key, Results, Size
from tests.benchmarks.field.tasks import CURVES, EVALUATIONS, LEFT_OUT, Replayed, names
from tests.benchmarks.schedulers.methods import STUDIES
from tests.benchmarks.schedulers.orders import heard
from tests.search.statistics.measured import rows_of


class Planted:
    """Points x = 0, 1, ... with curves that are given. What is told is the truth."""

    name, epochs, trials, budget, scale = "planted", 2, None, math.inf, 1.0

    def __init__(self, space: Space, scores: Sequence[Sequence[float]], seconds: Sequence[Sequence[float]]) -> None:
        self.space, self._scores, self._seconds = space, scores, seconds
        self.best = max(map(max, scores))

    def begun(self, point: Point) -> Point:
        return point

    def curve(self, point: Point, replicate: float) -> Curve:
        place = int(point["x"])
        return Curve(self._scores[place], self._scores[place], self._seconds[place])


class InOrder(Search):
    """Points in their order; trials listed in ``pausing`` pause after their first epoch and go on at the end."""

    seconds = 0.5

    def __init__(self, most: int, pausing: Sequence[int] = ()) -> None:
        self.heard: list[tuple[int, int]] = []
        self._most, self._pausing, self._paused = most, pausing, list[int]()

    def ask(self, number: int) -> Point | int | None:
        if number < self._most:
            return {"x": number}
        return self._paused.pop() if self._paused else None

    def begin(self, number: int, point: Point) -> None:
        assert point == {"x": number}

    def report(self, number: int, epoch: int, score: float) -> Literal["continue", "pause", "stop"]:
        self.heard.append((number, epoch))
        if epoch == 1 and number in self._pausing:
            self._paused.append(number)
            return "pause"
        return "continue"


SCORES = [[0.1, 0.5], [0.4, 0.2], [0.3, 0.9]]
SECONDS = [[4.0, 4.0], [1.0, 1.0], [1.5, 1.0]]


def test_the_clock_of_two_workers() -> None:
    """Worker one: trial 0 until 8. Worker two: trial 1 until 2, then trial 2 until 3.5 and 4.5."""
    search = InOrder(3)
    course = race(search, Planted(None, SCORES, SECONDS), seed=0, workers=2)
    assert search.heard == [(1, 1), (1, 2), (2, 1), (0, 1), (2, 2), (0, 2)]
    assert [(each.reports, each.cost) for each in course.moments] == [(1, 1.0), (5, 8.5)]
    assert [each.regret for each in course.moments] == pytest.approx([0.5, 0.0])
    assert (course.asked, course.seconds) == (3, 0.5)


def test_a_paused_trial_frees_its_worker_and_goes_on_where_it_was() -> None:
    search = InOrder(3, pausing=[0])
    race(search, Planted(None, SCORES, SECONDS), seed=0, workers=1)
    assert search.heard == [(0, 1), (1, 1), (1, 2), (2, 1), (2, 2), (0, 2)]


def test_a_race_ends_once_its_budget_is_spent() -> None:
    search = InOrder(3)
    course = race(search, Planted(None, SCORES, SECONDS), seed=0, workers=1, budget=8.5)
    assert search.heard == [(0, 1), (0, 2), (1, 1)]
    assert course.moments[-1] == Moment(2, 8.0, pytest.approx(0.4))


@pytest.mark.parametrize("stopped", SCHEDULERS)
def test_our_search_hears_what_a_plain_engine_does_with_the_points_in_its_order(stopped: str) -> None:
    task = Replayed(f"recorded/{STUDIES[0]}")
    search = Ours("random", stopped, task.space, seed=3, epochs=task.epochs, trials=task.trials or 0)
    curves: list[Sequence[float]] = []
    told: list[float] = []

    class Listening(Search):
        seconds = 0.0

        def ask(self, number: int) -> Point | int | None:
            return search.ask(number)

        def begin(self, number: int, point: Point) -> None:
            curves.append(task.curve(point, 0.0).scores)
            search.begin(number, point)

        def report(self, number: int, epoch: int, score: float) -> Literal["continue", "pause", "stop"]:
            told.append(score)
            return search.report(number, epoch, score)

    race(Listening(), task, seed=0, workers=1)
    assert len(curves) == task.trials
    assert told == heard(curves, SCHEDULERS[stopped])


def test_a_recorded_point_is_had_once_and_the_nearest_one_is_taken() -> None:
    task = Replayed(f"recorded/{STUDIES[0]}")
    assert task.trials is not None
    asked = task.space.sample(np.random.default_rng(0))
    begun = [task.begun(asked) for _ in range(task.trials)]
    assert len({str(sorted(point.items(), key=str)) for point in begun}) == task.trials
    again = Replayed(f"recorded/{STUDIES[0]}")
    assert again.begun(begun[5]) == begun[5]


class Here:
    """The environment of the tests, in place of one of its own."""

    def __init__(self, folder: Path) -> None:
        self.module, self.folder, self.python = "rivals.optuna", folder, sys.executable


@pytest.mark.slow
def test_a_rival_is_raced_by_lines_of_a_child_process_and_repeats_itself(tmp_path: Path) -> None:
    child = Child(Here(tmp_path))

    def course(seed: int) -> Course:
        task = Replayed(f"recorded/{STUDIES[1]}")
        options: dict[str, Any] = {"seed": seed, "epochs": task.epochs, "trials": task.trials, "workers": 2}
        search = Remote(child, "TPE, Hyperband", task.space, **options)
        return race(search, task, seed=seed, workers=2)

    first, again, other = course(1), course(1), course(2)
    child.close()
    assert first.asked == 80
    assert first.moments == again.moments != other.moments
    assert first.seconds > 0


# --- marks ------------------------------------------------------------------------------------------------------------


def ended(regret: float, cost: float = 1.0) -> Course:
    return Course((Moment(1, cost / 4, 2 * regret), Moment(2, cost, regret)), 0.0, 2)


SCALES = {"a": 1.0, "b": 10.0, "c": 0.1}


def test_a_search_with_half_the_regret_everywhere_has_the_ratio_one_half() -> None:
    source = np.random.default_rng(0)
    courses = {}
    for task, scale in SCALES.items():
        for seed in range(8):
            theirs = scale * float(source.uniform(2, 4))  # far above the floor
            courses["theirs", task, seed] = ended(theirs)
            courses["ours", task, seed] = ended(theirs / 2 * float(source.uniform(0.9, 1.1)))
    found = ratio(courses, "ours", "theirs", SCALES)
    assert found is not None
    assert found.value == pytest.approx(0.5, abs=0.03)
    assert found.low is not None
    assert found.high is not None
    assert found.p is not None
    assert found.low < 0.5 < found.high < 0.6
    assert found.p < 0.001
    back = ratio(courses, "theirs", "ours", SCALES)
    assert back is not None
    assert back.value == pytest.approx(1 / found.value)
    assert (found.tasks, found.seeds) == (3, 8)


def test_a_search_that_is_better_on_one_task_and_worse_on_another_is_not_better() -> None:
    """However many seeds say so: other tasks are what the mark is about."""
    source = np.random.default_rng(0)
    courses = {}
    for task, factor in (("a", 0.25), ("b", 3.0), ("c", 0.9)):
        for seed in range(50):
            theirs = SCALES[task] * float(source.uniform(0.2, 0.4))
            courses["theirs", task, seed], courses["ours", task, seed] = ended(theirs), ended(factor * theirs)
    found = ratio(courses, "ours", "theirs", SCALES)
    assert found is not None
    assert found.p is not None
    assert found.p > 0.3


def test_two_regrets_of_zero_are_equal_and_one_counts_as_the_floor() -> None:
    courses = {("ours", "a", 0): ended(0.0), ("theirs", "a", 0): ended(0.0)}
    assert ratio(courses, "ours", "theirs", {"a": 1.0}) == Ratio(1.0, None, None, None, 1, 1)
    courses["theirs", "a", 0] = ended(9 * FLOOR)
    found = ratio(courses, "ours", "theirs", {"a": 1.0})
    assert found is not None
    assert found.value == pytest.approx(0.1)
    assert ratio(courses, "ours", "nobody", {"a": 1.0}) is None


def test_a_search_that_ran_on_fewer_tasks_is_compared_on_these() -> None:
    courses = {(method, task, 0): ended(0.2) for method in ("ours", "theirs") for task in "ab"}
    courses["ours", "c", 0] = ended(0.4)
    found = ratio(courses, "ours", "theirs", SCALES)
    assert found is not None
    assert (found.value, found.tasks) == (1.0, 2)
    assert cost_to_reach(courses, "ours", "theirs", SCALES) == (1.0, 1.0)


def test_p_values_of_a_table_are_corrected_for_their_number() -> None:
    found = corrected([Ratio(1.0, 0.5, 2.0, p, 3, 3) for p in (0.01, 0.04)] + [None])
    assert found == (pytest.approx(0.02), pytest.approx(0.04), None)


def test_the_cost_to_the_last_regret_of_another() -> None:
    courses = {
        ("theirs", "a", 0): ended(0.2, cost=8.0),
        ("ours", "a", 0): ended(0.1, cost=8.0),  # has 0.2 at a quarter of its cost
        ("theirs", "a", 1): ended(0.2, cost=8.0),
        ("ours", "a", 1): ended(0.2, cost=4.0),
        ("theirs", "a", 2): ended(0.2, cost=8.0),
        ("ours", "a", 2): ended(0.3, cost=8.0),  # never
    }
    assert cost_to_reach(courses, "ours", "theirs", ["a"]) == (0.5, pytest.approx(2 / 3))


def test_a_regret_that_is_lost_again_is_reached_where_it_stays() -> None:
    course = Course((Moment(1, 1.0, 0.1), Moment(2, 2.0, 0.5), Moment(3, 3.0, 0.1)), 0.0, 3)
    assert course.until(0.1) == 3.0
    assert math.isinf(course.until(0.05))
    assert [course.after(reports=reports) for reports in (0, 1, 2)] == [math.inf, 0.1, 0.5]


# --- tasks and results ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("stopping", "kinds"), [(False, EVALUATIONS), (True, CURVES)])
def test_each_task_is_open_or_locked_and_a_hartmann_function_is_one_of_both(stopping: bool, kinds: Any) -> None:
    halves = [names(stopping=stopping, lock=lock) for lock in (False, True)]
    every = [name for groups in kinds.values() for group in groups for name in group if name not in LEFT_OUT]
    assert sorted(halves[0] + halves[1]) == sorted(every)
    dimensions = [{name.split("/")[1] for name in half if name.startswith("hartmann")} for half in halves]
    assert sorted(map(len, dimensions)) == [1, 1]
    assert dimensions[0] == {name.split("/")[1] for name in names(stopping=True, lock=False) if "hartmann" in name}


def test_results_are_read_as_they_were_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.benchmarks.field.results.FILE", tmp_path / "results.jsonl")
    results = Results.read()
    key, course = Key("recorded/x", "Optuna: TPE", 4, 2), Course((Moment(1, 2.5, 0.25), Moment(7, 9.0, 0.0)), 1.5, 3)
    results.add(key, course, Size(0.5, 100.0))
    results.cost("Optuna: TPE", Cost(0.012, 300))
    assert Results.read() == results
    assert results.of(4, ["recorded/x"]) == {("Optuna: TPE", "recorded/x", 2): course}
    assert results.of(1, ["recorded/x"]) == {}


def test_the_tables_of_the_page_are_what_was_run() -> None:
    page = PAGE.read_text()
    for name, rows in tables(Results.read()).items():
        assert rows == rows_of(page, name)
    assert PICTURE.exists()
