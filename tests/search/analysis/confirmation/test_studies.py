"""Several studies side by side: who is compared with whom, and what is refused."""

from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest

from skipstack.data.basis.errors import UserError
from skipstack.search.analysis.confirmation.studies import WINNER, compare_studies
from skipstack.search.ledger.events import CorpusPrepared, Event
from skipstack.search.statistics.chance import chance, error
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.spaces.trial import CORPUS
from tests.search.analysis.ablation.toys import beginning, grid_search, made, planted, run_ablation
from tests.search.analysis.confirmation.test_confirmation import AXES, CONFIG, COUNTS, SEEDS, trials
from tests.search.made_up import DEPTH, RATE, opening, record_of, study
from tests.search.toy import open_toy, run_toy, toy_study


def other_corpus(**changed: Any) -> StudyRecord:
    events: list[Event] = [*opening(CONFIG), *trials()]
    return StudyRecord.of(
        event.model_copy(update=changed) if isinstance(event, CorpusPrepared) else event for event in events
    )


def test_what_both_confirmed_is_compared_with_intervals_config_by_config() -> None:
    one, other = record_of(CONFIG, *trials()), record_of(CONFIG, *trials(seeds=(7, 8, 9)))
    made = compare_studies({"a": one, "b": other})
    assert [(row.section, row.label, row.trial, row.is_reference) for row in made.rows] == [
        (section, label, number, label == "a")
        for number, section in enumerate(("base", f"{DEPTH}=1", f"{DEPTH}=5", "model.stack.shortcut.gate=none"))
        for label in ("a", "b")
    ]
    first = made.rows[1].gain
    assert first is not None
    assert first.value == pytest.approx(0.0)
    assert first.error == pytest.approx(float(error(chance(*[COUNTS[0][..., 0] / 10] * 2))))
    assert not any(row.marked for row in made.rows)
    assert (made.corpus, made.measure.name) == ("grammar", "accuracy")


def test_what_only_explored_is_only_described_and_budgets_are_made_alike() -> None:
    searched = study(AXES, proposer="random", scheduler="none", seeds=SEEDS)
    one, other = record_of(searched, *trials(searched)), record_of(searched, *trials(searched)[:8])
    made = compare_studies({"a": one, "b": other})
    assert made.rows == ()
    large, small = made.explored
    assert ((large.trials, large.epochs), (small.trials, small.epochs)) == ((4, 4), (2, 2))
    assert large.best == small.best == pytest.approx(0.705) or large.best == pytest.approx(0.715)
    assert (large.trials_alike, small.trials_alike) == (2, 2)
    scores = sorted(trial.score or 0.0 for trial in one.trials.values())
    assert large.alike == pytest.approx(np.mean([max(pair) for pair in combinations(scores, 2)]))
    best_of_four = max(scores)
    drawn = made.budgets.groupby("study").last()
    assert drawn["epochs"].to_dict() == {"a": 4.0, "b": 2.0}
    assert drawn["expected_best"].to_dict() == {"a": pytest.approx(best_of_four), "b": pytest.approx(small.alike)}


def test_bases_that_differ_are_named() -> None:
    plain, shortcuts = record_of(study(AXES)), record_of(study(AXES, composition=2))
    made = compare_studies({"a": plain, "b": shortcuts, "c": plain})
    assert made.bases == {"b": "model.stack.composition=2"}


@pytest.mark.slow
def test_the_best_of_each_is_compared_as_its_ablation_trained_it_anew(tmp_path: Path) -> None:
    rates, depths = {RATE: {"choice": [0.01, 0.02]}}, {DEPTH: {"choice": [1, 2, 3]}}
    options = {"a": (depths, {}), "b": ({**depths, **rates}, {"top": 2, "corpus": ["atis", "own"]}), "c": (rates, {})}
    for name, (axes, how) in options.items():
        planted(tmp_path / name, axes, **how)
    records = {name: read_study(tmp_path / name) for name in options}
    rows = [row for row in compare_studies(records).rows if row.section == WINNER]
    assert [(row.label, row.is_reference) for row in rows] == [("a", True), ("b", False), ("c", False)]
    best = {}
    for row in rows:
        trial = records[row.label].ablations[1].trials[row.trial or 0]
        assert {**trial.point, CORPUS: None} == {**records[row.label].ranked()[0].point, CORPUS: None}
        assert trial.config.data.corpus.kind == "grammar"
        assert trial.seeds == row.seeds == (1_000_000, 1_000_001, 1_000_002)
        best[row.label] = fmean(trial.tested["test_accuracy"])
        assert row.test is not None
        assert row.test.value == pytest.approx(best[row.label])
    gaps = [row.gain.value for row in rows[1:] if row.gain is not None]
    assert gaps == pytest.approx([best["b"] - best["a"], best["c"] - best["a"]])
    assert gaps[1] == pytest.approx(-0.32, abs=0.02)  # as planted: its base has three layers, and so have all of it
    assert [row.marked for row in rows] == [False, False, True]
    searched = run_toy(open_toy(tmp_path / "searched", toy_study(2, "grid", epochs=1)))
    settings = {row.section for row in compare_studies(records).rows} - {"base", WINNER}
    assert settings == {f"{DEPTH}=1", f"{RATE}=0.01"}  # of a and b, of b and c
    assert WINNER not in {row.section for row in compare_studies({"a": records["a"], "searched": searched}).rows}


def test_a_base_that_is_the_best_is_no_winner_and_neither_is_the_second(tmp_path: Path) -> None:
    axes: dict[str, object] = {DEPTH: {"choice": [1, 2, 3]}}
    best = read_study(grid_search(tmp_path / "any", axes)).ranked()[0].point[DEPTH]
    records = {}
    for name in ("a", "b"):
        folder = grid_search(tmp_path / name, axes, depth=int(str(best)))
        planned = made(folder, top=2)
        run_ablation(folder, planned.number, beginning(folder, planned))
        records[name] = read_study(folder)
        assert records[name].ranked()[0] is records[name].base
    assert WINNER not in {row.section for row in compare_studies(records).rows}


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"fingerprint": "f" * 16}, r"b: got a corpus of fingerprint f{16} \(allowed: 0{16}, as in a: scores on other"),
        ({"measure": "f1"}, r"b: got scores in f1 \(allowed: accuracy, as in a\)"),
    ],
)
def test_what_cannot_be_compared_is_refused(changed: dict[str, str], why: str) -> None:
    with pytest.raises(UserError, match=why):
        compare_studies({"a": record_of(CONFIG, *trials()), "b": other_corpus(**changed)})
