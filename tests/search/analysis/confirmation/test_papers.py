"""The papers' figures, read as printed."""

import re
from pathlib import Path

import pytest

from skipstack.data.basis.errors import UserError
from skipstack.search.analysis.confirmation.papers import Paper, PaperRow, find_table, papers, read_paper, tables
from skipstack.search.study.study_files.document import presets
from skipstack.spaces.paths import trial_paths


def test_the_tables_of_wu2017_are_there() -> None:
    assert [name for name in tables() if name.startswith("wu2017/")] == [f"wu2017/table-{n}" for n in range(1, 7)]
    assert papers()["wu2017"].title.endswith("Shortcut Sequence Tagging")


def test_the_tables_of_chen2017_are_there_and_those_of_several_corpora_by_corpus() -> None:
    names = ["3", "4-ctb", "4-pku", "4-ncc", "5", "7"]
    assert [name for name in tables() if name.startswith("chen2017/")] == [f"chen2017/table-{name}" for name in names]


@pytest.mark.parametrize(
    ("name", "rows", "ours"),
    [
        ("wu2017/table-1", 11, 4),
        ("wu2017/table-2", 15, 15),
        ("wu2017/table-3", 7, 7),
        ("wu2017/table-4", 5, 5),
        ("wu2017/table-5", 8, 8),
        ("wu2017/table-6", 8, 3),
        ("chen2017/table-3", 11, 11),
        ("chen2017/table-4-ctb", 5, 3),
        ("chen2017/table-4-pku", 5, 3),
        ("chen2017/table-4-ncc", 4, 3),
        ("chen2017/table-5", 12, 2),
        ("chen2017/table-7", 4, 3),
    ],
)
def test_a_table_has_the_rows_of_the_paper(name: str, rows: int, ours: int) -> None:
    table = find_table(name)
    assert len(table.rows) == rows
    assert sum(row.has is not None for row in table.rows) == ours
    assert len({row.label for row in table.rows}) == rows
    for row in table.rows:
        assert (row.dev is None) == (name == "wu2017/table-6" or name.startswith("chen2017/"))
        assert row.test is not None
        assert set(row.has or {}) <= set(trial_paths())


# Dev and test of each row, copied from the paper once more, column by column.
PRINTED: dict[str, tuple[list[float | None], list[float]]] = {
    "wu2017/table-1": (
        [91.5, 91.3, 94.1, 93.1, 93.49, 94.24, 94.55, 94.74, 94.82, 94.66, 94.73],
        [92.0, 91.6, 94.3, 93.0, 93.52, 94.5, 94.69, 94.95, 94.99, 94.86, 94.97],
    ),
    "wu2017/table-2": (
        [94.51, *2 * [93.84], *2 * [94.72], *2 * [94.49], *2 * [94.72], 94.74, 94.15, 94.77, 94.68, 93.83, 93.58],
        [94.67, *2 * [93.84], *2 * [95.08], *2 * [94.62], *2 * [94.98], 94.95, 94.29, 94.97, 94.83, 94.01, 93.82],
    ),
    "wu2017/table-3": (
        [94.60, 92.07, 94.79, 94.21, 94.60, 91.12, 93.90],
        [94.81, 92.15, 94.91, 94.56, 94.78, 91.47, 94.06],
    ),
    "wu2017/table-4": ([94.22, 94.79, 94.53, 94.55, 94.76], [94.38, 94.94, 94.80, 94.70, 94.95]),
    "wu2017/table-5": (
        [94.74, 93.96, 94.27, 94.52, 92.17, 93.59, 94.21, 94.43],
        [94.95, 94.06, 94.81, 94.71, 93.0, 93.71, 94.41, 94.75],
    ),
    "wu2017/table-6": ([None] * 8, [97.5, 97.36, 97.78, 97.4, 97.48, 97.48, 97.53, 97.51]),
    # F, the third column of each three; Table 3 without the corner that it leaves empty.
    "chen2017/table-3": ([None] * 11, [89.45, 89.63, 88.7, 89.53, 89.68, 88.76, 88.83, 89.12, 90.24, 89.55, 90.39]),
    "chen2017/table-4-ctb": ([None] * 5, [90.37, 89.13, 87.69, 89.56, 90.39]),
    "chen2017/table-4-pku": ([None] * 5, [89.56, 88.99, 87.98, 89.68, 90.16]),
    "chen2017/table-4-ncc": ([None] * 4, [87.58, 85.73, 87.53, 88.76]),
    "chen2017/table-5": (
        [None] * 12,
        [93.05, 91.34, 93.41, 93.67, 93.67, 94.02, 93.53, 93.31, 93.8, 91.82, 92.83, 94.04],
    ),
    "chen2017/table-7": ([None] * 4, [85.24, 84.06, 85.13, 85.31]),
}


@pytest.mark.parametrize("name", PRINTED)
def test_the_figures_are_those_of_the_paper(name: str) -> None:
    rows = find_table(name).rows
    assert ([row.dev for row in rows], [row.test for row in rows]) == PRINTED[name]


def test_precision_and_recall_have_the_f1_that_is_printed_beside_them() -> None:
    both = [row for table in papers()["chen2017"].tables.values() for row in table.rows if row.precision and row.recall]
    assert len(both) == 11 + 5 + 5 + 4 + 7 + 4
    for row in both:
        assert row.precision is not None
        assert row.recall is not None
        assert 2 / (1 / row.precision + 1 / row.recall) == pytest.approx(row.test, abs=0.011), row.label


def test_the_figures_of_other_authors_in_the_lecture() -> None:
    shown = papers()["collins"].others
    assert [row.test for row in shown["parser"].rows] == [95.75]
    perplexities = [67.6, 79.9, 87.9, 243.2, 127.5, 115.4, 107.1, 101.3, 58.3, 54.5, 51.3]
    billions = [1.76, 1.74, 1.13, 0.03, 0.03, 1.13, 1.8, 6, 20, 20, 20]
    assert [row.test for row in shown["table-1"].rows] == perplexities
    assert [row.size for row in shown["table-1"].rows] == [1000 * size for size in billions]


def test_the_sizes_of_gui2019_are_those_of_its_table_3() -> None:
    sizes = [row.size for row in find_table("gui2019/table-3").rows]
    assert sizes == [6, 7, 6, 20, 20, 20, 20, 20, 20, 20, 20, 19, 19, 19, 19, 19]


OF_DINARELLI = {
    "table-3": [93.65, 93.77, 94.98, 93.41, 93.61, 93.84, 93.74],
    "table-3-classes": [96.16, 95.23, 96.04, 96.24, 95.16, 94.73, 94.94, 95.21, 94.84],
    "table-4": [81.94, 83.25, 86.00, 82.64, 83.06, 84.91, 84.58],
    "table-5": [97.00, 96.31, 96.31, 96.42, 96.28],
}


@pytest.mark.parametrize("name", OF_DINARELLI)
def test_the_figures_of_dinarelli2016_are_those_of_the_paper(name: str) -> None:
    table = find_table(f"dinarelli2016/{name}")
    assert [row.test for row in table.rows] == OF_DINARELLI[name]
    assert all(row.dev is None for row in table.rows)
    ours = [row.has["model.stack.variant"] for row in table.rows if row.has is not None]
    assert ours == ["e", "j", "i", "i_and_e"]
    assert table.base.has == {"model.stack.variant": "i"}


def test_an_unknown_table_is_told_with_the_nearest() -> None:
    told = r"unknown table 'wu2017/table2' \(nearest: 'wu2017/table-2'; allowed: .*wu2017/table-1, "
    with pytest.raises(UserError, match=told):
        find_table("wu2017/table2")


BASE = "{label: b, dev: 1, has: {model.stack.depth: 3}, base: true}"


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("[{label: a, dev: 1}]", "own.yaml:3: tables.t: got 0 base rows"),
        (f"[{BASE}, {BASE}]", "own.yaml:3: tables.t: got 2 base rows"),
        ("[{label: a, dev: 1, base: true}]", "own.yaml:3: tables.t: got a base row"),
        (f"[{BASE}, {{label: a, dev: -1}}]", "own.yaml:6: tables.t.rows.1.dev: got -1"),
        (f"[{BASE}, {{label: a}}]", "own.yaml:6: tables.t.rows.1: "),
        (f"[{BASE}, {{label: a, dev: 1, has: {{model.stack.dpth: 3}}}}]", "own.yaml:6: tables.t.rows.1"),
    ],
)
def test_a_mistake_in_the_data_is_told_with_its_line(tmp_path: Path, rows: str, told: str) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(f"title: x\ntables:\n  t:\n    title: y\n    preset: quickstart\n    rows: {rows}\n")
    with pytest.raises(UserError, match="^" + re.escape(told)):
        read_paper(path)


def test_no_figure_is_below_nothing() -> None:
    assert PaperRow(label="a", test=0.0).test == 0.0


def test_a_paper_survives_json() -> None:
    for paper in papers().values():
        assert Paper.model_validate_json(paper.model_dump_json()) == paper


def test_what_else_a_paper_shows_has_a_study_or_says_why_there_is_none() -> None:
    for paper in papers().values():
        for each in paper.others.values():
            assert (each.preset in presets()) != bool(each.why), each.title
