"""The table of what a search saw, against hand-made ledgers and a pandas twin."""

import math
from typing import Any

import pandas as pd
import pytest

from skipstack.data.basis.errors import UserError
from skipstack.search.analysis.confirmation.studies import compare_studies
from skipstack.search.analysis.exploration.table import ValueRow
from skipstack.search.api.study import exploration_of
from skipstack.search.ledger.events import Event, Reason
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.record.selection import selected
from skipstack.search.study.record.study_record import StudyRecord
from tests.search.made_up import (
    AXES,
    COMPOSITION,
    DEPTH,
    GATE,
    RATE,
    ended,
    history,
    measured,
    proposed,
    raced_record,
    record_of,
    reported,
    study,
)

DEPTHS = study({DEPTH: {"choice": [1, 3, 5, 7]}})


def _depths() -> StudyRecord:
    """Base 3; two of depth 5 cannot be, so 5 is the best by its first epoch; 1 failed; 7 was not tried."""
    return record_of(
        DEPTHS,
        proposed(DEPTHS, 0, {DEPTH: 3}),
        proposed(DEPTHS, 1, {DEPTH: 5}),
        proposed(DEPTHS, 2, {DEPTH: 1}),
        reported(0, 1, 0.80, 0.84),
        reported(1, 1, 0.90, 0.96, seconds=2.0),
        reported(0, 2, 0.82, 0.88),
        reported(1, 2, 0.70, 0.72, seconds=2.0),
        reported(2, 1, 0.99, 0.99),
        ended(0),
        ended(1, "stopped"),
        ended(2, "failed", "RuntimeError: no luck"),
        measured(1, 0.91, 0.93),
    )


def _rows(record: StudyRecord) -> dict[tuple[str, str], ValueRow]:
    return {(row.axis, row.value): row for row in exploration_of(record).rows}


@pytest.mark.parametrize(
    ("scheduler", "compared"),
    [
        ({"kind": "keep_best", "keep": 1}, (1,)),  # the first epoch, whenever trials were stopped
        ({"kind": "asha", "grace": 1, "reduction": 2}, (1, 2, 4)),
        ({"kind": "median"}, (1, 3)),  # when it stopped any
        ({"kind": "none"}, (1, 3)),
    ],
)
def test_trials_are_compared_where_the_scheduler_does(scheduler: dict[str, Any], compared: tuple[int, ...]) -> None:
    config = study({DEPTH: {"choice": [1, 3, 5, 7]}}, scheduler=scheduler)
    events: list[Event] = []
    for number, (depth, epochs) in enumerate(((3, 6), (1, 1), (5, 3), (7, 0))):
        events += [proposed(config, number, {DEPTH: depth})]
        events += [reported(number, epoch, 0.1 * epoch, 0.1 * epoch) for epoch in range(1, epochs + 1)]
        events += [ended(number, "completed" if epochs == 6 else "stopped")]
    assert tuple(exploration_of(record_of(config, *events)).compared) == compared


def test_rows_come_in_the_order_of_the_table() -> None:
    assert list(_rows(_depths())) == [
        ("baseline", "most frequent tag of each word"),
        ("base", "trial 0"),
        ("best", "trial 1"),
        *((DEPTH, value) for value in ("1", "3", "5", "7")),
    ]


@pytest.mark.parametrize(
    ("corpus", "guess"),
    [
        ({"kind": "grammar"}, "most frequent tag of each word"),
        ({"kind": "numbers"}, "most frequent label of train"),
        ({"kind": "grammar", "tags": "heads"}, "most frequent arc of each word"),
    ],
)
def test_the_baseline_is_named_by_what_it_predicts(corpus: dict[str, Any], guess: str) -> None:
    said = study({DEPTH: {"choice": [1, 3]}}).model_dump(mode="json")
    said["space"]["base"]["data"]["corpus"] = corpus
    config = StudyConfig.model_validate(said)
    (row, *_) = exploration_of(record_of(config, proposed(config, 0, {DEPTH: 1}), ended(0, "completed"))).rows
    assert (row.axis, row.value) == ("baseline", guess)


def test_a_value_is_represented_by_the_best_epoch_of_its_best_trial() -> None:
    row = _rows(_depths())[DEPTH, "5"]
    assert (row.selected, row.epoch, row.seeds, row.trials, row.scored) == (1, 1, (0, 1), 1, 1)
    assert row.dev == (0.90, 0.96)
    assert row.test == (0.91, 0.93)
    assert (row.state, row.whole) == ("stopped", False)
    assert (row.epochs, row.seconds) == (2, 4.0)


def test_the_base_is_known_where_it_is_selected() -> None:
    assert [key for key, row in _rows(_depths()).items() if row.is_base] == [("base", "trial 0"), (DEPTH, "3")]


def test_a_value_whose_trials_failed_was_tried_and_has_no_accuracy() -> None:
    row = _rows(_depths())[DEPTH, "1"]
    assert (row.trials, row.scored, row.selected, row.dev, row.epochs, row.seconds) == (1, 0, None, (), 1, 1.5)


def test_a_value_that_no_trial_has_is_told_with_no_trials() -> None:
    row = _rows(_depths())[DEPTH, "7"]
    assert (row.trials, row.scored, row.selected, row.dev, row.test, row.epochs) == (0, 0, None, (), (), 0)


def test_the_best_value_of_an_axis_leads_and_so_does_its_equal() -> None:
    assert [value for (axis, value), row in _rows(_depths()).items() if row.leads] == ["5"]
    accuracies = {3: 0.9, 1: 0.8, 5: 0.9, 7: 0.7}
    trials = [proposed(DEPTHS, number, {DEPTH: depth}) for number, depth in enumerate(accuracies)]
    reports = [reported(number, 1, value, value) for number, value in enumerate(accuracies.values())]
    assert [row.value for row in exploration_of(record_of(DEPTHS, *trials, *reports)).rows if row.leads] == ["3", "5"]


def test_where_seeds_race_the_value_with_most_seeds_leads_and_nothing_is_forecast() -> None:
    record = raced_record()
    assert [(trial.number, len(trial.seeds)) for trial in record.ranked()] == [(0, 3), (1, 1), (2, 1)]
    seen = exploration_of(record)
    assert [row.value for row in seen.rows if row.leads] == ["3"]
    assert (len(seen.budgets), seen.continued) == (0, None)
    studies = compare_studies({"one": record, "other": record})
    assert len(studies.budgets) == 0


def test_one_value_alone_leads_nothing() -> None:
    record = record_of(DEPTHS, proposed(DEPTHS, 0, {DEPTH: 3}), reported(0, 1, 0.8, 0.8))
    assert not any(row.leads for row in exploration_of(record).rows)


def test_of_equal_trials_the_first_is_selected() -> None:
    config = study({DEPTH: {"choice": [3]}, RATE: {"choice": [0.01, 0.02]}})
    trials = [proposed(config, number, {DEPTH: 3, RATE: rate}) for number, rate in enumerate((0.02, 0.01))]
    record = record_of(config, *trials, reported(1, 1, 0.9, 0.9), reported(0, 1, 0.9, 0.9))
    assert _rows(record)[DEPTH, "3"].selected == 0


def test_the_whole_is_counted_whatever_became_of_it() -> None:
    whole = exploration_of(_depths())
    assert whole.ends == {"completed": 1, "stopped": 1, "failed": 1}
    assert (whole.epochs, whole.seconds) == (5, 8.5)
    assert whole.best == 1
    assert whole.best_config is not None
    assert whole.best_config.model.stack.depth == 5


def test_trials_that_run_are_counted_as_running() -> None:
    record = record_of(DEPTHS, proposed(DEPTHS, 0, {DEPTH: 3}))
    whole = exploration_of(record)
    assert whole.ends == {"running": 1}
    assert whole.best is None
    assert [row.axis for row in whole.rows] == ["baseline", *[DEPTH] * 4]


def test_without_a_trial_of_the_base_or_a_score_of_it_there_is_no_row_of_it() -> None:
    config = study({DEPTH: {"choice": [1, 5]}})  # the base has depth 3
    record = record_of(config, proposed(config, 0, {DEPTH: 5}), reported(0, 1, 0.9, 0.8))
    assert "base" not in [row.axis for row in exploration_of(record).rows]
    failed = record_of(
        DEPTHS,
        proposed(DEPTHS, 0, {DEPTH: 3}),
        proposed(DEPTHS, 1, {DEPTH: 5}),
        reported(0, 1, 0.8, 0.8),
        reported(1, 1, 0.9, 0.8),
        ended(0, "failed", "RuntimeError: no luck"),
    )
    assert not any(row.is_base or row.axis == "base" for row in exploration_of(failed).rows)


def test_a_choice_of_lists_and_numbers_is_told_value_by_value() -> None:
    config = study({COMPOSITION: {"choice": [2, [0, 0, 1], [0, 1, 1]]}})
    record = record_of(
        config,
        proposed(config, 0, {COMPOSITION: 2}),
        proposed(config, 1, {COMPOSITION: [0, 0, 1]}),
        reported(1, 1, 0.9, 0.8),
    )
    of_axis = [row for row in exploration_of(record).rows if row.axis == COMPOSITION]
    assert [(row.value, row.trials, row.scored) for row in of_axis] == [
        ("2", 1, 0),
        ("[0,0,1]", 1, 1),
        ("[0,1,1]", 0, 0),
    ]


def test_the_table_can_be_asked_for_one_axis() -> None:
    record = StudyRecord.of(history(study()))
    axes = {row.axis for row in exploration_of(record, [GATE]).rows}
    assert axes == {"baseline", "base", "best", GATE}
    with pytest.raises(UserError, match=r"unknown axis 'model.stack.dept' \(nearest: 'model.stack.depth'; allowed: "):
        exploration_of(record, ["model.stack.dept"])


def test_selected_trials_are_those_of_the_rows() -> None:
    record = StudyRecord.of(history(study()))
    assert selected(record) == sorted({row.selected for row in exploration_of(record).rows if row.selected is not None})


def test_of_a_grid_that_is_trained_to_its_end_every_trial_with_a_score_is_selected() -> None:
    axes = {COMPOSITION: {"choice": [1, 2]}, GATE: {"choice": ["none", "scaled"]}}
    for scheduler, expected in (("none", [0, 1, 2, 3]), ({"kind": "asha", "reduction": 2}, [0, 1, 2])):
        config = study(axes, proposer="grid", scheduler=scheduler)
        events: list[Event] = []
        for number, score in enumerate((0.9, 0.8, 0.7, 0.1)):
            point = {COMPOSITION: 1 + number % 2, GATE: ("none", "scaled")[number // 2]}
            events += [proposed(config, number, point), reported(number, 1, score, score)]
        assert selected(record_of(config, *events)) == expected


@pytest.mark.first(3)
@pytest.mark.parametrize("seed", range(8))
def test_the_table_is_what_pandas_groups(seed: int) -> None:
    config = study(trials=40)
    record = StudyRecord.of(history(config, seed=seed))
    rows = _rows(record)
    frame: Any = _frame(record)
    cuts = {"0.003 – 0.0065": (0.003, 0.0065), "0.0065 – 0.014": (0.0065, 0.014), "0.014 – 0.03": (0.014, 0.031)}
    frame[RATE] = [next(name for name, (low, high) in cuts.items() if low <= rate < high) for rate in frame[RATE]]
    seen = 0
    for axis in AXES:
        for value, group in frame.dropna(subset=[axis]).groupby(axis):
            label = str(int(value)) if axis == DEPTH else str(value)  # pandas made the depths floats
            row = rows[axis, label]
            scored = group.dropna(subset=["score"])
            assert (row.trials, row.scored) == (len(group), len(scored))
            assert (row.epochs, row.seconds) == (group["epochs"].sum(), group["seconds"].sum())
            best = scored.sort_values(["score", "number"], ascending=[False, True]).iloc[0]
            assert row.selected == best["number"]
            assert sum(row.dev) / len(row.dev) == pytest.approx(best["score"], abs=1e-12)
            assert row.is_base == (best["number"] == 0)
            seen += 1
    assert seen == sum(row.trials > 0 for (axis, _), row in rows.items() if axis in AXES)


def _frame(record: StudyRecord) -> pd.DataFrame:
    """A row a trial, straight from its reports."""
    without: tuple[Reason, ...] = ("failed", "diverged")
    table: list[dict[str, Any]] = []
    for number, trial in record.trials.items():
        scores = {report.score: report.metrics["dev_accuracy"] for report in reversed(trial.reports)}
        finite = {score: dev for score, dev in scores.items() if math.isfinite(score)}
        score = max(finite) if finite and trial.reason not in without else None
        table.append(
            {
                "number": number,
                **{axis: trial.point.get(axis) for axis in AXES},
                "score": score,
                "dev": None if score is None else finite[score],
                "epochs": len(trial.reports),
                "seconds": 1.5 * len(trial.reports),
            }
        )
    return pd.DataFrame(table)
