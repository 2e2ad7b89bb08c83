"""What a machine is asked, answered by machines that lack one thing each."""

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from skipstack.data.corpora.synthetic.grammar import GrammarCorpus
from skipstack.search.api.opening import open_study
from skipstack.search.execution.engines.ray import preflight as module
from skipstack.search.execution.engines.ray.copying.mark import MARK
from skipstack.search.execution.engines.ray.preflight import Answer, Preflight, first_trouble, unseeing
from skipstack.search.study.code_version import code_version
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.study_record import StudyRecord
from tests.search.toy import toy_study


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    study = toy_study(trials=2)
    corpus = GrammarCorpus(train=20, dev=10, test=10)
    base = study.space.base.model_copy(update={"data": study.space.base.data.model_copy(update={"corpus": corpus})})
    study = study.model_copy(update={"space": study.space.model_copy(update={"base": base})})
    path = tmp_path_factory.mktemp("preflight") / "study"
    open_study(study, StudyFolder(path), data_dir=None, corpus_folder=path)
    return path


@pytest.fixture
def asked(prepared: Path, tmp_path: Path) -> Preflight:
    from skipstack.search.ledger.ledger import Ledger

    folder = StudyFolder(tmp_path / "study")
    shutil.copytree(prepared, folder.path)
    return Preflight.of(folder, StudyRecord.of(Ledger(folder.ledger).read()), copies=False)


def test_a_machine_that_sees_everything_is_fine_and_leaves_nothing_behind(asked: Preflight) -> None:
    assert len(asked.corpora) == 1
    assert asked.trouble() is None
    assert [path.name for path in asked.mark.trials.iterdir()] == [MARK]


def test_other_code_is_told(asked: Preflight, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "code_version", lambda: "0.1.0+other")
    assert asked.trouble() == (
        f"its code is 0.1.0+other (allowed: {asked.code}, which the driver runs: the same release, or checkout, on all "
        "machines)"
    )


def test_a_machine_without_skipstack_is_told_what_to_install() -> None:
    own = code_version().partition("+")[0]
    assert first_trouble([("one", None), ("two", "ModuleNotFoundError: No module named 'skipstack'")]) == (
        f"machine two: skipstack is not installed there (allowed: pip install skipstack=={own})"
    )


def elsewhere(asked: Preflight, trials: Path, *, copies: bool) -> Preflight:
    """What a machine is asked that has another folder, or none, where the study's trials are."""
    return replace(asked, mark=replace(asked.mark, trials=trials), copies=copies)


def test_a_folder_that_is_not_there_or_is_a_copy_is_told_where_nothing_is_copied(
    asked: Preflight, tmp_path: Path
) -> None:
    shutil.copytree(asked.mark.trials, tmp_path / "copy")
    (tmp_path / "copy" / MARK).write_text("an older one")
    for trials, why in ((tmp_path / "copy", "is another folder there ("), (tmp_path / "none", "FileNotFoundError")):
        trouble = elsewhere(asked, trials, copies=False).trouble() or ""
        assert why in trouble
        assert trouble.endswith(
            "(allowed: a folder that all machines share, or to start the study on a machine of the cluster: then its "
            "files are copied)"
        )


def test_files_are_copied_to_a_machine_that_has_another_folder_or_none(
    asked: Preflight, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    shutil.copytree(asked.mark.trials, tmp_path / "copy")
    (tmp_path / "copy" / MARK).write_text("an older one")
    here = set(tmp_path.iterdir())
    for trials in (tmp_path / "copy", tmp_path / "none"):
        assert elsewhere(asked, trials, copies=True).answer() == Answer(sees=False, trouble=None)
    assert set(tmp_path.iterdir()) == here, "nothing stays there"
    assert replace(asked, copies=True).answer() == Answer(sees=True, trouble=None)
    monkeypatch.setattr(module, "code_version", lambda: "0.1.0+other")
    assert "its code is 0.1.0+other" in (elsewhere(asked, tmp_path / "none", copies=True).trouble() or "")


def test_a_machine_without_a_place_for_copied_files_is_told(
    asked: Preflight, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    assert "no folder for temporary files" in (elsewhere(asked, tmp_path / "x", copies=True).trouble() or "")


def test_one_line_says_how_many_machines_do_not_see_the_folder() -> None:
    assert unseeing(0, 2) is None
    assert unseeing(2, 3) == "2 of 3 machines do not see the study's folder: files are copied"


def test_data_that_are_missing_damaged_or_others_are_told(asked: Preflight) -> None:
    ((path, fingerprint),) = asked.corpora
    assert f"{path} holds {fingerprint} (allowed: another" in (
        replace(asked, corpora=((path, "another"),)).trouble() or ""
    )
    (path / "train.arrow").write_bytes(b"")
    assert "is damaged" in (asked.trouble() or "")
    shutil.rmtree(path)
    assert "is missing" in (asked.trouble() or "")


def test_a_folder_that_cannot_be_written_is_told(asked: Preflight, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may write everywhere, so the refusal is played."""

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "write_text", refuse)
    assert (asked.trouble() or "").startswith(f"{asked.mark.trials} cannot be written (PermissionError")


def test_the_first_machine_in_trouble_is_named_in_one_line() -> None:
    assert first_trouble([("a (10.0.0.1)", None), ("b (10.0.0.2)", None)]) is None
    told = first_trouble([("a (10.0.0.1)", None), ("b (10.0.0.2)", "no disk"), ("c (10.0.0.3)", "no code")])
    assert told == "machine b (10.0.0.2): no disk; 1 more of 3 machines cannot train either"
