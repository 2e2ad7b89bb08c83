"""What a machine is asked, answered by machines that lack one thing each."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from skipstack.data.corpora.config import GrammarCorpus
from skipstack.search.api.start import open_study
from skipstack.search.engines.ray import preflight as module
from skipstack.search.engines.ray.preflight import MARK, Preflight, first_trouble
from skipstack.search.record.folder import StudyFolder
from skipstack.search.record.study_record import StudyRecord
from tests.search.toy import toy_study


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    study = toy_study(trials=2)
    corpus = GrammarCorpus(train=20, dev=10, test=10)
    base = study.space.base.model_copy(update={"data": study.space.base.data.model_copy(update={"corpus": corpus})})
    study = study.model_copy(update={"space": study.space.model_copy(update={"base": base})})
    path = tmp_path_factory.mktemp("preflight") / "study"
    open_study(study, StudyFolder(path), data_dir=None, corpus_folder=path, clock=lambda: 1.0)
    return path


@pytest.fixture
def asked(prepared: Path, tmp_path: Path) -> Preflight:
    from skipstack.search.ledger.ledger import Ledger

    folder = StudyFolder(tmp_path / "study")
    shutil.copytree(prepared, folder.path)
    return Preflight.of(folder, StudyRecord.of(Ledger(folder.ledger).read()))


def test_a_machine_that_sees_everything_is_fine_and_leaves_nothing_behind(asked: Preflight) -> None:
    assert len(asked.corpora) == 1
    assert asked.trouble() is None
    assert [path.name for path in asked.trials.iterdir()] == [MARK]


def test_other_code_is_told(asked: Preflight, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "code_version", lambda: "0.1.0+other")
    assert asked.trouble() == f"its code is 0.1.0+other (allowed: {asked.code}, which the driver runs)"


def test_a_folder_that_is_not_there_or_is_a_copy_is_told(asked: Preflight, tmp_path: Path) -> None:
    shutil.copytree(asked.trials, tmp_path / "copy")
    (tmp_path / "copy" / MARK).write_text("an older one")
    assert "is another folder there" in (replace(asked, trials=tmp_path / "copy").trouble() or "")
    assert "cannot be read (FileNotFoundError" in (replace(asked, trials=tmp_path / "none").trouble() or "")


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
    assert (asked.trouble() or "").startswith(f"{asked.trials} cannot be written (PermissionError")


def test_the_first_machine_in_trouble_is_named_in_one_line() -> None:
    assert first_trouble([("a (10.0.0.1)", None), ("b (10.0.0.2)", None)]) is None
    told = first_trouble([("a (10.0.0.1)", None), ("b (10.0.0.2)", "no disk"), ("c (10.0.0.3)", "no code")])
    assert told == "machine b (10.0.0.2): no disk; 1 more of 3 machines cannot train either"
