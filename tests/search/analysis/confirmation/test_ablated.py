"""What an ablation asks of its rows, by hand, and what it finds on several corpora and of several winners."""

from math import sin
from pathlib import Path
from statistics import fmean

import pytest
from pydantic import JsonValue
from scipy.stats import ttest_1samp
from statsmodels.stats.multitest import multipletests

from skipstack.dashboards.formats.rendering import render
from skipstack.dashboards.reports.confirmation.ablated_report import ablated_report
from skipstack.search.analysis.ablation.labels import winners_in_words
from skipstack.search.analysis.ablation.trained import TrainedRow, trained_rows
from skipstack.search.analysis.confirmation.ablated import ablated, questions
from skipstack.search.analysis.confirmation.confirmed import confirmed_scores
from skipstack.search.analysis.confirmation.forecast import most
from skipstack.search.execution.workers.reporting import Report
from skipstack.search.ledger.events import ListedRow, Role, RoleKind
from skipstack.search.publishing.bundles.export import export_bundles
from skipstack.search.strategy.proposers.config import PathConfig
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.whole_ablations import whole_ablations
from tests.search.analysis.ablation.toys import beginning, made, planted, run_ablation
from tests.search.functions import Config, ablate_function, open_function, run_function
from tests.search.toy import open_toy, run_toy, toy_study

DEPTH, RATE = "model.stack.depth", "training.optimiser.learning_rate"


def ablation_of(path: Path, depths: list[int]) -> StudyRecord:
    """Of a grid whose best has depth 1 and rate 0.02, where the base has depth 3 and rate 0.1."""
    tree = toy_study(9, "grid", epochs=1).model_dump(mode="json")
    tree["space"]["base"]["model"]["stack"]["depth"] = depths[0]
    tree["space"]["base"]["training"]["optimiser"]["learning_rate"] = 0.1
    tree["space"]["axes"][DEPTH] = {"choice": depths}
    tree["search"]["scheduler"] = {"kind": "none"}
    folder = open_toy(path, StudyConfig.model_validate(tree))
    run_toy(folder)
    planned = made(path)
    return run_ablation(path, planned.number, beginning(path, planned))


def test_a_row_that_is_there_for_two_reasons_answers_two_questions(tmp_path: Path) -> None:
    record = ablation_of(tmp_path / "two changes", [3, 1])
    asked = [(role.kind, role.axis, row.row.point) for role, row in questions(trained_rows(record))]
    base, winner = {DEPTH: 3, RATE: 0.1}, {DEPTH: 1, RATE: 0.02}
    shallow, slow = {DEPTH: 1, RATE: 0.1}, {DEPTH: 3, RATE: 0.02}
    assert asked == [
        ("base", None, base),
        ("winner", None, winner),
        ("without", DEPTH, slow),
        ("without", RATE, shallow),
        ("alone", DEPTH, shallow),
        ("alone", RATE, slow),
    ]
    assert len(record.trials) == 4
    study = read_study(tmp_path / "two changes")
    best = study.ranked()[0]
    own = next(trial for trial in record.trials.values() if trial.point == winner)
    (figure,) = confirmed_scores(study, best.config)
    assert (figure.value, figure.seeds) == (pytest.approx(fmean(own.tested["test_accuracy"])), len(own.seeds))
    assert set(own.seeds).isdisjoint(best.seeds)
    assert {row.test.half for row in ablated(record).rows if row.test and row.trial == own.number} == {figure.half}
    unconfirmed = next(trial for trial in study.trials.values() if trial.point not in (base, winner, shallow, slow))
    assert confirmed_scores(study, unconfirmed.config) == []
    assert [row.is_reference for row in ablated(record).rows] == [True, False, False, False, False, False]


def of_folds(config: Config, report: Report) -> None:
    """Report no test score."""
    model = report.folder / "model.txt"
    model.write_text("a model")
    report(score=config["x"] + 0.1 * config["fold"] + 0.01 * sin(config["x"] + config["seed"]), model=model)


@pytest.fixture(scope="module")
def with_folds(tmp_path_factory: pytest.TempPathFactory) -> StudyFolder:
    """A study of a function with three folds, and its ablation with two fresh seeds, so with six calls a trial."""
    space = {"axes": {"x": {"choice": [0, 1]}}, "base": {"x": 0}}
    search = {"proposer": "random", "trials": 2, "scheduler": "none", "replicates": {"fold": 3}}
    path = tmp_path_factory.mktemp("folds") / "study"
    folder = open_function(path, of_folds, {**space, "search": search}, epochs=1, seeds=1)
    run_function(folder, of_folds)
    ablate_function(folder, of_folds, seeds=2)
    return folder


def test_the_cost_of_an_ablation_with_folds_counts_the_calls_of_a_trial(with_folds: StudyFolder) -> None:
    record = whole_ablations(read_study(with_folds.path))[1]
    assert {len(trial.seeds) for trial in record.trials.values()} == {2 * 3}
    told = " ".join(render(ablated_report(record, ablated(record)), "text").split())
    assert "trained 2 trials with 3 folds of each of 2 partitions" in told


def test_the_card_of_a_function_without_test_scores_has_what_an_ablation_confirmed(
    with_folds: StudyFolder, tmp_path: Path
) -> None:
    record = read_study(with_folds.path)
    (bundle,) = export_bundles(record, with_folds, [record.best], tmp_path / "bundle", "cpu")
    best = record.ranked()[0]
    (again,) = (trial for trial in record.ablations[1].trials.values() if trial.config == best.config)
    card = (bundle / "README.md").read_text()
    assert "Nothing of this config is confirmed" not in card
    assert f"on what the function reports as score: score {fmean(again.dev.values()):.4g} ± " in card
    assert "the mean of 3 folds of each of 2 partitions and half" in card


def test_questions_of_one_kind_stand_in_the_order_of_the_axes() -> None:
    point: dict[str, JsonValue] = {}

    def role(kind: RoleKind, axis: str | None = None) -> Role:
        return Role(kind=kind, winner=None if kind == "base" else 7, axis=axis)

    rows = [
        [role("base")],
        [role("winner")],
        [role("without", DEPTH), role("alone", RATE)],  # the last axis is met before the second
        [role("without", "middle")],
        [role("without", RATE), role("alone", DEPTH)],
    ]
    trained = [TrainedRow(ListedRow(roles=tuple(roles), point=point), "", None) for roles in rows]
    assert [(each.kind, each.axis) for each, _ in questions(trained)] == [
        ("base", None),
        ("winner", None),
        *(("without", axis) for axis in (DEPTH, "middle", RATE)),
        *(("alone", axis) for axis in (DEPTH, RATE)),
    ]


def test_a_winner_of_one_change_asks_one_question(tmp_path: Path) -> None:
    record = ablation_of(tmp_path / "one change", [1, 3])
    assert [role.kind for role, _ in questions(trained_rows(record))] == ["base", "winner"]


@pytest.mark.parametrize("parts", [True, False])
def test_as_many_trials_are_foretold_as_a_path_of_four_changes_takes(parts: bool, tmp_path: Path) -> None:
    axes: dict[str, object] = {
        DEPTH: {"choice": [1]},
        RATE: {"choice": [0.01]},
        "model.stack.hidden": {"choice": [16]},
        "model.stack.dropout": {"choice": [0.1]},
    }
    record = planted(tmp_path / "study", axes, path=True, parts=parts)
    path = record.study.search.proposer
    assert isinstance(path, PathConfig)
    assert len(path.changes) == 4
    assert record.plan is not None
    assert len(record.trials) == most(path, record.plan.rows)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> StudyRecord:
    """The ablation of the two best of a grid whose base has depth 3, on two corpora."""
    axes: dict[str, object] = {
        DEPTH: {"choice": [1, 2, 3]},
        RATE: {"choice": [0.011, 0.02]},
        "model.stack.dropout": {"choice": [0.3, 0.5]},
    }
    return planted(tmp_path_factory.mktemp("two") / "study", axes, top=2, corpus=["own", "atis"])


def reached(record: StudyRecord, number: int | None) -> float:
    """On test, the mean over the seeds."""
    assert number is not None
    return fmean(record.trials[number].tested["test_accuracy"])


def test_the_mean_over_corpora_is_that_of_the_gains_on_each(two: StudyRecord) -> None:
    rows = ablated(two).rows
    means = [row for row in rows if row.corpus == "2 corpora, the mean"]
    gaps: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if row.corpus in ("own", "atis") and not row.is_reference:
            gap = reached(two, row.trial) - reached(two, row.reference)
            gaps.setdefault((row.section, row.label), []).append(gap)
    assert [(row.section, row.label) for row in means] == list(gaps)
    tests = [ttest_1samp(each, 0.0) for each in gaps.values()]
    corrected = multipletests([found.pvalue for found in tests], method="holm")[1]
    for row, each, found, p in zip(means, gaps.values(), tests, corrected, strict=True):
        assert row.gain is not None
        assert (row.gain.value, row.gain.corpora) == (pytest.approx(fmean(each)), 2)
        assert (row.gain.low, row.gain.high) == pytest.approx(tuple(found.confidence_interval(0.95)))
        assert (row.gain.p, row.p) == pytest.approx((found.pvalue, p))
        assert row.marked == (p < 0.05)
    depths = [row for row in means if row.label == "depth 1 beside 3"]
    assert {row.over for row in depths} == {"winner without it", "number 2 without it", "base"}
    for row in depths:  # taken out of the winner or put into the base, it helps
        assert row.gain is not None
        assert row.gain.value == pytest.approx((0.32 + 0.12) / 2, abs=0.02)  # as planted on either corpus


@pytest.mark.slow
def test_each_of_several_winners_is_taken_apart_from_itself(two: StudyRecord) -> None:
    assert two.plan is not None
    first, second = (role.winner for row in two.plan.rows for role in row.roles if role.kind == "winner")
    assert winners_in_words(two.plan) == f"The winner is trial {first} of the search, number 2 is trial {second}."
    rows = [row for row in ablated(two).rows if row.corpus == "own"]
    base, winner, number_two = rows[:3]
    assert [base.label, winner.label, number_two.label] == ["base", "winner", "number 2"]
    assert {winner.reference, number_two.reference} == {base.trial}
    assert {winner.over, number_two.over} == {"base"}
    for row in rows[3:]:
        after, before = row.label.split()[1::2]
        if row.taken_back:
            whole = winner if row.over == "winner without it" else number_two
            assert (row.trial, row.own) == (whole.trial, row.reference)
        else:
            assert (row.reference, row.own, row.over) == (base.trial, row.trial, "base")
        assert row.trial is not None
        assert row.reference is not None
        having, lacking = two.trials[row.trial].point, two.trials[row.reference].point
        assert (str(having[row.axis]), str(lacking[row.axis])) == (after, before)
        assert {**having, row.axis: None} == {**lacking, row.axis: None}
    assert len({row.section for row in rows[3:]}) == 4


@pytest.mark.slow
def test_a_change_that_two_winners_share_is_asked_once(two: StudyRecord) -> None:
    for corpus in ("own", "atis"):
        found = {
            (row.trial, row.reference): (row.gain.p, row.p)
            for row in ablated(two).rows
            if row.corpus == corpus and row.gain
        }
        alone, corrected = zip(*found.values(), strict=True)
        # Of 12 rows: both winners have another depth and another rate than the base. The tenth is the change that tells
        # the winners apart.
        assert len(found) == 10
        assert corrected == pytest.approx(multipletests(alone, method="holm")[1])
