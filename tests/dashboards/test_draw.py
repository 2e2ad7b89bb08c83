"""``skipstack draw``: of a study, a bundle, a preset and a file, and what it refuses."""

import shutil
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import torch

from skipstack.dashboards.network_drawing.drawing import diagram_of, drawing
from skipstack.dashboards.network_drawing.sentences import described
from skipstack.models.configs.model import StackConfig
from skipstack.models.layers.lanes import Dropout, Lane, Streams
from skipstack.models.networks.build import build_stack
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.study_files.study_file import load_study
from skipstack.spaces.trial import as_network
from tests.command_line import refusal, typed
from tests.own_code.pieces_of import RIGHT, another_process
from tests.pages import ROOT
from tests.search.finished import exported, opened, resealed

STUDY = """
about: how deep
base:
  data: {corpus: {kind: grammar, train: 12, dev: 4, test: 4}}
  model:
    embedder: {word_size: 4, capital_size: 0, affix_characters: 0, window: 0}
    stack: {depth: 1, hidden: 4, directions: forward}
  training: {epochs: 1}
axes: {model.stack.depth: {choice: [2, 3]}}
search: {proposer: grid, trials: 2, seeds: 1, scheduler: none}
"""
DOUBLED = """
from typing import Literal

import torch

from skipstack.own import Cell, Frozen, HiddenState


class Doubled(Cell):
    multiplies_previous = False

    class Config(Frozen):
        kind: Literal["doubled"] = "doubled"

    def __init__(self, config, sizes, streams):
        super().__init__(sizes, gates=1)
        self.features = 2 * sizes.hidden

    def step(self, pre_GBX, known_GBX, state):
        return HiddenState(torch.cat([pre_GBX, -pre_GBX], dim=-1))
"""


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("drawn")
    (folder / "study.yaml").write_text(STUDY)
    return exported(folder / "study.yaml")


def test_of_a_study_the_best_trial_is_drawn_or_the_one_that_is_asked_for(bundle: Path) -> None:
    study = bundle.parent / "runs"
    record = read_study(study)
    best = record.ranked()[0]
    title = f"study: trial {best.number}, the best"
    assert typed("draw", study).out == drawing(diagram_of(best.config), title)
    assert typed("draw", study, "--trial", 1).out == drawing(diagram_of(record.trials[1].config), "study: trial 1")
    base = drawing(diagram_of(record.study.space.base), "study: base")
    assert typed("draw", study, "--base").out == base == typed("draw", bundle.parent / "study.yaml").out
    of_bundle = typed("draw", bundle).out
    assert of_bundle == drawing(diagram_of(record.trials[0].config), bundle.name)
    assert len({base, of_bundle}) == 2


def test_a_preset_is_drawn_with_its_settings_as_a_file_and_in_sentences(tmp_path: Path) -> None:
    file, chosen = tmp_path / "network.svg", "model.stack.composition=5"
    assert typed("draw", "wu2017/default", "--scale", "small", "--set", chosen, "--out", file).out == ""
    config = load_study("wu2017/default", scale="small", overrides=[chosen])[0].space.base
    assert file.read_text() == drawing(diagram_of(config), "wu2017/default-small: base")
    assert ET.parse(file).getroot().tag.endswith("svg")
    in_words = typed("draw", "wu2017/default", "--scale", "small", "--set", chosen, "--format", "text").out
    assert in_words.splitlines() == list(described(diagram_of(config)))
    assert (ROOT / "docs" / "network.svg").read_text() == typed("draw", "wu2017/default").out
    assert "Layer 4, block (96 numbers): reads layer 3; by a shortcut layer 2; its own h 1 step back." in in_words


def test_what_only_the_code_of_a_users_own_cell_says_is_not_drawn(tmp_path: Path) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(f"{STUDY}code: [doubled.py, right.py]\n")
    (tmp_path / "doubled.py").write_text(DOUBLED)
    shutil.copy(RIGHT, tmp_path / "right.py")
    own = ["model.stack.cell=doubled", "model.stack.directions=both"]
    with another_process():
        stack = as_network(load_study(file, overrides=own)[0].space.base).model.stack
        assert isinstance(stack, StackConfig)
        network = build_stack(stack, 4, [Lane(seed=1)], Dropout([0.0], Streams([1], "dropout", torch.device("cpu"))))
        assert network.features == 2 * 2 * 4
        options = [part for each in own for part in ("--set", each)]
        drawn = {each.text for each in ET.fromstring(typed("draw", file, *options).out).iter()}
        assert {"1 →", "← 1", "both directions, side by side"} <= drawn
        assert typed("draw", file, *options, "--format", "text").out.splitlines()[2:4] == [
            "Layer 1, doubled: reads word; its own state 1 step back.",
            "Join 1, both directions, side by side: reads layer 1.",
        ]
        shortcut = ["model.stack.cell=minimal", "model.stack.depth=3", "model.stack.composition=2"]
        options = [part for each in shortcut for part in ("--set", each)]
        in_words = typed("draw", file, *options, "--format", "text").out
        assert "Layer 1, minimal (4 numbers): reads word; its own state 1 step back." in in_words


def test_it_says_what_cannot_be_drawn(bundle: Path, tmp_path: Path) -> None:
    study = bundle.parent / "runs"
    assert "--trial 7: no such trial (allowed: 0 to 1)" in refusal("draw", study, "--trial", 7)
    assert "exclude each other" in refusal("draw", study, "--trial", 0, "--base")
    assert "--set: got it for a study that was begun" in refusal("draw", study, "--set", "model.stack.depth=2")
    assert "--base: got it for a bundle" in refusal("draw", bundle, "--base")
    assert "--trial: got it for a study that was not begun" in refusal("draw", "quickstart", "--trial", 0)
    assert "unknown study 'quickstrat'" in refusal("draw", "quickstrat")
    assert "no such file" in refusal("draw", tmp_path)
    assert "cannot be written" in refusal("draw", "quickstart", "--out", tmp_path / "none" / "network.svg")
    (tmp_path / "study.yaml").write_text(STUDY)
    begun = opened(tmp_path / "study.yaml").path
    assert "--trial 0: no such trial (allowed: --base, since the study has no trials yet)" in refusal(
        "draw", begun, "--trial", 0
    )
    assert "no trial has a score yet (allowed: --base, or --trial N)" in refusal("draw", begun)
    assert typed("draw", begun, "--base").out.startswith("<svg")


def test_a_bundle_of_more_layers_than_it_has_weights_is_not_drawn(bundle: Path, tmp_path: Path) -> None:
    mended = Path(shutil.copytree(bundle, tmp_path / "bundle"))
    resealed(mended, "config.json", "model.stack.depth", 10**9)
    assert "model.stack.depth: got 1000000000" in refusal("draw", mended)
