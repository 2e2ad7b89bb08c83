"""Studies whose trials are called once for each fold: what a call gets, what is recorded, raced, resumed, compared."""

import math
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from scipy.stats import t as student
from scipy.stats import ttest_1samp

from skipstack.data.basis.errors import UserError
from skipstack.search.analysis.confirmation.designs import by_design
from skipstack.search.analysis.confirmation.differences import difference
from skipstack.search.analysis.confirmation.studies import compare_studies
from skipstack.search.execution.workers.reporting import Report
from skipstack.search.ledger.ledger import Ledger, events_of
from skipstack.search.study.checks import check_study
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.study_record import StudyRecord
from tests.search.functions import LINE, Config, open_function, run_function, searched
from tests.search.toy import toy_study

RACE = {"kind": "asha", "resource": "seeds", "grace": 1, "reduction": 2}
GRID: dict[str, Any] = {"axes": {"x": {"choice": [0, 1, 2]}}, "search": {"proposer": "grid", "scheduler": "none"}}


def with_search(**search: Any) -> dict[str, Any]:
    return {**LINE, "search": {**LINE["search"], "replicates": {"fold": 5}, **search}}


def validated(config: Config, report: Report) -> None:
    """A score of its own for each fold and seed: some folds are easy, and seeds change a little."""
    report(score=held_out(config["x"], config["seed"], config["fold"]))


def held_out(x: float, seed: int, fold: int) -> float:
    return -((x - 1) ** 2) + 0.3 * fold + 0.05 * math.sin(10 * x * (fold + 1) + seed)


def test_each_fold_is_a_call_and_the_score_is_the_mean(tmp_path: Path) -> None:
    seen: list[tuple[float, int, int]] = []

    def noting(config: Config, report: Report) -> None:
        seen.append((config["x"], config["seed"], config["fold"]))
        (report.folder / "here").touch()
        validated(config, report)

    record = searched(tmp_path, noting, with_search(scheduler="none"), trials=3, seeds=2, epochs=1)
    every = [(seed, fold) for seed in (0, 1) for fold in range(5)]
    points = [float(trial.point["x"]) for trial in record.trials.values()]
    assert seen == [(x, *each) for x in points for each in every]
    for trial in record.trials.values():
        own = [held_out(trial.point["x"], *each) for each in every]
        assert list(trial.dev.values()) == own
        assert trial.score == fmean(own)
        assert len(list((tmp_path / "trials").glob(f"*{trial.number}/seed-*/fold-*/here"))) == 10


def test_values_of_a_list_are_calls_too(tmp_path: Path) -> None:
    def reading(config: Config, report: Report) -> None:
        report(score={"news": 1.0, "web": 2.0}[config["corpus"]] + config["x"])

    record = searched(tmp_path, reading, with_search(replicates={"corpus": ["news", "web"]}), trials=2)
    assert [trial.score for trial in record.trials.values()] == [1.5 + t.point["x"] for t in record.trials.values()]


@pytest.mark.slow
@pytest.mark.parametrize("search", [{"scheduler": "none"}, {"scheduler": RACE}], ids=["none", "race"])
def test_a_study_that_was_killed_goes_on_as_if_it_had_not_been(search: dict[str, Any], tmp_path: Path) -> None:
    whole = searched(tmp_path / "whole", validated, with_search(**search), trials=6, epochs=1)
    batches = list(map(events_of, Ledger(tmp_path / "whole" / "ledger").lines()))
    for cut in range(1, len(batches), 4):
        folder = StudyFolder(tmp_path / str(cut))
        with Ledger(folder.ledger) as ledger:
            for batch in batches[:cut]:
                ledger.append(*batch)
        assert outcome(run_function(folder, validated)) == outcome(whole)


def outcome(record: StudyRecord) -> list[Any]:
    return [(trial.point, trial.state, trial.dev) for trial in record.trials.values()]


def test_folds_race_where_each_call_reports_once(tmp_path: Path) -> None:
    """At one, two and four folds a trial goes on from the median of those that came there before; the base always."""
    record = searched(tmp_path, validated, with_search(scheduler=RACE), trials=20, epochs=1)
    came: dict[int, list[float]] = {1: [], 2: [], 4: []}
    for number, trial in record.trials.items():
        for folds, scores in came.items():
            own = fmean(held_out(trial.point["x"], 0, fold) for fold in range(folds))
            ends = number > 0 and own < np.median(scores)
            scores.append(own)
            if ends:
                break
        else:
            folds = 5
        assert len(trial.seeds) == folds
        assert trial.score == pytest.approx(fmean(held_out(trial.point["x"], 0, fold) for fold in range(folds)))
    assert {len(trial.seeds) for trial in record.trials.values()} > {1, 5}


def test_rows_are_compared_fold_by_fold_with_the_corrected_interval(tmp_path: Path) -> None:
    study = {**GRID, "search": {**GRID["search"], "replicates": {"fold": 5}}}
    record = searched(tmp_path, validated, study, seeds=2, epochs=1)
    found = by_design(record)
    assert found is not None
    assert found.split == "dev"
    row = next(each for each in found.rows if each.label == "1")
    every = [(seed, fold) for seed in (0, 1) for fold in range(5)]
    apart = np.array([held_out(1, *each) - held_out(0, *each) for each in every])
    error = math.sqrt(apart.var(ddof=1) * (1 / 10 + 1 / 4))
    assert row.gain is not None
    assert row.gain.value == pytest.approx(apart.mean())
    assert row.gain.half == pytest.approx(student.ppf(0.975, 9) * error)
    assert row.gain.over == "5 folds of each of 2 partitions"


def test_values_of_a_list_are_compared_one_by_one_whatever_the_seeds(tmp_path: Path) -> None:
    def reading(config: Config, report: Report) -> None:
        report(score=held_out(config["x"], config["seed"], len(config["corpus"])))

    names = ["a", "bb", "cccc"]
    study = {**GRID, "search": {**GRID["search"], "replicates": {"corpus": names}}}
    record = searched(tmp_path, reading, study, seeds=2, epochs=1)
    trials = {trial.point["x"]: trial for trial in record.trials.values()}
    found = difference(trials[1], trials[0], "dev")
    apart = [fmean(held_out(1, seed, len(each)) - held_out(0, seed, len(each)) for seed in (0, 1)) for each in names]
    theirs = ttest_1samp(apart, 0.0).confidence_interval(0.95)
    assert found is not None
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high))
    assert found.over == "3 values of corpus, each with 2 seeds"


def test_folds_of_other_partitions_are_not_paired(tmp_path: Path) -> None:
    five, four = (
        searched(tmp_path / str(folds), validated, with_search(replicates={"fold": folds}), trials=1, epochs=1)
        for folds in (5, 4)
    )
    found = difference(five.trials[0], four.trials[0], "dev")
    assert found is not None
    assert found.half is None


def test_replicates_that_change_nothing_are_told_and_so_are_seeds(tmp_path: Path) -> None:
    def ignoring_the_fold(config: Config, report: Report) -> None:
        report(score=config["x"])

    def ignoring_the_seed(config: Config, report: Report) -> None:
        report(score=config["x"] + config["fold"])

    study = with_search(scheduler="none")
    (told,) = searched(tmp_path / "fold", ignoring_the_fold, study, trials=2, epochs=1).warnings
    assert told.startswith("all 2 trials reported the same with each of its 5 folds")
    assert searched(tmp_path / "one", ignoring_the_seed, study, trials=2, epochs=1).warnings == ()
    (told,) = searched(tmp_path / "seed", ignoring_the_seed, study, trials=2, seeds=2, epochs=1).warnings
    assert told.startswith("all 2 trials with several seeds reported the same with each of them")


@pytest.mark.parametrize(
    ("study", "says"),
    [
        (with_search(replicates={"x": 5}), "search.replicates: got x, which an axis or a value of the base is called"),
        (
            with_search(replicates={"dev": 5}),
            "search.replicates: got the name 'dev' (allowed: a Python name other than",
        ),
        (with_search(enough=True), "search.enough: got it with replicates (allowed: with seeds alone"),
        (with_search(scheduler=RACE), "search.scheduler.resource: got seeds (allowed: epochs or seconds"),
    ],
)
def test_a_mistake_is_told_in_one_line(study: Any, says: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as refused:
        open_function(tmp_path, validated, study)
    assert says in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1


def test_networks_have_none() -> None:
    study = toy_study()
    folds = study.search.model_copy(update={"replicates": {"fold": 5}})
    with pytest.raises(UserError, match="got fold for a study that trains networks"):
        check_study(study.model_copy(update={"search": folds}))


def test_scores_over_other_replicates_are_neither_learnt_from_nor_compared(tmp_path: Path) -> None:
    def on_corpus(config: Config, report: Report) -> None:
        report(score=config["x"] * (1 if config["corpus"] == "easy" else -1))

    def over(*corpora: str, **search: Any) -> dict[str, Any]:
        return {**GRID, "search": {**GRID["search"], "replicates": {"corpus": corpora}, **search}}

    warm = over("easy", "easier", warm_start=[str(tmp_path / "hard")])
    records = {
        name: searched(tmp_path / name, on_corpus, over(*corpora), trials=3, seeds=1, epochs=1)
        for name, corpora in {"hard": ("hard", "easy"), "same": ("hard", "easy"), "easy": ("easy", "easier")}.items()
    }
    both = r'\{"corpus":\["hard","easy"\]\} \(allowed: \{"corpus":\["easy","easier"\]\}'
    with pytest.raises(UserError, match=f"got search.replicates {both}"):
        open_function(tmp_path / "warm", on_corpus, warm, trials=3, seeds=1, epochs=1)
    with pytest.raises(UserError, match=f"hard: got search.replicates {both}, as in easy"):
        compare_studies({"easy": records["easy"], "hard": records["hard"]})
    known = over("hard", "easy", warm_start=[str(tmp_path / "hard")])
    open_function(tmp_path / "known", on_corpus, known, trials=3, seeds=1, epochs=1)
    assert compare_studies({"same": records["same"], "hard": records["hard"]}).rows
