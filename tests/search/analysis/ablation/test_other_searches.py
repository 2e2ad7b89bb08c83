"""The best configs of other searches beside the winner of one."""

import shutil
from pathlib import Path

import pytest

from skipstack.dashboards.reports.verdict import in_a_sentence
from skipstack.data.basis.errors import UserError
from skipstack.search.analysis.ablation.other_searches import searches_beside
from skipstack.search.analysis.ablation.trained import trained_rows
from skipstack.search.analysis.confirmation.ablated import ablated
from skipstack.search.analysis.verdict.of_study import of_table
from skipstack.search.study.record.reading import read_study
from skipstack.spaces.space import Space
from tests.search.analysis.ablation.toys import PlantedWorker, beginning, grid_search, made, run_ablation

DEPTH, RATE = "model.stack.depth", "training.optimiser.learning_rate"


def searched(path: Path, axes: dict[str, object], *, depth: int = 3) -> Path:
    """A grid over these axes, named as its folder is."""
    return grid_search(path, axes, depth=depth, name=path.name)


def axes(depths: list[int], rates: list[float]) -> dict[str, object]:
    return {DEPTH: {"choice": depths}, RATE: {"choice": rates}}


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``deep`` has three layers or five, ``flat`` has one; made once."""
    folder = tmp_path_factory.mktemp("studies")
    searched(folder / "deep", axes([3, 5], [0.01, 0.02]))
    searched(folder / "flat", axes([1], [0.01, 0.03]))
    return folder


def test_what_another_search_found_is_a_row_beside_the_winner(studies: Path, tmp_path: Path) -> None:
    """Its gain is that of their planted scores, to the last bit: 23 of 25 tags with one layer, 15 with three."""
    path = shutil.copytree(studies / "deep", tmp_path / "deep")
    planned = made(path, beside=searches_beside([studies / "flat"]), parts=False, seeds=4)
    record = run_ablation(path, planned.number, beginning(path, planned), worker=PlantedWorker)
    best = {name: read_study(studies / name).ranked()[0] for name in ("deep", "flat")}
    roles = [[(role.kind, role.study, role.winner) for role in row.row.roles] for row in trained_rows(record)]
    assert roles == [
        [("base", None, None)],
        [("winner", None, best["deep"].number)],
        [("beside", "flat", best["flat"].number)],
    ]
    base, winner, beside = (row.trial for row in trained_rows(record))
    assert base is not None
    assert winner is not None
    assert beside is not None
    assert (winner.config, beside.config) == (best["deep"].config, best["flat"].config)
    assert base.seeds == winner.seeds == beside.seeds
    assert not {*beside.seeds} & {*best["flat"].seeds, *best["deep"].seeds}
    _, of_winner, of_beside = ablated(record).rows
    assert of_winner.gain is not None
    assert of_beside.gain is not None
    assert of_winner.gain.value == pytest.approx(_mean(winner.test) - _mean(base.test), abs=1e-12)
    assert of_beside.gain.value == pytest.approx(_mean(beside.test) - _mean(winner.test), abs=1e-12)
    assert (of_beside.section, of_beside.label) == ("the best of other searches", "the best of flat")
    assert of_beside.over == "winner"
    assert of_beside.helps
    assert in_a_sentence(of_table(record, ablated(record))).count("the best of flat is ahead of the winner") == 1


def test_with_parts_the_winner_is_taken_apart_and_what_stands_beside_it_is_not(studies: Path) -> None:
    planned = made(studies / "deep", beside=searches_beside([studies / "flat"]))
    kinds = [role.kind for row in planned.plan.rows for role in row.roles]
    assert kinds.count("beside") == 1
    assert {role.axis for row in planned.plan.rows for role in row.roles if role.kind == "alone"} <= {DEPTH, RATE}
    without = made(studies / "deep")
    assert [row.point for row in planned.plan.rows if row.roles[0].kind != "beside"] == [
        row.point for row in without.plan.rows
    ]


def test_the_same_config_found_twice_is_one_row(studies: Path) -> None:
    planned = made(studies / "deep", beside=searches_beside([studies / "deep"]), parts=False)
    assert [[role.kind for role in row.roles] for row in planned.plan.rows] == [["base"], ["winner", "beside"]]


def test_a_search_may_vary_fewer_axes_and_its_config_is_the_one_that_is_trained(studies: Path, tmp_path: Path) -> None:
    """Depth and rate are varied by one, by the other the rate alone: its best has the base's depth."""
    other = searched(tmp_path / "rates", {RATE: {"choice": [0.005, 0.03]}})
    planned = made(studies / "deep", beside=searches_beside([other]), parts=False)
    (row,) = (row for row in planned.plan.rows if row.roles[0].kind == "beside")
    best = read_study(other).ranked()[0]
    assert Space(planned.study.space).config(row.point) == best.config
    assert row.point == {DEPTH: 3, **best.point}


@pytest.mark.parametrize(
    ("axes_of_other", "depth", "said"),
    [
        (
            axes([1], [0.01]),
            5,
            "--beside: the base of other has 5 at model.stack.depth (allowed: a search with the base ",
        ),
        (
            {"model.stack.hidden": {"choice": [3]}},
            3,
            "--beside: other, trial 0, has 3 at model.stack.hidden (allowed: 8, since the study that is ablated ",
        ),
    ],
)
def test_searches_of_other_networks_are_refused(
    studies: Path, tmp_path: Path, axes_of_other: dict[str, object], depth: int, said: str
) -> None:
    other = searched(tmp_path / "other", axes_of_other, depth=depth)
    with pytest.raises(UserError) as raised:
        made(studies / "deep", beside=searches_beside([other]))
    assert str(raised.value).startswith(said)


def test_rows_are_called_after_folders_and_by_their_paths_where_two_are_called_alike(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("a/random", "b/random", "tpe")]
    for folder in folders:
        grid_search(folder, axes([1], [0.01]), name="tagger")
    assert list(searches_beside(folders)) == [str(folders[0]), str(folders[1]), "tpe"]


def _mean(scores: dict[int, float]) -> float:
    return sum(scores.values()) / len(scores)
