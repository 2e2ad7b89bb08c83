"""Reports as files: whole or not at all, in every format; how wide text is; what has no place in a terminal."""

import io
import re
import shlex
from pathlib import Path
from typing import get_args

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from skipstack.dashboards.formats.fitting import fitted
from skipstack.dashboards.formats.page import Cell, Column, Numbers, Page, Report, Sentence, Table, TableRow
from skipstack.dashboards.formats.rendering import FileFormat, render
from skipstack.dashboards.reports.confirmation.ablated_report import ablated_report
from skipstack.dashboards.reports.confirmation.ablation_plan import ablation_page
from skipstack.dashboards.reports.printing import print_page, print_report
from skipstack.data.basis.errors import UserError
from skipstack.search.analysis.confirmation.ablated import ablated
from skipstack.search.analysis.confirmation.forecast import Forecast, Resolution
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.reading import read_study
from tests.command_line import typed
from tests.search.analysis.ablation.toys import made, planted
from tests.search.made_up import history, study

RECORDS: list[Numbers] = [
    {"axis": "a", "count": 1, "share": 0.1, "leads": True, "none": None, "mixed": 1},
    {"axis": "ß", "count": None, "share": None, "leads": None, "none": None, "mixed": 0.5},
]
REPORT = Report(
    page=Page("title", ((Sentence("sentence \udc80"),),)),
    content={"rows": 2},
    records=RECORDS,
    names=list(RECORDS[0]),
)


@pytest.mark.parametrize("form", get_args(FileFormat))
def test_a_file_takes_the_place_of_the_one_before_as_a_whole(tmp_path: Path, form: FileFormat) -> None:
    out = tmp_path / "report"
    out.write_text("before")
    (link := tmp_path / "link").symlink_to(out)
    print_report(REPORT, form, link)
    assert sorted(tmp_path.iterdir()) == [link, out]
    assert link.is_symlink()
    if form != "parquet":
        assert out.read_text() == render(REPORT, form, width=80).replace("\udc80", "\\udc80")


def test_parquet_has_the_rows_of_the_csv_with_their_types(tmp_path: Path) -> None:
    print_report(REPORT, "parquet", tmp_path / "out.parquet")
    frame = pd.read_parquet(tmp_path / "out.parquet")
    csv = pd.read_csv(io.StringIO(render(REPORT, "csv")))
    assert list(frame) == list(csv) == list(REPORT.names)
    assert frame["axis"].tolist() == ["a", "ß"]
    assert frame["share"].tolist() == pytest.approx([0.1, float("nan")], nan_ok=True)
    assert frame["mixed"].tolist() == [1.0, 0.5]
    assert frame["leads"].tolist() == [True, None]
    assert frame["none"].isna().all()
    with pytest.raises(UserError, match=r"--format parquet: got no file for it \(allowed: with --out FILE\)"):
        print_report(REPORT, "parquet")


@pytest.mark.parametrize(
    ("place", "why"),
    [("", "is no file"), ("missing/out", "No such file"), ("file/out", "Not a directory"), ("n" * 300, "too long")],
)
def test_a_file_that_cannot_be_written_is_refused_in_one_line(tmp_path: Path, place: str, why: str) -> None:
    (tmp_path / "file").write_text("before")
    with pytest.raises(UserError, match=why) as refused:
        print_report(REPORT, "text", tmp_path / place)
    assert "\n" not in str(refused.value)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


TOPOLOGIES = {"model.stack.shortcut.topology": {"choice": ["block", "hidden_gated", "both_gated", "block_no_output"]}}
RATE = "training.optimiser.learning_rate"
LONG = {
    "model.stack.depth": {"choice": [1, 3]},
    RATE: {"choice": [0.0123, 0.0234]},
}


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A search, a grid, and two studies with ablations of two winners on two corpora, in folders with long names."""
    folder = tmp_path_factory.mktemp("studies-in-a-folder-with-a-long-name")
    searches = {"searched": study(trials=30), "grid": study(TOPOLOGIES, proposer="grid", scheduler="none")}
    for name, config in searches.items():
        with Ledger(folder / name / "ledger") as ledger:
            ledger.append(*history(config))
    for name in ("ablated", "other"):
        planted(folder / name, LONG, top=2, corpus=["own", "atis"], path=True)
    return {name: folder / name for name in (*searches, "ablated", "other")}


def printed(command: str, studies: dict[str, Path]) -> str:
    """What a command prints where nobody looks; of a preset without its study file, which is a file of its own."""
    answer = typed(*(studies.get(word, word) for word in shlex.split(command)))
    assert (answer.code, answer.error) == (0, "")
    return answer.out.partition("the study file of this preset")[0]


COMMANDS = (
    *("report searched", "report ablated --confirmed --randomise", "compare ablated other"),
    *("report grid --confirmed", "report grid --against wu2017/table-2", "compare searched grid"),
    *("simulate searched", "spaces", "spaces wu2017/topologies", "data list"),
)


@pytest.mark.first(1)
@pytest.mark.parametrize("command", COMMANDS)
def test_no_line_is_wider_than_a_page_where_no_terminal_shows_it(command: str, studies: dict[str, Path]) -> None:
    text = printed(command, studies)
    assert max(map(cell_len, text.splitlines())) <= 80
    assert "…" not in text


def test_what_an_ablation_says_fits_with_all_columns(
    studies: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path = studies["ablated"]
    record = read_study(path).ablations[1]
    found = ablated(record)
    resolution = Resolution(smallest=0.0012, as_searched=0.0009, needed=None, sentences=12_345, questions=6)
    expected = Forecast(trials=14, most=18, seeds=3, searched=2, seconds=(1_000.0, 9_000.0), resolution=resolution)
    print_page(ablation_page(made(path, top=2, corpus=["own", "atis"], path=True), expected, record.measure))
    print_report(report := ablated_report(record, found), full=True)
    text = capsys.readouterr().out
    assert max(map(cell_len, text.splitlines())) <= 80
    assert text.startswith("toy, ablation 2")
    assert "left out at" not in text
    assert re.search(r"^[* ] learning_rate \S+ .*[+-]\d\.\d\d ± ", text, re.MULTILINE)
    assert re.search(r"\| learning\\_rate \S+ beside \S+ \|", render(report, "markdown"))
    told = " ".join(text.split())
    assert "±: half of its interval over 3 seeds and 40 sentences" in told
    assert "(of a mean, over 2 corpora)" in told
    assert "corrected for the rows of a corpus together, and for the means together (Holm)" in told
    assert "On 2 corpora, the mean: the winner is not shown to differ from the base" in told


def test_a_label_goes_on_in_a_second_line_before_a_column_goes() -> None:
    cells = (Cell("1" * 10), Cell("2" * 10))
    row = TableRow(names=("",), label="learning_rate: 0.01 → 0.02", cells=cells)
    table = Table(names=("",), columns=(Column("one"), Column("two")), rows=(row,), optional=("two",), tight=True)
    found = {width: fitted(table, width) for width in range(37, 53)}
    assert {width: (len(each.shown), each.gap, each.label) for width, each in found.items()} == {
        37: (1, 1, 24),
        **{width: (2, 1, width - 24) for width in range(38, 50)},  # 14, as long as the longest word, and more
        50: (2, 1, 26),
        51: (2, 1, 26),
        52: (2, 2, 26),
    }


@given(st.lists(st.integers(1, 20), min_size=1, max_size=9), st.integers(1, 40), st.integers(20, 120), st.booleans())
def test_columns_go_before_they_run_into_each_other(widths: list[int], label: int, width: int, tight: bool) -> None:
    columns = tuple(Column(f"{place}".rjust(each, "c")) for place, each in enumerate(widths))
    row = TableRow(names=("",), label="x" * label, cells=tuple(Cell("1") for _ in widths))
    found = fitted(Table(names=("",), columns=columns, rows=(row,), tight=tight), width)
    assert found.total <= width or len(found.shown) == 1
    assert found.shown == tuple(range(len(found.shown))), "the last ones go"
    assert found.widths == tuple(widths[: len(found.shown)])
    assert len(found.shown) == len(widths) or found.total + found.gap + widths[len(found.shown)] > width


def test_columns_of_the_environment_is_how_wide_a_page_is(
    studies: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command, out = "report grid --against wu2017/table-2", tmp_path / "out"
    for asked, width in (("many", 80), ("60", 60), ("140", 140)):
        monkeypatch.setenv("COLUMNS", asked)
        text = printed(f"{command} --out {shlex.quote(str(out))}", studies) or out.read_text()
        assert text == printed(command, studies)
        assert width - 25 < max(map(cell_len, text.splitlines())) <= width
        assert ("left out at this width" in text) == (width < 140)
