"""Bundles of functions' models: which model they have, and that reading one, whoever made it, runs nothing."""

import errno
import json
import os
import pickle
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

import skipstack
from skipstack.data.basis.errors import UserError
from skipstack.search.publishing.bundles import own_model
from skipstack.search.publishing.bundles.export import export_bundles
from skipstack.search.publishing.bundles.files import MANIFEST
from skipstack.search.publishing.bundles.own_model import load_own
from skipstack.search.study.record.folder import StudyFolder
from tests.command_line import refusal, typed
from tests.search.execution.workers.test_call_models import giving
from tests.search.functions import LINE, Config, open_function, run_function

NONE: dict[str, Any] = {**LINE, "search": {**LINE["search"], "scheduler": "none"}}


class Harm:
    """Makes a file where it is unpickled."""

    def __reduce__(self) -> Any:
        return Path.touch, (Path("unpickled"),)


def pickling(config: Config, report: skipstack.Report) -> None:
    """Each call gives a folder; the seed with the higher score is 1."""
    model = report.folder / "tagger"
    (model / "deep").mkdir(parents=True)
    (model / "model.pkl").write_bytes(pickle.dumps(Harm()))
    (model / "deep" / "seed.txt").write_text(f"{config['seed']} {config['x']}")
    report(score=config["seed"] - config["x"], test=0.5, model=model)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> StudyFolder:
    folder = open_function(tmp_path_factory.mktemp("study") / "study", pickling, NONE, trials=3, seeds=2)
    run_function(folder, pickling)
    return folder


@pytest.fixture
def bundle(study: StudyFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    assert typed("export", study.path, "--to", "bundle").out == "bundle\n"
    return Path("bundle")


def test_it_is_the_best_trial_s_best_seed_as_the_function_gave_it(study: StudyFolder, bundle: Path) -> None:
    trials = skipstack.open(study.path).trials()
    number = int(trials["axis.x"].idxmin())
    x = trials["axis.x"].min()
    model = skipstack.load_own(bundle)
    origin = model.provenance
    assert (origin.study, origin.trial, origin.call, origin.epoch) == ("pickling", number, "seed 1", 1)
    assert dict(model.values) == {"x": x}
    assert model.scores == {
        f"seed {seed}": {"dev_score": pytest.approx(seed - x), "test_score": 0.5} for seed in (0, 1)
    }
    assert set(model.files) == {"tagger/model.pkl", "tagger/deep/seed.txt"}
    saved = model.save("saved")
    assert (saved / "deep" / "seed.txt").read_text() == f"1 {x}"
    assert (saved / "model.pkl").read_bytes() == pickle.dumps(Harm())
    for said in (f"# pickling, trial {number}", "called with seed 1", "tagger/deep/seed.txt", f"- x: {x}"):
        assert said in model.card


def test_reading_verifying_and_saving_run_nothing(bundle: Path) -> None:
    assert typed("verify", bundle).out.splitlines()[1].endswith("bytes, as exported; nothing of it was run")
    skipstack.load_own(bundle).save("saved")
    assert not Path("unpickled").exists()
    pickle.loads(Path("saved/tagger/model.pkl").read_bytes())  # our own: it would have been seen
    assert Path("unpickled").exists()


def test_where_it_cannot_be_saved_the_bundle_is_not_blamed(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = skipstack.load_own(bundle)
    Path("file").touch()
    with pytest.raises(UserError, match=r"^file/saved: cannot be written: Not a directory"):
        model.save("file/saved")

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(own_model, "check_sealed", full)
    with pytest.raises(OSError, match="No space left"):
        model.save("saved")
    assert not Path("saved").exists()


def test_an_archive_is_the_same(study: StudyFolder, bundle: Path) -> None:
    typed("export", study.path, "--to", "bundle.zip")
    archive, folder = load_own(Path("bundle.zip")), load_own(bundle)
    assert (archive.files, archive.scores, archive.card) == (folder.files, folder.scores, folder.card)
    assert (archive.save("again") / "model.pkl").read_bytes() == pickle.dumps(Harm())


def test_a_trial_by_number_and_several_are_exported(study: StudyFolder, bundle: Path) -> None:
    assert typed("export", study.path, "--trial", "2", "--to", "second").code == 0
    assert load_own(Path("second")).provenance.trial == 2
    assert len(typed("export", study.path, "--best", "3", "--to", "all").out.splitlines()) == 3


@pytest.mark.parametrize("name", ["model/tagger/model.pkl", "scores.json", "README.md"])
def test_another_file_than_was_sealed_is_refused(name: str, bundle: Path) -> None:
    content = (bundle / name).read_bytes()
    (bundle / name).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert "got sha256" in refusal("verify", bundle)
    (bundle / name).write_bytes(content + b"x")
    assert name in refusal("verify", bundle)
    (bundle / name).unlink()
    assert "no such file" in refusal("verify", bundle)


@pytest.mark.parametrize(
    "name", ["model/../../secret", "/etc/passwd", "model//x", "models/x", "model", "model/a\\b", "model/a\nb"]
)
def test_a_manifest_names_no_file_elsewhere(name: str, bundle: Path) -> None:
    manifest = json.loads((bundle / MANIFEST).read_text())
    manifest["files"][name] = {"bytes": 1, "sha256": "0" * 64}
    (bundle / MANIFEST).write_text(json.dumps(manifest))
    assert "unknown file" in refusal("verify", bundle)


def test_a_link_that_leads_out_is_refused(bundle: Path) -> None:
    file = bundle / "model" / "tagger" / "deep" / "seed.txt"
    shutil.copy(file, "elsewhere.txt")
    file.unlink()
    file.symlink_to(os.path.relpath("elsewhere.txt", file.parent))
    assert "leads out of the bundle" in refusal("verify", bundle)


def test_an_archive_has_no_file_that_its_manifest_lacks(study: StudyFolder, bundle: Path) -> None:
    typed("export", study.path, "--to", "bundle.zip")
    with zipfile.ZipFile("bundle.zip", "a") as archive:
        archive.writestr("model/more.py", "print()")
    assert "unknown file 'model/more.py'" in refusal("verify", "bundle.zip")


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (("predict", "bundle"), "has the model of a function, which skipstack never runs"),
        (
            ("serve", "bundle"),
            "has the model of a function, which skipstack never runs (allowed: a bundle of a network",
        ),
        (("inspect", "bundle"), "has the model of a function, which skipstack never runs"),
        (("verify", "bundle", "--data-dir", "."), "--data-dir: got a function's model, which is not run"),
        (("export", "STUDY", "--to", "more", "--retrain"), "--retrain: pickling in test_own_model.py is a function"),
        (("export", "STUDY", "--to", "more", "--ensemble"), "--ensemble: pickling in test_own_model.py is a function"),
        (("export", "STUDY", "--to", "more", "--torch-export", "a.pt2"), "is a function, which leaves no network"),
        (("export", "STUDY", "--to", "bundle"), "exists (allowed: a new folder or .zip for the bundle)"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_line(
    command: tuple[str, ...], says: str, study: StudyFolder, bundle: Path
) -> None:
    assert says in refusal(*(study.path if each == "STUDY" else each for each in command), stdin=b"words\n")
    assert not Path("more").exists()


def test_a_network_s_bundle_is_none_and_the_library_says_so(bundle: Path) -> None:
    with pytest.raises(UserError, match="which skipstack never runs"):
        skipstack.load(bundle)
    manifest = json.loads((bundle / MANIFEST).read_text())
    (bundle / MANIFEST).write_text(json.dumps({**manifest, "kind": "network"}))
    assert "got kind network in format 6" in refusal("verify", bundle)


def test_of_a_function_that_gave_none_there_is_no_bundle(tmp_path: Path) -> None:
    def silent(config: Config) -> float:
        return float(config["x"])

    folder = open_function(tmp_path / "study", silent, NONE, trials=1, seeds=1)
    run_function(folder, silent)
    assert "its function left no model (allowed: a function gives one by report(..., model=PATH)" in (
        refusal("export", folder.path, "--to", tmp_path / "bundle")
    )


def test_a_function_may_return_its_model(tmp_path: Path) -> None:
    def returning(config: Config) -> dict[str, Any]:
        (tmp_path / "given.bin").write_bytes(bytes([config["seed"]]))
        return {"score": config["x"], "model": tmp_path / "given.bin"}

    folder = open_function(tmp_path / "study", returning, NONE, trials=1, seeds=1)
    record = run_function(folder, returning)
    [path] = export_bundles(record, folder, record.ranked(), tmp_path / "bundle", "cpu")
    assert load_own(path).save(tmp_path / "saved").read_bytes() == b"\0"


def test_the_card_says_what_epoch_and_which_other_was_the_best(tmp_path: Path) -> None:
    folder = open_function(tmp_path / "study", giving, NONE, trials=1, seeds=2, epochs=5)
    record = run_function(folder, giving)
    [path] = export_bundles(record, folder, record.ranked(), tmp_path / "bundle", "cpu")
    model = load_own(path)
    assert (model.provenance.call, model.provenance.epoch) == ("seed 0", 2), "5 beside 1 at the best epoch"
    assert "with which no model was given" not in model.card


def test_where_seeds_race_it_has_the_scores_of_all_of_them(tmp_path: Path) -> None:
    race = {**LINE["search"], "scheduler": {"kind": "asha", "resource": "seeds", "grace": 1, "reduction": 2}}
    folder = open_function(tmp_path / "study", pickling, {**LINE, "search": race}, trials=1, seeds=4, epochs=1)
    record = run_function(folder, pickling)
    [path] = export_bundles(record, folder, record.ranked(), tmp_path / "bundle", "cpu")
    model = load_own(path)
    assert (model.provenance.call, model.provenance.epoch, model.provenance.best_epoch) == ("seed 3", 1, 1)
    assert model.scores == {
        f"seed {seed}": {"dev_score": pytest.approx(seed - model.values["x"]), "test_score": 0.5} for seed in range(4)
    }
