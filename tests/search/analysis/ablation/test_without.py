"""A winner without several of its changes at once, as a row of an ablation."""

from pathlib import Path

import pytest

from skipstack.dashboards.reports.verdict import in_a_sentence
from skipstack.data.basis.errors import UserError
from skipstack.search.analysis.ablation.trained import trained_rows
from skipstack.search.analysis.confirmation.ablated import ablated
from skipstack.search.analysis.verdict.of_study import of_table
from skipstack.search.study.record.reading import read_study
from tests.search.analysis.ablation.toys import grid_search, made, planted

DEPTH, HIDDEN, RATE = "model.stack.depth", "model.stack.hidden", "training.optimiser.learning_rate"
AXES: dict[str, object] = {DEPTH: {"choice": [1]}, HIDDEN: {"choice": [3]}, RATE: {"choice": [0.03]}}


@pytest.mark.parametrize("parts", [False, True])
def test_the_row_is_measured_from_the_winner_and_told(tmp_path: Path, parts: bool) -> None:
    """One layer gets 23 of 25 tags right on test; three layers, which the base has, 15. With ``parts`` the row is that
    of the rate alone, too.
    """
    record = planted(tmp_path / "study", AXES, without=("model.stack",), parts=parts, seeds=4)
    by_role = {role.kind: row for row in trained_rows(record) for role in row.row.roles}
    best = read_study(tmp_path / "study").ranked()[0]
    assert by_role["without_several"].row.point == {DEPTH: 3, HIDDEN: 8, RATE: best.point[RATE]}
    found = ablated(record)
    (row,) = (row for row in found.rows if row.axis == "model.stack")
    assert (row.section, row.label) == ("several changes in the winner, together", "all changes of stack")
    assert row.over == "winner without them"
    means = {kind: sum(each.trial.test.values()) / 4 for kind, each in by_role.items() if each.trial is not None}
    assert row.gain is not None
    assert row.gain.value == pytest.approx(means["winner"] - means["without_several"], abs=1e-12)
    assert row.helps
    verdict = in_a_sentence(of_table(record, found))
    assert verdict.count("all changes of stack together help, +") == 1


@pytest.mark.parametrize("paths", ["model.stak", f"{RATE}, model.stak"])
def test_where_nothing_was_changed_is_refused_with_the_changes(tmp_path: Path, paths: str) -> None:
    folder = grid_search(tmp_path / "study", AXES)
    with pytest.raises(UserError) as raised:
        made(folder, without=(paths,))
    changed = f"{DEPTH}, {HIDDEN}, {RATE}"
    assert str(raised.value) == f"--without: unknown change 'model.stak' (nearest: '{DEPTH}'; allowed: {changed})"


def test_a_change_that_is_taken_back_alone_anyway_is_one_row(tmp_path: Path) -> None:
    planned = made(grid_search(tmp_path / "study", AXES), without=(DEPTH,))
    roles = [[role.kind for role in row.roles] for row in planned.plan.rows]
    assert roles.count(["without", "without_several"]) == 1
