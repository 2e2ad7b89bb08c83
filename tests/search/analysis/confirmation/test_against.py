"""A study beside a paper's table: hand-made ledgers against figures worked out by hand, and scipy for the ranks."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from scipy.stats import spearmanr
from scipy.stats import t as t_distribution

from skipstack.data.tasks.accuracy import Accuracy
from skipstack.search.analysis.confirmation.against import ComparedRow, PaperComparison, compare
from skipstack.search.analysis.confirmation.papers import PaperTable
from skipstack.search.ledger.events import Event
from skipstack.search.ledger.sentences import SentenceCounts
from skipstack.search.statistics.estimates import ONE_SEED
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.spaces.domains import Json
from skipstack.spaces.space import Point
from tests.search.made_up import DEPTH, GATE, ended, measured, proposed, record_of, reported, study

AXES: dict[str, Any] = {DEPTH: {"choice": [1, 3, 5, 7]}, GATE: {"choice": ["none", "sigmoid_below"]}}
CONFIG = study(AXES, composition=2, proposer="grid", scheduler="none")
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


def rows_of(comparison: PaperComparison) -> dict[str, ComparedRow]:
    return {row.ours.label: row for row in comparison.rows}


def against(record: StudyRecord, *rows: dict[str, Any]) -> PaperComparison:
    return compare(record, "made-up/table-1", table(*rows))


def test_a_row_whose_fields_the_base_lacks_has_no_result_of_ours() -> None:
    tree = CONFIG.model_dump(mode="json")
    tree["space"]["base"]["model"]["stack"] = {"kind": "feedback"}
    tree["space"]["axes"] = {"training.epochs": {"choice": [1, 2]}}
    record = record_of(StudyConfig.model_validate(tree))
    _, row = against(record, {"label": "other", "dev": 94.0, "has": {GATE: "none"}}).rows
    assert row.ours.trial is None


def test_each_row_has_the_papers_figures_and_ours_as_shares() -> None:
    record = record_of(CONFIG, *trial(0, 3, 0.80, 0.82), *trial(1, 5, 0.90, 0.94), measured(1, 0.7, 0.8))
    made = against(record, depth(5, 94.73, test=94.1), depth(7, 94.49), {"label": "another", "dev": 90.0})
    base, five, seven, another = made.rows
    assert (base.ours.is_reference, base.ours.trial, base.ours.gain) == (True, 0, None)
    assert (base.paper_gain, base.disagrees) == (None, False)
    assert (five.paper_dev, five.paper_test, five.paper_gain) == (0.9473, 0.941, 0.0023)
    assert five.ours.dev is not None
    assert five.ours.test is not None
    assert five.ours.gain is not None
    assert (five.ours.trial, five.ours.seeds) == (1, (0, 1))
    assert (five.ours.dev.value, five.ours.test.value) == pytest.approx((0.92, 0.75))
    assert five.ours.gain.value == pytest.approx(0.11)
    assert five.ours.gain.half == pytest.approx(0.01 * float(t_distribution(1).isf(0.025)))
    assert (seven.paper_gain, seven.ours.trial, seven.ours.dev) == (-0.0001, None, None)
    assert (seven.ours.gain, seven.ours.why) == (None, "not trained")
    assert (another.paper_dev, another.paper_gain, another.ours.trial) == (0.9, -0.045, None)
    assert (made.study, made.corpus, made.table, made.title, made.split) == (
        "made-up",
        "grammar",
        "made-up/table-1",
        "Depths",
        "dev",
    )


def test_a_row_is_the_base_with_its_value_and_not_the_best_trial_that_has_the_value() -> None:
    record = record_of(CONFIG, *trial(0, 3, 0.8, 0.8), *trial(1, 5, 0.99, 0.99, gate="none"), *trial(2, 5, 0.7, 0.7))
    assert rows_of(against(record, depth(5, 94.0)))["depth 5"].ours.trial == 2
    alone = record_of(CONFIG, *trial(0, 3, 0.8, 0.8), *trial(1, 5, 0.99, 0.99, gate="none"))
    assert rows_of(against(alone, depth(5, 94.0)))["depth 5"].ours.trial is None


def test_a_row_may_have_several_values() -> None:
    both: dict[str, Json] = {DEPTH: 5, GATE: "none"}
    record = record_of(CONFIG, *trial(0, 3, 0.8, 0.8), *trial(1, 5, 0.9, 0.9, gate="none"))
    assert rows_of(against(record, {"label": "both", "dev": 94.0, "has": both}))["both"].ours.trial == 1


def test_a_row_is_what_it_has_or_else_what_it_may_have() -> None:
    row: dict[str, Any] = {"label": "five", "dev": 94.0, "has": {DEPTH: 5}, "otherwise": {GATE: "none"}}
    printed, other = trial(1, 5, 0.7, 0.7), trial(2, 5, 0.9, 0.9, gate="none")
    for trials, found in (([*printed, *other], 1), (other, 2), ([], None)):
        record = record_of(CONFIG, *trial(0, 3, 0.8, 0.8), *trials)
        assert rows_of(against(record, row))["five"].ours.trial == found


def test_a_row_of_pretrained_vectors_has_those_of_any_file_and_one_without_has_none() -> None:
    vectors = "data.vectors"
    axes: dict[str, Any] = {vectors: {"named": {"none": None, "mine": "mine.txt", "ours": "ours.txt"}}}
    config = study(axes, proposer="grid", scheduler="none")
    files: list[str | None] = [None, "mine.txt", "ours.txt"]
    scores = [0.8, 0.82, 0.85]
    happened = [
        event
        for number, (file, score) in enumerate(zip(files, scores, strict=True))
        for event in (proposed(config, number, {vectors: file}), reported(number, 1, score, score), ended(number))
    ]
    rows: list[dict[str, Any]] = [
        {"label": "without", "dev": 90.0, "has": {DEPTH: 3}, "vectors": False, "base": True},
        {"label": "with", "dev": 91.0, "has": {DEPTH: 3}, "vectors": True},
        {"label": "as the base", "dev": 90.0, "has": {DEPTH: 3}},
    ]
    asked = PaperTable.model_validate({"title": "Vectors", "preset": "chen2017/systems", "rows": rows})

    def trials(config: StudyConfig) -> list[int | None]:
        return [row.ours.trial for row in compare(record_of(config, *happened), "made-up/table-1", asked).rows]

    assert trials(config) == [0, 2, 0]
    of_a_file = config.model_dump(mode="json")
    of_a_file["space"]["base"]["data"]["vectors"] = "mine.txt"
    assert trials(StudyConfig.model_validate(of_a_file)) == [0, 2, 1]


@pytest.mark.first(2)
@pytest.mark.parametrize(
    ("paper", "ours", "disagrees"),
    [
        (94.6, (0.81, 0.811), False),  # the same sign
        (94.4, (0.81, 0.811), True),  # +0.0105, and half an interval of 12.7 times 0.0005
        (94.6, (0.79, 0.789), True),
        (94.4, (0.81, 0.82), False),  # +0.015, and half an interval of 12.7 times 0.005
        (94.5, (0.81, 0.811), False),  # the paper has no sign
        (94.4, (0.80, 0.80), False),  # ours has none
        (94.4, (0.81, 0.81), False),  # nor an interval where no seed says anything else
    ],
)
def test_ours_disagrees_where_it_has_the_other_sign_with_its_whole_interval(
    paper: float, ours: tuple[float, float], disagrees: bool
) -> None:
    record = record_of(CONFIG, *trial(0, 3, 0.80, 0.80), *trial(1, 5, *ours))
    assert rows_of(against(record, depth(5, paper)))["depth 5"].disagrees == disagrees


def test_one_seed_has_no_interval_and_disagrees_with_nobody() -> None:
    config = study(AXES, seeds=1, proposer="grid", scheduler="none")
    record = record_of(config, *trial(0, 3, 0.8, config=config), *trial(1, 5, 0.9, config=config))
    row = rows_of(against(record, depth(5, 94.0)))["depth 5"]
    assert row.ours.gain is not None
    assert row.ours.gain.value == pytest.approx(0.1)
    assert (row.ours.gain.half, row.ours.gain.why) == (None, ONE_SEED)
    assert not row.disagrees


def test_trials_without_a_score_stand_for_no_row() -> None:
    failed = [*trial(1, 5, 0.9, 0.9)[:2], ended(1, "failed", "no luck")]
    record = record_of(CONFIG, *trial(0, 3, 0.8, 0.8), *failed)
    assert rows_of(against(record, depth(5, 94.0)))["depth 5"].ours.dev is None


def test_without_a_trial_of_the_papers_base_there_are_accuracies_and_no_gains() -> None:
    record = record_of(CONFIG, *trial(0, 5, 0.9, 0.9), *trial(1, 7, 0.8, 0.8))
    made = against(record, depth(5, 94.0), depth(7, 93.0))
    assert [row.ours.dev.value if row.ours.dev else None for row in made.rows] == [None, 0.9, 0.8]
    assert [row.ours.gain for row in made.rows] == [None, None, None]
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
        assert (base.ours.state, five.ours.state, seven.ours.state) == ("completed", "completed", state)
        assert seven.ours.dev is not None
        assert (seven.ours.dev.value, seven.ours.dev.half) == (pytest.approx(0.605), None)
        assert (seven.ours.gain, seven.disagrees) == (None, False)
        assert seven.ours.why == f"trial 2 is {state}, not trained to its end"
        assert five.ours.gain is not None
        assert made.shared == 2
        assert made.correlation == pytest.approx(-1.0)
    first = [*trial(0, 3, 0.80, 0.82)[:2], *trial(1, 5, 0.70, 0.72)]
    assert rows_of(against(record_of(CONFIG, *first), depth(5, 95.0)))["depth 5"].ours.gain is None


@pytest.mark.parametrize(
    ("search", "why"),
    [
        ({"proposer": "grid", "scheduler": {"kind": "asha", "reduction": 2}}, "asha stops trials by their scores"),
        ({"proposer": "tpe", "scheduler": "none"}, "tpe chose the trials"),
    ],
)
def test_what_a_search_chose_or_stopped_is_only_described(search: dict[str, Any], why: str) -> None:
    config = study(AXES, **search)
    trials = [*trial(0, 3, 0.80, 0.80, config=config), *trial(1, 5, 0.81, 0.811, config=config)]
    made = against(record_of(config, *trials), depth(5, 94.4))
    row = rows_of(made)["depth 5"]
    assert made.only_described == why
    assert row.ours.gain is not None
    assert row.ours.gain.value == pytest.approx(0.0105)
    assert (row.ours.gain.half, row.ours.p, row.ours.marked, row.disagrees) == (None, None, False, False)


def test_it_is_on_test_where_the_paper_has_it_and_all_of_ours_were_measured_there() -> None:
    trials = [*trial(0, 3, 0.80, 0.80), *trial(1, 5, 0.81, 0.811), measured(0, 0.7, 0.7)]
    for tested, split in (([], "dev"), ([measured(1, 0.6, 0.601)], "test")):
        made = against(record_of(CONFIG, *trials, *tested), depth(5, 94.4, test=94.3))
        assert made.split == split
        row = rows_of(made)["depth 5"]
        assert row.paper_gain == (-0.001 if split == "dev" else 0.003)
        assert row.disagrees


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
    assert five.paper_gain == 0.0005
    assert five.ours.gain is not None
    assert five.ours.gain.value == pytest.approx(0.15)
    assert (seven.ours.trial, seven.ours.test, seven.ours.gain) == (2, None, None)  # it was not measured on test
    assert (made.shared, made.correlation) == (2, pytest.approx(1.0))


@pytest.mark.parametrize("test_set", ["atis", "conll2003"])
def test_on_the_papers_own_test_set_sentences_are_no_source_of_chance(test_set: str) -> None:
    named = CONFIG.model_dump(mode="json")
    named["space"]["base"]["data"]["corpus"] = {"kind": "named", "name": "atis"}
    config = StudyConfig.model_validate(named)
    right_RS = {0: [[1, 0, 1, 1], [1, 0, 0, 1]], 1: [[1, 1, 1, 1], [1, 0, 1, 0]]}
    tested = [
        measured(number, *np.mean(each, axis=1)).model_copy(update={"sentences": _counts(each)})
        for number, each in right_RS.items()
    ]
    record = record_of(config, *trial(0, 3, 0.8, 0.8, config=config), *trial(1, 5, 0.9, 0.9, config=config), *tested)
    asked = table(depth(5, 94.4, test=94.3)).model_copy(update={"test_set": test_set})
    made = compare(record, "made-up/table-1", asked)
    assert (made.split, made.same_test_set) == ("test", test_set == "atis")
    by_seed = np.mean(right_RS[1], axis=1) - np.mean(right_RS[0], axis=1)
    found = rows_of(made)["depth 5"].ours.gain
    assert found is not None
    assert found.value == pytest.approx(by_seed.mean())
    half = float(t_distribution(1).isf(0.025)) * by_seed.std(ddof=1) / 2**0.5
    if made.same_test_set:
        assert (found.half, found.sentences) == (pytest.approx(half), None)
    else:
        assert found.sentences == 4


def _counts(right_RS: list[list[int]]) -> SentenceCounts:
    """Sentences of one tag each."""
    return SentenceCounts.of(np.stack([right_RS, np.ones_like(right_RS)], axis=-1), Accuracy.counted)


def test_precision_and_recall_of_ours_stand_beside_those_of_the_paper() -> None:
    parts: dict[str, tuple[float, ...]] = {"test_precision": (0.7, 0.8), "test_recall": (0.5, 0.7)}
    tested = measured(1, 0.6, 0.601)
    trials = [*trial(0, 3, 0.80, 0.80), *trial(1, 5, 0.81, 0.811), measured(0, 0.7, 0.7)]
    record = record_of(CONFIG, *trials, tested.model_copy(update={"metrics": {**tested.metrics, **parts}}))
    base, five = against(record, depth(5, 94.4, test=94.3, precision=95.1, recall=93.5)).rows
    assert (base.paper_precision, base.precision, base.recall) == (None, None, None)
    assert (five.paper_precision, five.paper_recall) == (0.951, 0.935)
    assert (five.precision, five.recall) == pytest.approx((0.75, 0.6))


def test_a_value_that_does_not_fit_the_studys_base_was_not_tried() -> None:
    base = {"model": {"stack": {"kind": "recurrent", "depth": 3, "composition": [0, 0, 1]}}}
    config = StudyConfig.model_validate({"name": "own", "space": {"base": base, "axes": {GATE: {"choice": ["none"]}}}})
    made = against(record_of(config), depth(5, 94.0))
    assert [row.ours.trial for row in made.rows] == [None, None]
    assert (made.shared, made.correlation) == (0, None)


PERCENT = some.integers(9000, 9500).map(lambda value: value / 100)


@given(some.lists(some.tuples(PERCENT, some.sampled_from([0.7, 0.8, 0.9, 0.95])), min_size=3, max_size=3), PERCENT)
@settings(max_examples=30)
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
