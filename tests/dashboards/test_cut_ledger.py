"""A ledger whose last line was cut short by a crash: each command that reads the study says so, as `resume` does."""

from pathlib import Path

import pytest

from tests.command_line import typed
from tests.search.toy import open_toy, run_toy, toy_study


@pytest.fixture
def cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Two finished studies, the first with half an append at its end; returns the line about it."""
    monkeypatch.chdir(tmp_path)
    for name in ("done", "other"):
        run_toy(open_toy(tmp_path / name, toy_study(trials=3)))
    segment = max((tmp_path / "done" / "ledger").glob("*.jsonl"))
    with segment.open("ab") as file:
        file.write(b"0123abcd 99 [{")
    whole = segment.read_bytes().splitlines()[:-1]
    return (
        f"{segment.relative_to(tmp_path)}:{len(whole) + 1}: torn while it was written; cut, the study goes on before it"
    )


@pytest.mark.parametrize(
    "arguments",
    [["report", "done"], ["report", "done", "--format", "json"], ["compare", "done", "other"], ["simulate", "done"]],
    ids=" ".join,
)
def test_a_report_names_the_line_that_was_cut(arguments: list[str], cut: str) -> None:
    answer = typed(*arguments)
    assert answer.code == 0
    assert cut in " ".join((answer.out + answer.error).split())


def test_a_whole_ledger_is_not_spoken_of(cut: str) -> None:
    assert "torn" not in typed("report", "other").out
