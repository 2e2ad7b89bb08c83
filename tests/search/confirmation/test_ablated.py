"""What an ablation asks of its rows, by hand."""

from pathlib import Path

from pydantic import JsonValue

from skipstack.search.ablation.trained import TrainedRow, trained_rows
from skipstack.search.config import StudyConfig
from skipstack.search.confirmation.ablated import ablated, questions
from skipstack.search.ledger.roles import ListedRow, Role, RoleKind
from skipstack.search.study.records.study_record import StudyRecord
from tests.search.ablation.toys import beginning, made, run_ablation
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
    assert [row.is_reference for row in ablated(record).rows] == [True, False, False, False, False, False]


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
