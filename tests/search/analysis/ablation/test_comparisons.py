"""The rows of an ablation in words, each beside its reference, against what was written down by hand."""

import copy
from pathlib import Path
from typing import Any

import pytest

from skipstack.data.basis.frozen import canonical_json
from skipstack.search.analysis.ablation.comparisons import compared, in_words, means
from skipstack.search.analysis.ablation.labels import label, row_name
from skipstack.search.ledger.events import AblationPlanned, ListedRow, Role
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.spaces.space import Space
from tests.search.analysis.ablation.toys import made, planted
from tests.search.toy import open_toy, run_toy, toy_study

DEPTH, BATCH = "model.stack.depth", "training.batch_size"
AXES: dict[str, Any] = {DEPTH: {"choice": [1, 2, 3]}, BATCH: {"choice": [16, 32]}}
"""From a base of three layers and batches of one; the best have one layer, with batches of 16 and of 32."""

BESIDE = [
    ("base", ""),
    ("winner", "base"),
    ("number 2", "base"),
    ("without depth", "winner"),
    ("base + batch_size 16", "base"),
    ("without batch_size", "winner"),
    ("number 2 without batch_size", "number 2"),
    ("base + depth 1", "base"),
    ("number 2 without depth", "number 2"),
    ("base + batch_size 32", "base"),
]


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> StudyRecord:
    """An ablation of two winners over two corpora."""
    return planted(tmp_path_factory.mktemp("two") / "study", AXES, top=2, corpus=["own", "atis"])


def test_each_row_is_beside_each_of_its_references_once_on_each_corpus(two: StudyRecord) -> None:
    found = compared(two)
    assert [(each.row, each.reference) for each in found] == [*BESIDE, *BESIDE]
    assert [each.corpus for each in found] == ["grammar"] * len(BESIDE) + ["atis"] * len(BESIDE)
    trials = {each.numbers for each in found}
    assert len(trials) == len(found), "one trial beside one reference is one row, also as the change of two winners"
    parts = [each.row for each in found if each.trials[0].number == 4]
    assert parts == ["without batch_size", "number 2 without batch_size", "base + depth 1"], "a trial may play three"


def test_a_row_differs_from_its_reference_in_what_its_name_says(two: StudyRecord) -> None:
    by_name = {(each.row, each.corpus): each for each in compared(two)}
    for row, depth, batch in (
        ("base", 3, 1),
        ("winner", 1, 16),
        ("number 2", 1, 32),
        ("without depth", 3, 16),
        ("number 2 without batch_size", 1, 1),
        ("base + depth 1", 1, 1),
    ):
        for corpus in ("grammar", "atis"):
            point = by_name[row, corpus].trials[0].point
            assert (point[DEPTH], point[BATCH]) == (depth, batch), row
            for other in by_name[row, corpus].references:
                assert other is by_name[by_name[row, corpus].reference, corpus].trials[0]


def test_a_row_whose_depth_brings_a_shortcut_says_so(tmp_path: Path) -> None:
    tree = toy_study(9, "grid", epochs=1).model_dump(mode="json")
    tree["space"]["base"]["model"]["stack"] |= {"depth": 3, "composition": 2}
    run_toy(open_toy(tmp_path / "study", StudyConfig.model_validate(tree)))
    planned = made(tmp_path / "study").plan
    space = Space(StudyConfig.model_validate(tree).space)
    labels = [label(space, planned, role).name for row in planned.rows for role in row.roles if role.axis == DEPTH]
    assert labels == ["depth 1 beside 3 (without the shortcut into layer 3)"] * 2, "in the winner, and in the base"


def test_a_mean_has_a_trial_and_a_reference_on_each_corpus(two: StudyRecord) -> None:
    found = means(two)
    assert [(each.row, each.reference) for each in found] == BESIDE[1:]
    assert {each.corpus for each in found} == {"2 corpora, the mean"}
    (deeper,) = (each for each in found if each.row == "without depth")
    alone = [each for each in compared(two) if each.row == "without depth"]
    assert deeper.trials == tuple(each.trials[0] for each in alone)
    assert deeper.references == tuple(each.references[0] for each in alone)
    assert [trial.config.title for trial in deeper.trials] == ["grammar", "atis"]


def test_a_change_without_which_a_winner_is_another_one_is_measured_between_the_two(tmp_path: Path) -> None:
    rate = "training.optimiser.learning_rate"  # the base has 0.02, the best config 0.01, the next 0.02 again
    record = planted(tmp_path / "study", {DEPTH: {"choice": [1, 2, 3]}, rate: {"choice": [0.01, 0.02]}}, top=2)
    found = {(each.row, each.reference): each for each in compared(record)}
    change = found["without learning_rate", "winner"]
    assert change.taken_back
    assert change.trials == found["number 2", "base"].trials
    assert change.references == found["winner", "base"].trials
    assert sorted(reference for _, reference in found) == ["", "base", "base", "base", "winner", "winner"]


def test_a_round_without_the_rows_of_winners_has_the_names_of_the_whole_ablation(two: StudyRecord) -> None:
    whole = {(each.numbers, each.reference): each.label for each in compared(two)}
    assert two.plan is not None
    base, *others = two.plan.rows
    found = {}
    for row in others:
        part = copy.copy(two)
        part.plan = two.plan.model_copy(update={"rows": (base, row)})
        found |= {(each.numbers, each.reference): each.label for each in compared(part)}
    assert found == {place: each for place, each in whole.items() if place[1] in ("", "base")}


def test_what_is_no_row_is_named_by_its_changes(two: StudyRecord) -> None:
    points = {canonical_json(each.trials[0].point): each.trials[0].point for each in compared(two)}
    names = sorted({in_words(two, point) for point in points.values()})
    assert names[:3] == ["base", "base + batch_size 16", "base + batch_size 32"]
    assert "base + depth 1 + batch_size 32" in names


def test_several_changes_and_other_searches_have_names(two: StudyRecord) -> None:
    assert two.plan is not None
    best = two.plan.rows[1].roles[0].winner
    several = Role(kind="without_several", winner=best, axis="model.stack, training.batch_size")
    assert row_name(two.space, two.plan, several) == "without stack and batch_size"
    named = label(two.space, two.plan, several)
    assert (named.name, named.over) == ("all changes of stack and batch_size", "winner without them")
    beside = Role(kind="beside", winner=3, study="tagger")
    assert row_name(two.space, two.plan, beside) == "tagger, trial 3"
    assert (label(two.space, two.plan, beside).name, label(two.space, two.plan, beside).over) == (
        "the best of tagger",
        "winner",
    )


def test_a_change_is_named_alike_wherever_it_is_measured_and_its_run_says_what_was_trained(two: StudyRecord) -> None:
    called = {(each.row, each.reference): each.label for each in compared(two)}
    shown = {named: (label.name, label.over, label.run) for named, label in called.items()}
    assert shown["without depth", "winner"] == ("depth 1 beside 3", "winner without it", "depth 1: winner without it")
    assert shown["base + depth 1", "base"] == ("depth 1 beside 3", "base", "depth 1: base with it")
    assert shown["number 2 without depth", "number 2"] == (
        "depth 1 beside 3",
        "number 2 without it",
        "depth 1: number 2 without it",
    )
    assert shown["number 2", "base"] == ("number 2", "base", "number 2")
    assert shown["base", ""] == ("base", "", "base")


@pytest.mark.parametrize(("winners", "names"), [((3, 7), ["number 2", "winner"]), ((), ["winner", "number 2"])])
def test_the_best_is_the_winner_also_where_the_next_is_the_base_whose_row_comes_first(
    two: StudyRecord, winners: tuple[int, ...], names: list[str]
) -> None:
    roles = [Role(kind="winner", winner=number) for number in (7, 3)]
    rows = (ListedRow(roles=(Role(kind="base"), roles[0]), point={}), ListedRow(roles=(roles[1],), point={}))
    planned = AblationPlanned(time=0.0, rows=rows, winners=winners)
    assert [row_name(two.space, planned, role) for role in roles] == names
