"""Interactions of two changes in a grid: against an analysis of variance of the scores that they were made of."""

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from statsmodels.formula.api import ols

from skipstack.search.analysis.confirmation.designs import by_design
from skipstack.search.analysis.confirmation.differences import difference, interaction
from skipstack.search.analysis.confirmation.interactions import interactions
from skipstack.search.ledger.events import Event
from skipstack.search.ledger.sentences import SentenceCounts
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.record.study_record import StudyRecord
from tests.search.made_up import DEPTH, GATE, HIDDEN, ended, measured, proposed, record_of, reported, study

DEPTHS, GATES, SIZES = [3, 1, 5], ["sigmoid_below", "none"], [16, 8]
AXES: dict[str, Any] = {
    DEPTH: {"choice": DEPTHS},
    GATE: {"named": {"gated": "sigmoid_below", "open": "none"}, "when": {DEPTH: [3, 5]}},
    HIDDEN: {"choice": SIZES},
}
CONFIG = study(AXES, proposer="grid", scheduler="none", seeds=4)
SEEDS, SENTENCES, TAGS = (0, 1, 2, 3), 80, 10


def points() -> list[dict[str, Any]]:
    for_all = [{DEPTH: depth, GATE: gate, HIDDEN: size} for depth, gate, size in product(DEPTHS, GATES, SIZES)]
    return [each for each in for_all if each[DEPTH] > 1] + [{DEPTH: 1, HIDDEN: size} for size in SIZES]


def share(point: dict[str, Any]) -> float:
    """What a trial gets right: open gates lose, and small layers gain with open gates alone."""
    open_gate, small = point.get(GATE) == "none", point[HIDDEN] == 8
    return 0.6 - 0.2 * open_gate + 0.2 * (open_gate and small)


def counts_of(number: int, point: dict[str, Any]) -> NDArray[np.int64]:
    drawn = np.random.default_rng(number).binomial(TAGS, share(point), (len(SEEDS), SENTENCES))
    return np.stack([drawn, np.full_like(drawn, TAGS)], axis=-1)


TRIED = dict(enumerate(points()))
COUNTS = {number: counts_of(number, point) for number, point in TRIED.items()}


def record(config: StudyConfig = CONFIG, *, by_sentence: bool = True, without: tuple[int, ...] = ()) -> StudyRecord:
    made: list[Event] = []
    for number, point in TRIED.items():
        scores = (COUNTS[number][..., 0].sum(axis=1) / (SENTENCES * TAGS)).tolist()
        test = measured(number, *scores)
        if by_sentence:
            test = test.model_copy(update={"sentences": SentenceCounts.of(COUNTS[number], ("correct", "tags"))})
        made += [proposed(config, number, point, seeds=SEEDS)]
        if number not in without:
            made += [reported(number, 1, *scores), ended(number), test]
    return record_of(config, *made)


def number_of(**wanted: Any) -> int:
    base = {DEPTH: 3, GATE: "sigmoid_below", HIDDEN: 16}
    point = {
        **base,
        **{{"depth": DEPTH, "gate": GATE, "hidden": HIDDEN}[name]: value for name, value in wanted.items()},
    }
    return next(number for number, each in TRIED.items() if each == point)


QUARTET = [number_of(gate="none", hidden=8), number_of(gate="none"), number_of(hidden=8), number_of()]


def test_every_two_changes_that_were_tried_together_have_one_and_no_other() -> None:
    found = {(each.axes, each.values): each for each in interactions(record(), "test")}
    assert set(found) == {
        ((DEPTH, GATE), ("5", "open")),
        ((DEPTH, HIDDEN), ("1", "8")),
        ((DEPTH, HIDDEN), ("5", "8")),
        ((GATE, HIDDEN), ("open", "8")),
    }
    assert found[(GATE, HIDDEN), ("open", "8")].trial == QUARTET[0]
    assert [each.values for each in found.values() if each.marked] == [("open", "8")]
    assert found[(GATE, HIDDEN), ("open", "8")].estimate.value == pytest.approx(0.2, abs=0.05)


def test_value_is_that_of_an_analysis_of_variance_with_its_interval_over_seeds() -> None:
    """Without counts by sentence: the coefficient of the product in a model with a term for each seed and factor."""
    trials = record(by_sentence=False).trials
    found = interaction(*(trials[number] for number in QUARTET), "test")
    assert found is not None
    rows = [
        {"score": trials[number].test[seed], "seed": seed, "one": one, "two": two}
        for number, (one, two) in zip(QUARTET, [(1, 1), (1, 0), (0, 1), (0, 0)], strict=True)
        for seed in SEEDS
    ]
    data = pd.DataFrame(rows)
    model = ols("score ~ (one * two) * C(seed, Sum)", data).fit()
    assert found.value == pytest.approx(model.params["one:two"], abs=1e-12)
    apart = np.array([[1, -1, -1, 1]]) @ np.array([[trials[number].test[seed] for seed in SEEDS] for number in QUARTET])
    assert found.error == pytest.approx(apart.std(ddof=1) / np.sqrt(len(SEEDS)))


def test_beside_a_change_that_does_nothing_it_is_the_difference() -> None:
    trials = record().trials
    both, one, _, base = (trials[number] for number in QUARTET)
    found, alone = interaction(both, base, one, base, "test"), difference(both, one, "test")
    assert found is not None
    assert alone is not None
    assert (found.value, found.low, found.high) == pytest.approx((alone.value, alone.low, alone.high))


def test_sentences_are_drawn_too() -> None:
    with_sentences, seeds_alone = (
        interaction(*(record(by_sentence=each).trials[number] for number in QUARTET), "test") for each in (True, False)
    )
    assert with_sentences is not None
    assert seeds_alone is not None
    assert with_sentences.value == pytest.approx(seeds_alone.value)
    assert (with_sentences.sentences, seeds_alone.sentences) == (SENTENCES, None)


def test_what_did_not_end_has_none() -> None:
    found = interactions(record(without=(QUARTET[0],)), "test")
    assert (GATE, HIDDEN) not in {each.axes for each in found}
    assert interactions(record(without=(QUARTET[3],)), "test") == ()


def test_table_of_the_study_has_them() -> None:
    table = by_design(record())
    assert table is not None
    assert table.interactions == interactions(record(), "test")
