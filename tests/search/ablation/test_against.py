"""A study beside a paper's table: hand-made ledgers against figures worked out by hand, and scipy for the ranks."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from scipy.stats import spearmanr

from skipstack.search.ablation.against import ComparedRow, Comparison, compare
from skipstack.search.ablation.papers import PaperTable
from skipstack.search.config import StudyConfig
from skipstack.search.ledger.events import Event
from skipstack.search.study.records.study_record import StudyRecord
from skipstack.spaces.domains import Json
from skipstack.spaces.space import Point
from tests.search.made_up import DEPTH, GATE, ended, measured, proposed, record_of, reported, study

AXES: dict[str, Any] = {DEPTH: {"choice": [1, 3, 5, 7]}, GATE: {"choice": ["none", "sigmoid_below"]}}
CONFIG = study(AXES)
"""The base has depth 3 and a gate."""


def table(*rows: dict[str, Any]) -> PaperTable:
    base = {"label": "depth 3", "dev": 94.5, "test": 94.0, "has": {DEPTH: 3}, "base": True}
    return PaperTable.model_validate({"title": "Depths", "preset": "wu2017/depth", "rows": [base, *rows]})


def depth(value: int, dev: float, **more: Any) -> dict[str, Any]:
    return {"label": f"depth {value}", "dev": dev, "has": {DEPTH: value}, **more}


def trial(
    number: int, depth: int, *dev: float, gate: str = "sigmoid_below", config: StudyConfig = CONFIG
) -> list[Event]:
    point: Point = {DEPTH: depth, GATE: gate}
    return [proposed(config, number, point), reported(number, 1, *dev), ended(number)]


def rows_of(comparison: Comparison) -> dict[str, ComparedRow]:
    return {row.label: row for row in comparison.rows}


def against(record: StudyRecord, *rows: dict[str, Any]) -> Comparison:
    return compare(record, "made-up/table-1", table(*rows))


def test_each_row_has_the_papers_figures_and_ours_as_shares() -> None:
    record = record_of(CONFIG, *trial(0, 3, 0.80, 0.82), *trial(1, 5, 0.90, 0.94), measured(1, 0.7, 0.8))
    made = against(record, depth(5, 94.73, test=94.1), depth(7, 94.49), {"label": "another", "dev": 90.0})
    base, five, seven, another = made.rows
    assert (base.is_base, base.trial, base.paper_difference, base.difference, base.disagrees) == (
        True,
        0,
        None,
        None,
        False,
    )
    assert (five.paper_dev, five.paper_test, five.paper_difference) == (0.9473, 0.941, 0.0023)
    assert five.dev is not None
    assert five.test is not None
    assert five.difference is not None
    assert (five.trial, five.seeds, five.dev.values, five.test.values) == (1, (0, 1), (0.90, 0.94), (0.7, 0.8))
    assert five.difference.values == pytest.approx((0.10, 0.12))
    assert (seven.paper_difference, seven.trial, seven.dev, seven.difference) == (-0.0001, None, None, None)
    assert (another.paper_dev, another.paper_difference, another.trial) == (0.9, -0.045, None)
    assert (made.study, made.corpus, made.table, made.title, made.split) == (
        "made-up",
        "grammar",
        "made-up/table-1",
        "Depths",
        "dev",
    )


def test_a_row_is_the_base_with_its_value_and_not_the_best_trial_that_has_the_value() -> None:
    record = record_of(CONFIG, *trial(0, 3, 0.8, 0.8), *trial(1, 5, 0.99, 0.99, gate="none"), *trial(2, 5, 0.7, 0.7))
    assert rows_of(against(record, depth(5, 94.0)))["depth 5"].trial == 2
    alone = record_of(CONFIG, *trial(0, 3, 0.8, 0.8), *trial(1, 5, 0.99, 0.99, gate="none"))
    assert rows_of(against(alone, depth(5, 94.0)))["depth 5"].trial is None


def test_a_row_may_have_several_values() -> None:
    both: dict[str, Json] = {DEPTH: 5, GATE: "none"}
    record = record_of(CONFIG, *trial(0, 3, 0.8, 0.8), *trial(1, 5, 0.9, 0.9, gate="none"))
    assert rows_of(against(record, {"label": "both", "dev": 94.0, "has": both}))["both"].trial == 1


@pytest.mark.parametrize(
    ("paper", "ours", "disagrees"),
    [
        (94.6, (0.81, 0.82), False),  # the same sign
        (94.4, (0.81, 0.82), True),  # +0.015 with a standard error of 0.005
        (94.6, (0.79, 0.78), True),
        (94.4, (0.79, 0.83), False),  # +0.01 with a standard error of 0.02
        (94.5, (0.81, 0.82), False),  # the paper has no sign
        (94.4, (0.80, 0.80), False),  # ours has none
    ],
)
def test_ours_disagrees_where_it_has_the_other_sign_by_more_than_its_standard_error(
    paper: float, ours: tuple[float, float], disagrees: bool
) -> None:
    record = record_of(CONFIG, *trial(0, 3, 0.80, 0.80), *trial(1, 5, *ours))
    assert rows_of(against(record, depth(5, paper)))["depth 5"].disagrees == disagrees


def test_one_seed_has_no_standard_error_and_disagrees_with_nobody() -> None:
    config = study(AXES, seeds=1)
    record = record_of(config, *trial(0, 3, 0.8, config=config), *trial(1, 5, 0.9, config=config))
    row = rows_of(against(record, depth(5, 94.0)))["depth 5"]
    assert row.difference is not None
    assert row.difference.mean == pytest.approx(0.1)
    assert not row.disagrees


def test_trials_without_a_score_stand_for_no_row() -> None:
    failed = [*trial(1, 5, 0.9, 0.9)[:2], ended(1, "failed", "no luck")]
    record = record_of(CONFIG, *trial(0, 3, 0.8, 0.8), *failed)
    assert rows_of(against(record, depth(5, 94.0)))["depth 5"].dev is None


def test_without_a_trial_of_the_papers_base_there_are_accuracies_and_no_differences() -> None:
    record = record_of(CONFIG, *trial(0, 5, 0.9, 0.9), *trial(1, 7, 0.8, 0.8))
    made = against(record, depth(5, 94.0), depth(7, 93.0))
    assert [row.dev.mean if row.dev else None for row in made.rows] == [None, 0.9, 0.8]
    assert [row.difference for row in made.rows] == [None, None, None]
    assert (made.shared, made.correlation) == (2, pytest.approx(1.0))


def test_a_trial_that_was_not_trained_to_its_end_is_shown_and_neither_subtracted_nor_ranked() -> None:
    whole = [*trial(0, 3, 0.80, 0.82), *trial(1, 5, 0.70, 0.72)]
    cut = {
        "running": trial(2, 7, 0.60, 0.61)[:2],
        "stopped": [*trial(2, 7, 0.60, 0.61)[:2], ended(2, "stopped")],
    }
    for state, events in cut.items():
        made = against(record_of(CONFIG, *whole, *events), depth(5, 95.0), depth(7, 96.0))
        base, five, seven = made.rows
        assert (base.state, five.state, seven.state) == ("completed", "completed", state)
        assert seven.dev is not None
        assert (seven.dev.values, seven.difference, seven.disagrees) == ((0.60, 0.61), None, False)
        assert five.difference is not None
        assert made.shared == 2
        assert made.correlation == pytest.approx(-1.0)
    first = [*trial(0, 3, 0.80, 0.82)[:2], *trial(1, 5, 0.70, 0.72)]
    assert rows_of(against(record_of(CONFIG, *first), depth(5, 95.0)))["depth 5"].difference is None


def test_a_table_without_dev_figures_is_compared_on_test() -> None:
    base = {"label": "depth 3", "test": 97.48, "has": {DEPTH: 3}, "base": True}
    rows = [
        base,
        {"label": "depth 5", "test": 97.53, "has": {DEPTH: 5}},
        {"label": "depth 7", "test": 97.51, "has": {DEPTH: 7}},
    ]
    paper = PaperTable.model_validate({"title": "Depths", "preset": "wu2017/pos", "rows": rows})
    trials = [*trial(0, 3, 0.9, 0.9), *trial(1, 5, 0.8, 0.8), *trial(2, 7, 0.8, 0.8)]
    record = record_of(CONFIG, *trials, measured(0, 0.5, 0.6), measured(1, 0.6, 0.8))
    made = compare(record, "made-up/table-6", paper)
    assert made.split == "test"
    five, seven = made.rows[1:]
    assert five.paper_difference == 0.0005
    assert five.difference is not None
    assert five.difference.values == pytest.approx((0.1, 0.2))
    assert (seven.trial, seven.test, seven.difference) == (2, None, None)  # it was not measured on test
    assert (made.shared, made.correlation) == (2, pytest.approx(1.0))


def test_a_value_that_does_not_fit_the_studys_base_was_not_tried() -> None:
    base = {"model": {"stack": {"kind": "recurrent", "depth": 3, "composition": [0, 0, 1]}}}
    config = StudyConfig.model_validate({"name": "own", "space": {"base": base, "axes": {GATE: {"choice": ["none"]}}}})
    made = against(record_of(config), depth(5, 94.0))
    assert [row.trial for row in made.rows] == [None, None]
    assert (made.shared, made.correlation) == (0, None)


PERCENT = some.integers(9000, 9500).map(lambda value: value / 100)


@given(some.lists(some.tuples(PERCENT, some.sampled_from([0.7, 0.8, 0.9, 0.95])), min_size=3, max_size=3), PERCENT)
@settings(deadline=None, max_examples=30)
def test_the_rank_correlation_is_scipys_over_the_rows_that_both_have(rows: Any, alone: float) -> None:
    depths = [1, 5, 7]
    trials = [trial(number, depths[number - 1], ours, ours) for number, (_, ours) in enumerate(rows, start=1)]
    record = record_of(CONFIG, *trial(0, 3, 0.85, 0.85), *(event for each in trials for event in each))
    printed = [depth(value, paper) for value, (paper, _) in zip(depths, rows, strict=True)]
    made = against(record, *printed, {"label": "another", "dev": alone})
    papers, ours = [94.5, *(paper for paper, _ in rows)], [0.85, *(mean for _, mean in rows)]
    assert made.shared == 4
    if len(set(papers)) == 1:
        assert made.correlation is None
        return
    assert made.correlation == pytest.approx(float(spearmanr(papers, ours).statistic), abs=1e-12)
