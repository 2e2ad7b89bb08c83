"""The best configs of other searches beside the winner of one."""

import shutil
from pathlib import Path

import pytest

from skipstack.dashboards.confirmed.verdict import verdict_of
from skipstack.data.basis.errors import UserError
from skipstack.search.ablation.trained import trained_rows
from skipstack.search.confirmation.ablated import ablated
from skipstack.search.study.records.reading import read_study
from tests.search.ablation.toys import PlantedWorker, beginning, grid_search, made, run_ablation

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
    """Its difference is that of their planted scores, to the last bit: 23 of 25 tags with one layer, 15 with three."""
    path = shutil.copytree(studies / "deep", tmp_path / "deep")
    others = [read_study(studies / "flat")]
    planned = made(path, beside=others, parts=False, seeds=4)
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
    assert of_winner.difference is not None
    assert of_beside.difference is not None
    assert of_winner.difference.value == pytest.approx(_mean(winner.test) - _mean(base.test), abs=1e-12)
    assert of_beside.difference.value == pytest.approx(_mean(beside.test) - _mean(winner.test), abs=1e-12)
    assert of_beside.section == f"the best of another search, measured from winner, trial {best['deep'].number}"
    assert of_beside.label == f"flat, trial {best['flat'].number}"
    assert of_beside.marked
    assert verdict_of(record, ablated(record)).count("the best of flat is ahead of the winner") == 1


def test_with_parts_the_winner_is_taken_apart_and_what_stands_beside_it_is_not(studies: Path) -> None:
    planned = made(studies / "deep", beside=[read_study(studies / "flat")])
    kinds = [role.kind for row in planned.settled.rows for role in row.roles]
    assert kinds.count("beside") == 1
    assert {role.axis for row in planned.settled.rows for role in row.roles if role.kind == "alone"} <= {DEPTH, RATE}
    without = made(studies / "deep")
    assert [row.point for row in planned.settled.rows if row.roles[0].kind != "beside"] == [
        row.point for row in without.settled.rows
    ]


def test_the_same_config_found_twice_is_one_row(studies: Path) -> None:
    planned = made(studies / "deep", beside=[read_study(studies / "deep")], parts=False)
    assert [[role.kind for role in row.roles] for row in planned.settled.rows] == [["base"], ["winner", "beside"]]


@pytest.mark.parametrize(
    ("axes_of_other", "depth", "said"),
    [
        (
            axes([1], [0.01]),
            5,
            "--beside: the base of other has 5 at model.stack.depth (allowed: a search with the base ",
        ),
        (
            {DEPTH: {"choice": [1, 3]}},
            3,
            f"--beside: only one of deep and other varies {RATE} (allowed: searches of the ",
        ),
    ],
)
def test_searches_of_other_networks_are_refused(
    studies: Path, tmp_path: Path, axes_of_other: dict[str, object], depth: int, said: str
) -> None:
    other = searched(tmp_path / "other", axes_of_other, depth=depth)
    with pytest.raises(UserError) as raised:
        made(studies / "deep", beside=[read_study(other)])
    assert str(raised.value).startswith(said)


def _mean(scores: dict[int, float]) -> float:
    return sum(scores.values()) / len(scores)
