"""Confirmed rows: hand-made ledgers with counts by sentence, against the equations and against plain t tests."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import ttest_rel

from skipstack.dashboards.formats.rendering import render
from skipstack.dashboards.reports.confirmation.confirmation_report import confirmation_report
from skipstack.search.analysis.confirmation.confirmation import ConfirmedRow, RowToConfirm, confirm, reach
from skipstack.search.analysis.confirmation.designs import Confirmation, by_design, why_not_by_design
from skipstack.search.analysis.confirmation.differences import difference, difference_table
from skipstack.search.analysis.confirmation.trends import trends_of
from skipstack.search.ledger.events import Event
from skipstack.search.ledger.sentences import SentenceCounts
from skipstack.search.statistics.chance import chance, error
from skipstack.search.statistics.estimates import ONE_SEED
from tests.search.made_up import DEPTH, GATE, HIDDEN, ended, measured, proposed, record_of, reported, study

AXES: dict[str, Any] = {DEPTH: {"choice": [1, 3, 5]}, GATE: {"choice": ["none", "sigmoid_below"]}}
SEEDS, SENTENCES = 3, 60
CONFIG = study(AXES, proposer="one_at_a_time", scheduler="none", seeds=SEEDS)
GATED = {DEPTH: 3, GATE: "sigmoid_below"}
POINTS = [GATED, {**GATED, DEPTH: 1}, {**GATED, DEPTH: 5}, {**GATED, GATE: "none"}]
"""The base, and what else the study tries."""


def counts(share: float, seed: int) -> NDArray[np.int64]:
    """Right tags of ten in each sentence, by each seed."""
    generator = np.random.default_rng(seed)
    correct_RS = generator.binomial(10, share, (SEEDS, SENTENCES))
    return np.stack([correct_RS, np.full_like(correct_RS, 10)], axis=-1)


def on_test(number: int, counts_RSC: NDArray[np.int64]) -> Event:
    by_seed = counts_RSC[..., 0].sum(axis=1) / counts_RSC[..., 1].sum(axis=1)
    sentences = SentenceCounts.of(counts_RSC, ("correct", "tags"))
    return measured(number, *by_seed.tolist()).model_copy(update={"sentences": sentences})


SHARES = (0.70, 0.40, 0.71, 0.69)
COUNTS = [counts(share, number) for number, share in enumerate(SHARES)]


def trials(config: Any = CONFIG, *, tested_too: bool = True, seeds: tuple[int, ...] = (0, 1, 2)) -> list[Event]:
    dev = [np.linspace(share, share + 0.01, SEEDS).tolist() for share in SHARES]
    made: list[Event] = []
    for number, point in enumerate(POINTS):
        made += [proposed(config, number, point, seeds=seeds), reported(number, 1, *dev[number]), ended(number)]
        made += [on_test(number, COUNTS[number])] if tested_too else []
    return made


def rows_of(made: Confirmation | None) -> dict[str, ConfirmedRow]:
    assert made is not None
    return {row.label: row for row in made.rows}


def test_nobody_asks_for_randomisation_but_who_does() -> None:
    assert {row.p_randomised for row in rows_of(by_design(record_of(CONFIG, *trials()))).values()} == {None}
    asked = rows_of(by_design(record_of(CONFIG, *trials()), randomise=True)).values()
    assert [row.p_randomised is None for row in asked] == [True, False, False, False]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_row_with_a_score_that_is_no_finite_number_is_not_compared_and_the_others_are_corrected_without_it(
    bad: float,
) -> None:
    scores = [(0.70, 0.72, 0.71), (0.61, 0.60, 0.64), (0.80, bad, -bad), (0.69, 0.73, 0.70)]
    found = by_design(
        record_of(CONFIG, *trials(tested_too=False), *(measured(number, *each) for number, each in enumerate(scores)))
    )
    rows = rows_of(found)
    assert (rows["5"].gain, rows["5"].p, rows["5"].why) == (None, None, "a score on test is no finite number")
    assert rows["5"].test is not None
    assert rows["5"].test.half is None
    plain = [ttest_rel(scores[place], scores[0]).pvalue for place in (1, 3)]
    assert [rows[label].p for label in ("1", "none")] == pytest.approx([min(plain) * 2, max(*plain, min(plain) * 2)])
    assert found is not None
    text = render(confirmation_report(found), "json")
    assert ("NaN" in text, "Infinity" in text, "null" in text) == (False, False, True)


@pytest.mark.parametrize("proposer", ["grid", "one_at_a_time"])
def test_of_billions_of_integers_those_that_were_tried_are_rows(proposer: str) -> None:
    config = study({HIDDEN: {"randint": [1, 10**12]}}, proposer=proposer, scheduler="none", seeds=SEEDS)
    record = record_of(
        config, *(proposed(config, number, {HIDDEN: size}) for number, size in enumerate((16, 9, 10**9)))
    )
    assert list(rows_of(by_design(record))) == ["base", "9", "1000000000"]
    assert trends_of(record) == ()


@pytest.mark.parametrize(("sentences", "counted"), [(1, None), (2, 2), (3, 3)])
def test_of_two_sentences_the_chance_of_sentences_can_be_told(sentences: int, counted: int | None) -> None:
    events = [event for event in trials(tested_too=False) if getattr(event, "trial", 0) < 2]
    events += [on_test(number, COUNTS[number][:, :sentences]) for number in (0, 1)]
    gain = rows_of(by_design(record_of(CONFIG, *events)))["1"].gain
    assert gain is not None
    assert gain.sentences == counted


def test_sentences_of_two_corpora_are_not_paired() -> None:
    config = study({"data.corpus.seed": {"choice": [0, 1]}}, proposer="one_at_a_time", scheduler="none", seeds=SEEDS)
    events: list[Event] = []
    for number in (0, 1):
        events += [proposed(config, number, {"data.corpus.seed": number}, seeds=(0, 1, 2)), ended(number)]
        events += [on_test(number, COUNTS[number])]
    one, other = record_of(config, *events).trials.values()
    (row,) = confirm([RowToConfirm(label="other", trial=other, reference=one)], randomise=True)
    assert row.gain is not None
    assert (row.gain.sentences, row.gain.seeds, row.p_randomised) == (None, SEEDS, None)
    assert difference_table(other, one) is None
    (row,) = confirm([RowToConfirm(label="other", trial=other, reference=one, same_sentences=True)])
    assert row.gain is not None
    assert (row.gain.sentences, row.p_randomised) == (SENTENCES, None)  # as nobody asked for it


def test_a_row_is_the_base_with_that_value_and_nothing_else() -> None:
    made = by_design(record_of(CONFIG, *trials()))
    assert made is not None
    assert [(row.section, row.label, row.trial, row.reference) for row in made.rows] == [
        ("", "base", 0, None),
        (DEPTH, "1", 1, 0),
        (DEPTH, "5", 2, 0),
        (GATE, "none", 3, 0),
    ]
    assert [row.is_reference for row in made.rows] == [True, False, False, False]
    assert (made.study, made.corpus, made.measure.name) == ("made-up", "grammar", "accuracy")


def test_a_gain_has_the_chance_of_seeds_and_sentences_and_the_family_its_correction() -> None:
    found = rows_of(by_design(record_of(CONFIG, *trials())))
    gaps = {"1": COUNTS[1] - COUNTS[0], "5": COUNTS[2] - COUNTS[0], "none": COUNTS[3] - COUNTS[0]}
    for label, gap in gaps.items():
        table_RS = gap[..., 0] / 10  # sentences of one length are worth their own accuracy
        estimate = found[label].gain
        assert estimate is not None
        assert (estimate.value, estimate.error) == pytest.approx((table_RS.mean(), float(error(chance(table_RS)))))
        assert (estimate.seeds, estimate.sentences) == (SEEDS, SENTENCES)
    p = sorted(row.gain.p for row in found.values() if row.gain is not None and row.gain.p)
    assert found["1"].p == pytest.approx(3 * p[0])
    assert [label for label, row in found.items() if row.marked] == ["1"]
    assert found["1"].effect_size is not None
    assert found["1"].effect_size < -5
    score = found["base"].test
    assert score is not None
    assert (score.value, score.sentences) == (pytest.approx(COUNTS[0][..., 0].mean() / 10), SENTENCES)
    assert found["base"].dev is not None
    assert found["base"].dev.sentences is None


def test_without_counts_by_sentence_it_is_the_t_test_of_pairs() -> None:
    old = [event.model_copy(update={"sentences": None}) if event.kind == "tested" else event for event in trials()]
    rows = rows_of(by_design(record_of(CONFIG, *old)))
    estimate = rows["1"].gain
    assert estimate is not None
    by_seed = [(each[..., 0].mean(axis=1) / 10).tolist() for each in COUNTS[:2]]
    theirs = ttest_rel(by_seed[1], by_seed[0])
    assert (estimate.p, estimate.sentences) == (pytest.approx(theirs.pvalue), None)
    assert (estimate.low, estimate.high) == pytest.approx(tuple(theirs.confidence_interval(0.95)))
    assert rows["1"].corrected == pytest.approx(tuple(theirs.confidence_interval(1 - 0.05 / 3))), "the least p of three"
    assert [row.half is not None and abs(gain.value) > row.half for row in rows.values() if (gain := row.gain)] == [
        row.marked for row in rows.values() if row.gain
    ], "± decides the mark"


def test_a_gain_is_that_of_the_change_whichever_of_the_two_was_trained_for_the_row() -> None:
    having, lacking = (record_of(CONFIG, *trials()).trials[number] for number in (0, 1))
    made, undone = confirm(
        [
            RowToConfirm(label="made", trial=having, reference=lacking, family="one"),
            RowToConfirm(label="undone", trial=having, reference=lacking, taken_back=True, family="other"),
        ]
    )
    assert made.gain is not None
    assert made.gain.value == pytest.approx((COUNTS[0] - COUNTS[1])[..., 0].mean() / 10)
    assert (made.gain, made.corrected, made.effect_size, made.helps) == (
        undone.gain,
        undone.corrected,
        undone.effect_size,
        True,
    )
    assert (made.own, undone.own) == (having.number, lacking.number)
    assert (made.own_scores, undone.own_scores) == (
        (made.dev, made.test),
        (made.reference_dev, made.reference_test),
    )


@pytest.mark.parametrize(
    ("search", "why"),
    [
        ({"proposer": "one_at_a_time"}, "asha stops trials by their scores"),
        ({"proposer": "random", "scheduler": "none"}, "random chose the trials"),
        ({"proposer": "grid", "scheduler": "none"}, ""),
    ],
)
def test_only_studies_settled_beforehand_are_confirmations(search: dict[str, Any], why: str) -> None:
    config = study(AXES, seeds=SEEDS, **search)
    record = record_of(config, *trials(config))
    assert why_not_by_design(record) == why
    assert (by_design(record) is None) == bool(why)
    both = [RowToConfirm(label="1", trial=record.trials[1], reference=record.trials[0])]
    (row,) = confirm(both, only_described=why)
    assert row.gain is not None
    assert row.gain.value == pytest.approx((COUNTS[1] - COUNTS[0])[..., 0].mean() / 10)
    assert (row.gain.half is None, row.p is None, row.marked) == ((True, True, False) if why else (False, False, True))
    assert row.gain.why == why


def test_of_a_grid_other_combinations_are_no_rows() -> None:
    config = study(AXES, proposer="grid", scheduler="none", seeds=SEEDS)
    other = {DEPTH: 1, GATE: "none"}
    more = [proposed(config, 4, other, seeds=(0, 1, 2)), reported(4, 1, 0.99, 0.99, 0.99), ended(4)]
    found = by_design(record_of(config, *trials(config), *more))
    assert found is not None
    assert 4 not in [row.trial for row in found.rows]


def test_what_is_not_there_says_why() -> None:
    events = trials()
    for number in (1, 3):
        events.remove(ended(number))
    found = rows_of(by_design(record_of(CONFIG, *(each for each in events if not _is_test(each, 2)))))
    assert found["1"].why == "trial 1 is running, not trained to its end"
    assert found["5"].why == "not measured on test"
    assert {row.gain for row in found.values()} == {None}
    begun = rows_of(by_design(record_of(CONFIG, *trials()[:4])))
    assert begun["5"].why == "not trained"
    unfounded = [event for event in trials() if getattr(event, "trial", None) != 0]
    assert rows_of(by_design(record_of(CONFIG, *unfounded)))["1"].why == "its reference was not trained"


def _is_test(event: Event, number: int) -> bool:
    return event.kind == "tested" and event.trial == number


def test_one_seed_has_gains_and_no_interval() -> None:
    config = study(AXES, proposer="grid", scheduler="none", seeds=1)
    events: list[Event] = []
    for number, point in enumerate(POINTS[:2]):
        one = on_test(number, COUNTS[number][:1])
        events += [proposed(config, number, point), reported(number, 1, 0.7), ended(number), one]
    made = by_design(record_of(config, *events))
    row = rows_of(made)["1"]
    assert row.gain is not None
    assert row.gain.value == pytest.approx((COUNTS[1][:1] - COUNTS[0][:1])[..., 0].mean() / 10)
    assert (row.gain.half, row.gain.why, row.marked, row.effect_size) == (None, ONE_SEED, False, None)
    assert made is not None
    assert made.reach is None


def test_seeds_are_paired_by_number_and_trials_without_a_common_one_are_compared_unpaired() -> None:
    record = record_of(CONFIG, *trials())
    other = record_of(CONFIG, *trials(seeds=(1, 2, 3)))
    apart = record_of(CONFIG, *trials(seeds=(7, 8, 9)))
    some, none = (difference(each.trials[1], record.trials[0], "test") for each in (other, apart))
    assert some is not None
    assert none is not None
    shared = COUNTS[1][[0, 1]] - COUNTS[0][[1, 2]]  # seeds 1 and 2 are the first of one, the last of the other
    assert (some.value, some.seeds) == (pytest.approx(shared[..., 0].mean() / 10), 2)
    assert (none.value, none.seeds) == (pytest.approx((COUNTS[1] - COUNTS[0])[..., 0].mean() / 10), SEEDS)
    parts = chance(COUNTS[1][..., 0] / 10, COUNTS[0][..., 0] / 10)
    assert none.error == pytest.approx(float(error(parts)))
    assert difference_table(apart.trials[1], record.trials[0]) is None


def test_what_can_be_told_is_read_off_the_noise_of_the_rows() -> None:
    record = record_of(CONFIG, *trials())
    rows = [
        RowToConfirm(label=str(number), trial=record.trials[number], reference=record.trials[0]) for number in (1, 2, 3)
    ]
    found = reach(rows, 0.001)
    assert found is not None
    assert 0.02 < found.smallest < 0.2
    assert found.seeds is None, "the sentences alone vary more"
    easier = reach(rows, 0.9 * found.smallest)
    assert easier is not None
    assert easier.seeds is not None
    assert easier.seeds > SEEDS


def test_families_are_corrected_one_by_one() -> None:
    record = record_of(CONFIG, *trials())
    rows = [
        RowToConfirm(label="1", trial=record.trials[number], reference=record.trials[0], family=family)
        for number, family in ((1, "a"), (1, "b"), (2, "b"))
    ]
    alone, beside, _ = confirm(rows)
    assert alone.p is not None
    assert beside.p == pytest.approx(2 * alone.p)
    (asked,) = confirm(rows[:1], randomise=True)
    assert asked.p_randomised == pytest.approx(1 / 5000)
    assert replace(asked, p_randomised=None) == alone
