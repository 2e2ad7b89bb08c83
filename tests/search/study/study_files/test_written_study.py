"""A trial's config as a study file: it is read back whole, and training it repeats the trial."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import skipstack
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.search.study.study_files.document import presets
from skipstack.search.study.study_files.study_file import load_study
from skipstack.search.study.study_files.written_study import study_of_trial
from skipstack.spaces.space import Space
from tests.command_line import refusal, typed
from tests.own_code.pieces_of import RIGHT
from tests.search.finished import trained

STUDY = """\
extends: quickstart
base:
  data: {corpus: {train: 24, dev: 12, test: 12}}
  model: {stack: {hidden: 4}, embedder: {word_size: 4}}
  training: {epochs: 2}
search: {proposer: random, trials: 3, seeds: 2, first_seed: 3, seed: 5, scheduler: none}
"""
OWN = """\
code: [right.py]
base:
  model:
    stack: {shortcut: {gate: {kind: soft_step, slope: 2}}}
    head: {kind: tempered}
axes: {model.stack.hidden: {choice: [4, 8]}}
"""


@pytest.mark.first(4)
@pytest.mark.parametrize("preset", presets())
def test_a_config_of_each_preset_is_read_back_whole(preset: str, tmp_path: Path) -> None:
    study, _ = load_study(preset)
    space, generator = Space(study.space), np.random.default_rng(0)
    for number, point in enumerate([space.base_point(), *(space.sample(generator) for _ in range(3))]):
        trial, file = TrialRecord(number, point, space, (0,)), tmp_path / f"{number}.yaml"
        file.write_text(study_of_trial(study, trial))
        read, _ = load_study(file)
        assert read.space.base == trial.config
        assert read.space.axes == {}


def test_a_config_with_own_code_names_its_file(tmp_path: Path) -> None:
    shutil.copy(RIGHT, tmp_path / "right.py")
    (tmp_path / "mine.yaml").write_text(OWN)
    study, _ = load_study(tmp_path / "mine.yaml")
    trial = TrialRecord(0, {"model.stack.hidden": 8}, Space(study.space), (0,))
    (tmp_path / "best.yaml").write_text(study_of_trial(study, trial))
    read, _ = load_study(tmp_path / "best.yaml")
    assert read.space.base == trial.config
    assert read.space.code == study.space.code


@pytest.mark.slow
def test_the_file_trains_the_trial_again_and_is_the_base_of_another_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.yaml").write_text(STUDY)
    study = skipstack.open(trained(tmp_path / "study.yaml").path)
    best, other = study.best().index[0], next(number for number in range(3) if number != study.best().index[0])
    assert typed("export", "runs", "--study", "best.yaml").out == "best.yaml\n"
    assert typed("export", "runs", "--study", "other.yaml", "--trial", other).out == "other.yaml\n"
    assert json.loads(typed("plan", "best.yaml", "--format", "json").out)["space"]["configurations"] == 1
    columns = ["epoch", "seed", "score", "dev", "train_loss"]
    for number, file in ((best, "best.yaml"), (other, "other.yaml")):
        again = skipstack.search(file, engine="serial", device="cpu", out=f"runs-of-{file}")
        curves = study.curves()
        before = curves[curves["trial"] == number][columns].reset_index(drop=True)
        assert before.equals(again.curves()[columns])
    axis = "axes.model.stack.hidden={choice: [4, 5]}"
    wider, _ = load_study("best.yaml", overrides=[axis])
    assert wider.space.base == study.best_config
    assert Space(wider.space).count() == 2


def test_what_is_no_file_of_one_network_is_refused_and_nothing_is_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.yaml").write_text(STUDY.replace("trials: 3", "trials: 1"))
    trained(tmp_path / "study.yaml")
    before = Path("study.yaml").read_bytes()
    export = ("export", "runs", "--study")
    assert "--study study.yaml: exists" in refusal(*export, "study.yaml")
    assert Path("study.yaml").read_bytes() == before
    assert "ends in .yaml" in refusal(*export, "best.json")
    assert "no such trial with a score (allowed: 0)" in refusal(*export, "best.yaml", "--trial", 7)
    assert "cannot be written" in refusal(*export, "no/best.yaml")
    assert "got --to and --study (allowed: one of them)" in refusal(*export, "best.yaml", "--to", "bundle")
    for beside in (("--best", 2), ("--retrain",), ("--epochs", 1), ("--register", "x")):
        assert "--study excludes" in refusal(*export, "best.yaml", *beside)
    skipstack.search(skipstack.Space(x=skipstack.uniform(0, 1)), _identity, trials=2, engine="serial", out="function")
    assert "is a function" in refusal("export", "function", "--study", "best.yaml")
    assert not Path("best.yaml").exists()


def _identity(config: dict[str, float]) -> float:
    return config["x"]
