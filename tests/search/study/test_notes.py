"""Notes on a study and its trials, and other titles of a study, where no process runs it."""

from pathlib import Path

import pytest

import skipstack
from skipstack.data.basis.errors import UserError
from skipstack.search.api import asking, run
from skipstack.search.api.options import Execution
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.record.requests import Requests
from tests.command_line import refusal, typed
from tests.search.toy import open_toy, run_toy, toy_study


@pytest.fixture
def finished(tmp_path: Path) -> StudyFolder:
    folder = open_toy(tmp_path / "study", toy_study(3))
    run_toy(folder)
    return folder


def test_the_last_note_and_the_last_title_hold_and_change_no_result(finished: StudyFolder) -> None:
    before = skipstack.open(finished.path)
    assert typed("note", finished.path, "first thoughts").code == 0
    assert typed("note", finished.path, "later thoughts").code == 0
    assert typed("note", finished.path, "noisy", "--trial", 2).code == 0
    assert typed("rename", finished.path, "Warm-up \n of the week").code == 0
    after = skipstack.open(finished.path)
    assert after.finished
    assert after.trials().equals(before.trials())
    assert after.record.study.note == "later thoughts"
    assert [trial.note for trial in after.record.trials.values()] == ["", "", "noisy"]
    assert after.record.study.title == "Warm-up of the week"
    assert after.record.study.name == before.record.study.name
    said = typed("report", finished.path).out
    assert said.startswith("Warm-up of the week")
    assert "Note: later thoughts." in said
    after.note("")
    after.note("", trial=2)
    again = read_study(finished.path)
    assert (again.study.note, again.trials[2].note) == ("", "")


@pytest.mark.parametrize("meanwhile", ["published", "synced"])
def test_a_note_is_written_once_a_finished_study_is_published_or_synced(
    meanwhile: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def publishes(self: run.Run) -> None:
        asking.noted(self.folder.path, "late thoughts")
        asking.renamed(self.folder.path, "Warm-up")
        assert read_study(self.folder.path).study.note == "", "another process holds the ledger"

    monkeypatch.setattr(run, "is_installed", lambda name: False)
    with monkeypatch.context() as patch:
        if meanwhile == "published":
            patch.setattr(run.Run, "_end_publishing", publishes)
        with skipstack.begin(
            {"axes": {"x": {"uniform": [0, 1]}}}, trials=1, epochs=1, seeds=1, out=tmp_path / "s"
        ) as it:
            trial = it.ask()
            assert trial is not None
            trial.report(score=0.5)
    if meanwhile == "synced":
        monkeypatch.setattr(run.Run, "finish", publishes)
        run.sync_to_mlflow(it.folder, Execution())
    after = read_study(it.folder)
    assert (after.study.note, after.study.title, after.finished) == ("late thoughts", "Warm-up", True)
    assert not Requests(StudyFolder(it.folder).asked).waiting()


def test_what_cannot_be_written_is_refused_and_leaves_the_ledger_as_it_was(finished: StudyFolder) -> None:
    before = Ledger(finished.ledger).read()
    assert "trial 3 is not in this study (allowed: 0 to 2)" in refusal("note", finished.path, "x", "--trial", 3)
    assert "the title: got 0 characters (allowed: 1 to 200)" in refusal("rename", finished.path, " ")
    assert "the note: got 5,001 characters (allowed: up to 5,000)" in refusal("note", finished.path, "x" * 5001)
    half = "half a surrogate pair in 'caf\\udce9' (allowed: whole characters)"  # an argument that is not UTF-8
    assert f"the note: got {half}" in refusal("note", finished.path, "caf\udce9")
    assert f"the title: got {half}" in refusal("rename", finished.path, "caf\udce9")
    with pytest.raises(UserError, match="no study here"):
        skipstack.open(finished.path.parent).note("x")
    assert Ledger(finished.ledger).read() == before
