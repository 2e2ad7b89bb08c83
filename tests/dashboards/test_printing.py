"""Reports as files: whole or not at all, in every format; and what has no place in a terminal stays out of it."""

import io
from pathlib import Path
from typing import get_args

import pandas as pd
import pytest

from skipstack.dashboards.pages.page import Numbers, Page, Report, Sentence
from skipstack.dashboards.pages.rendering import FileFormat, render
from skipstack.dashboards.report.printing import print_report
from skipstack.data.basis.errors import UserError

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
