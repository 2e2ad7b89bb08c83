"""``skipstack spaces``: the presets, and what a study is before anything is trained."""

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from skipstack.dashboards.cli import app
from skipstack.dashboards.reports.meanings import meaning
from skipstack.data.store.batches import training_batches
from skipstack.data.store.stored import open_store
from skipstack.data.store.streams import stream_batches
from skipstack.data.store.writing import store
from skipstack.search.api.planning.epochs import EpochSize
from skipstack.search.study.study_files.document import presets
from skipstack.search.study.study_files.study_file import load_study
from skipstack.spaces.space import Space
from skipstack.spaces.trial import TrialConfig
from tests.command_line import typed
from tests.search.made_up import study

SENTENCE = "the\tDET\nold\tADJ\ndogs\tNOUN\nsleep\tVERB\n\n"
OWN = "base: {data: {corpus: {kind: columns, train: a.tsv, dev: a.tsv, test: a.tsv}}}\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with an own corpus of eight sentences."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.tsv").write_text(SENTENCE * 8)
    return tmp_path


def spaces(*arguments: str) -> str:
    shown = CliRunner().invoke(app, ["spaces", *arguments], catch_exceptions=False)
    assert shown.exit_code == 0, shown.output
    return shown.stdout


def words(*arguments: str) -> str:
    """What is printed, as one line."""
    return " ".join(spaces(*arguments).split())


def settings(*arguments: str) -> dict[str, Any]:
    return {each["path"]: each for each in json.loads(spaces(*arguments, "--format", "json"))["settings"]}


def test_every_preset_is_listed_in_lines_of_its_own() -> None:
    firsts = [line for line in spaces().splitlines()[2:] if line[2] != " "]
    assert [line.split()[0] for line in firsts] == list(presets())


@pytest.mark.slow
def test_a_study_of_its_own_that_extends_nothing_is_warned_of_batches_of_one(here: Path) -> None:
    (here / "own.yaml").write_text(OWN)
    shown = words("own.yaml")
    assert "1 configuration axes none: the space is the base alone" in shown
    assert "batch size 1: each update learns from 1 sentence at most, about 4 tokens" in shown
    assert "8 updates an epoch: train has 8 sentences, 32 tokens" in shown
    assert "hint: batch size 1 is only the default" in shown
    (here / "own.yaml").write_text(f"extends: tagger\n{OWN}")
    assert "hint" not in words("own.yaml")
    (here / "own.yaml").write_text(OWN.replace("data:", "training: {batch_size: 1}, data:"))
    assert "hint" not in words("own.yaml"), "what the study says itself is its own choice"


@pytest.mark.slow
def test_a_base_that_a_constraint_removes_is_told(here: Path) -> None:
    (here / "own.yaml").write_text("extends: quickstart\nconstraints: [depth > 1]\n")
    told = "the base is not among them, so no trial is compared with it: constraint model.stack.depth > 1"
    assert told in words("own.yaml")
    assert "not among them" not in words("quickstart")


def test_what_goes_with_a_fixed_axis_is_told(here: Path) -> None:
    told = (
        "removed, since they vary only with other values of model.stack.depth: model.stack.composition, "
        "model.stack.shortcut.gate"
    )
    (here / "own.yaml").write_text("extends: quickstart\naxes: {model.stack.depth: null}\n")
    assert told in words("own.yaml")
    assert "removed" not in words("quickstart").partition("the study file")[0]
    shown = json.loads(spaces("own.yaml", "--format", "json"))
    assert shown["removed"] == {"model.stack.depth": ["model.stack.composition", "model.stack.shortcut.gate"]}


def test_a_continuous_axis_and_every_constraint_have_their_sentence() -> None:
    shown = words("quickstart")
    assert "infinitely many configurations: 7 combinations of 3 axes, each with any value of training" in shown
    assert "model.stack.composition: 0, 2 (only when model.stack.depth is 3 or 5). The earlier layer" in shown
    assert "~ model.stack.depth 1 quickstart" in shown
    assert "block_on_top: the top layer of a stack deeper than one takes a skip" in words("wu2017/quick")
    assert max(map(len, spaces("quickstart").partition("the study file")[0].splitlines())) <= 80


def test_without_its_corpus_updates_are_not_counted_and_it_says_why() -> None:
    assert "updates an epoch: not counted: corpus 'ccgbank' got no folder" in words("wu2017/depth")
    files = words("dinarelli2016/media")
    assert "16 combinations of 3 axes" in files
    assert re.search(r"updates an epoch: not counted: cannot read .+train\.tsv: No such file", files)


@pytest.mark.first(6)
@pytest.mark.parametrize(("name", "scale"), [(name, None) for name in presets()] + [("wu2017/gates", "small")])
def test_the_settings_are_the_config_and_say_who_set_what_differs(name: str, scale: str | None) -> None:
    from skipstack.dashboards.reports.space_report import DescribedStudy, space_report
    from skipstack.search.study.study_files.origins import origins
    from skipstack.spaces.counting import SpaceCount

    config, _ = load_study(name, scale=scale)
    known = SpaceCount(combinations=1, allowed=1)
    described = DescribedStudy(study=config, counted=known, origins=origins(name, scale), epoch="not read")
    records = {str(each["path"]): each for each in space_report(described).records}
    own, default = config.space.base.flatten(), TrialConfig().flatten()
    assert {path: records[path]["value"] for path in own} == own
    for path, value in own.items():
        if path in default and value != default[path]:
            changed_kind = any(
                path.startswith(f"{kind.removesuffix('.kind')}.") and own[kind] != default.get(kind)
                for kind in own
                if kind.endswith(".kind")
            )
            assert records[path]["set_by"] != "default" or changed_kind, path
    for path, domain in Space(config.space).domains.items():
        assert not any(each["varied_by"] == path and not key.startswith(path) for key, each in records.items()), domain


def test_the_author_of_a_setting_is_the_last_file_that_says_it(here: Path) -> None:
    (here / "own.yaml").write_text(
        "extends: quickstart\nbase: {model: {stack: {hidden: 8}}, training: {optimiser: {kind: sgd}}}\n"
        "search: {trials: 3}\nscales: {small: {base: {training: {epochs: 2}}}}\n"
    )
    found = settings("own.yaml", "--scale", "small")
    assert found["model.stack.hidden"] == {
        "path": "model.stack.hidden",
        "value": 8,
        "set_by": "own.yaml",
        "varied_by": None,
    }
    assert found["training.epochs"]["set_by"] == "own.yaml (small)"
    assert found["training.batch_size"]["set_by"] == "quickstart"
    assert found["search.trials"]["set_by"] == "own.yaml"
    assert found["search.seeds"]["set_by"] == "quickstart"
    assert found["training.l2"]["set_by"] == "default"
    rate = found["training.optimiser.learning_rate"]
    assert rate["set_by"] == "default", "another kind starts afresh"
    assert rate["varied_by"] == "training.optimiser.learning_rate"


@pytest.mark.slow
def test_a_value_that_changes_more_than_its_axis_is_named(here: Path) -> None:
    axes = """axes:
  model.stack.depth: {choice: [1, 2, 3, 5]}
  training.optimiser.kind: {choice: [sgd, adam]}
"""
    (here / "plain.yaml").write_text(OWN + axes)
    (here / "wired.yaml").write_text(
        OWN.replace("base: {", "base: {model: {stack: {depth: 1, composition: 2}}, ") + axes
    )
    rate = "optimiser adam (with learning_rate 0.001 for 0.02)"
    heading = "values that change more than their axis"
    assert f"{heading} {rate} epochs" in words("plain.yaml")
    depth = "depth 3 (with a shortcut into layer 3); depth 5 (with shortcuts into layers 3 and 5)"
    decides = "model.stack.composition decides which layers take a shortcut; 0: none does"
    assert f"{heading} {depth} {rate} {decides} epochs" in words("wired.yaml")
    assert heading not in words("quickstart")


def test_csv_has_a_line_for_each_setting(here: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(spaces("quickstart", "--format", "csv"))))
    assert [row["path"] for row in rows] == list(settings("quickstart"))


@pytest.mark.first(1)
@pytest.mark.parametrize("batch_size", [1, 3, 16, 1000])
def test_updates_are_the_batches_of_an_epoch(batch_size: int, tmp_path: Path) -> None:
    base = study().space.base
    config = base.model_copy(update={"training": base.training.model_copy(update={"batch_size": batch_size})})
    stored = open_store(store(config.data.corpus, root=tmp_path, data_dir=None, folder=tmp_path))
    split = stored.splits["train"]
    batches = list(training_batches(split, batch_size=batch_size, order_seed=0, lane_seeds=[0], epoch=0))
    size = EpochSize.of(config, stored)
    assert size.updates == len(batches)
    assert size.sentences == sum(batch.lengths_RB.shape[1] for batch in batches)
    assert size.tokens == np.sum(split.lengths_S)


@pytest.mark.parametrize(("streams", "window"), [(1, 35), (4, 5), (7, 3), (1000, 2)])
def test_updates_of_running_text_are_its_windows(streams: int, window: int, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("the old dogs sleep\n" * 20)
    corpus = {"kind": "running_text", "train": "text.txt", "dev": "text.txt", "test": "text.txt"}
    config = TrialConfig.model_validate(
        {"data": {"corpus": corpus}, "training": {"batch_size": streams, "window": window}}
    )
    stored = open_store(store(config.data.corpus, root=tmp_path / "store", data_dir=None, folder=tmp_path))
    batches = list(stream_batches(stored.splits["train"], streams=streams, window=window))
    assert EpochSize.of(config, stored).updates == len(batches)


def test_a_meaning_is_that_of_the_kind_that_the_base_has() -> None:
    base = TrialConfig()
    feedback = TrialConfig.model_validate({"model": {"stack": {"kind": "feedback"}}})
    assert '"earlier" positions' in meaning("model.stack.directions", feedback)
    assert '"earlier" positions' not in meaning("model.stack.directions", base)
    assert meaning("model.head.discount", base).startswith("The margin per wrong tag"), "of the one kind that has it"
    assert "``" not in meaning("model.stack.pooling", base)
    assert ".py" not in meaning("model.stack.pooling", base)


@pytest.mark.parametrize("preset", ["dinarelli2016/media", "dinarelli2016/ftb"])
def test_a_preset_whose_files_the_user_has_to_add_is_described_without_them(
    preset: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "16 configurations" in words(preset)
    planned = typed("plan", preset, "--trials", "2")
    assert planned.code == 0, planned.error
    for said in (spaces(preset), planned.out):
        assert f"cannotread{tmp_path}/" in "".join(said.split())


def test_a_file_that_does_not_exist_is_refused_with_the_nearest_name(here: Path) -> None:
    (here / "own.yaml").write_text(OWN.replace("train: a.tsv", "train: b.tsv"))
    refused = typed("spaces", "own.yaml")
    assert refused.code == 2
    assert refused.error == f"skipstack: cannot read {here}/b.tsv: No such file or directory (nearest: a.tsv)\n"
