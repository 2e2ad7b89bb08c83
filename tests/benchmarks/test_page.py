"""The page of benchmarks: it is what its file makes, and a benchmark that is run renews its own rows."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.benchmarks import page as module
from tests.benchmarks.page import PAGE, Figure, kept, page, record
from tests.benchmarks.questions import QUESTIONS

ROW = Figure(
    question="chain",
    row="decoding",
    unit="ms",
    values={"ours": 2.0, "theirs": [4.0, 1234.0]},
    date="2030-01-01",
    hardware="a machine",
    versions={"torch": "3"},
)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file of two rows, and what becomes of it."""
    monkeypatch.setattr(module, "FIGURES", tmp_path / "figures.json")
    monkeypatch.setattr(module, "PAGE", tmp_path / "page.md")
    rows = [{**_plain(ROW)}, {**_plain(replace(ROW, row="loss"))}]
    (tmp_path / "figures.json").write_text(json.dumps(rows))
    return tmp_path


def _plain(figure: Figure) -> dict[str, object]:
    return {name: getattr(figure, name) for name in Figure.__dataclass_fields__}


def test_the_page_is_what_was_measured_last() -> None:
    assert PAGE.read_text() == page(kept()), "write it anew with `python -m tests.benchmarks.page`"


def test_every_benchmark_answers_a_question_and_every_question_has_a_benchmark() -> None:
    files = {path.stem.removeprefix("test_"): path.read_text() for path in Path(__file__).parent.glob("test_*.py")}
    marked = {name for name, text in files.items() if "pytest.mark.benchmark" in text}
    others = {"page", "schedulers"}  # this file, and one that has a page of its own
    assert {question.benchmark for question in QUESTIONS.values()} == marked - others


def test_a_benchmark_renews_its_own_rows_in_their_places(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record("chain", {"decoding": {"ours": 3.14159}, "new": {"ours": 12345.6}}, "ms")
    decoding, loss, new = kept()
    assert (decoding.row, decoding.values, loss) == ("decoding", {"ours": 3.142}, replace(ROW, row="loss"))
    assert (new.row, new.values) == ("new", {"ours": 12350.0})
    assert decoding.date > "2026"
    assert decoding.versions["torch"]
    assert (files / "page.md").read_text() == page(kept())
    assert "chain: decoding, ms: ours 3.14 (it was 2)" in capsys.readouterr().out


def test_a_question_that_nobody_asks_is_refused(files: Path) -> None:
    with pytest.raises(KeyError, match="chains"):
        record("chains", {"decoding": {"ours": 1.0}}, "ms")
    assert not (files / "page.md").exists()


def test_rows_of_other_units_and_runs_are_told_apart() -> None:
    other = replace(ROW, row="ratio", unit="times", values={"ours": 0.123456}, date="2030-01-02", load=3)
    made = page([ROW, other])
    assert "|  | ours | theirs | unit | run |\n|---|---:|---:|---|---|\n" in made
    assert "| decoding | 2 | 4 to 1,234 | ms | a |\n| ratio | 0.123 |  | times | b |\n" in made
    assert "- a: 2030-01-01, a machine, torch 3\n- b: 2030-01-02, a machine, torch 3, load 3\n" in made
    assert "| ms | ours | theirs |\n" in page([ROW])
    assert "- 2030-01-01, a machine, torch 3\n" in page([ROW])
    assert "Not measured by this version yet." in page([ROW])
