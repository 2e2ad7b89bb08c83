"""What a config has that its base has not."""

import json
from pathlib import Path

import yaml

from skipstack.data.basis.user_code.configs import known
from skipstack.data.basis.user_code.files import read_code
from skipstack.search.study.study_files.study_file import load_study
from skipstack.spaces.changes import changes, chosen, differences
from skipstack.spaces.paths import written
from skipstack.spaces.trial import TrialConfig
from tests.own_code.pieces_of import RIGHT
from tests.search.made_up import COMPOSITION, study

CELL_OUTPUT = "model.stack.shortcut.cell_output"


def test_changes_are_the_leaves_that_differ_or_that_the_base_lacks() -> None:
    base = study().space.base
    assert changes(base, base) == {}
    sgd = {"kind": "sgd", "learning_rate": 0.01, "momentum": 0.0}  # the base has Adam at this rate
    other = base.model_dump(mode="json")
    other["training"] |= {"optimiser": sgd, "clip_norm": 5.0}
    other["model"]["stack"]["composition"] = [0, 0, 1]
    assert changes(TrialConfig.model_validate(other), base) == {
        COMPOSITION: "[0, 0, 1]",
        "training.optimiser.kind": "sgd",
        "training.optimiser.momentum": 0.0,
        "training.clip_norm": 5.0,
    }


def test_a_field_that_a_config_leaves_out_has_its_default() -> None:
    """Brief configs leave out fields of later versions, and a base may have another value in one."""
    usual = study().space.base
    other = TrialConfig.model_validate(written(usual.model_dump(mode="json"), CELL_OUTPUT, "updated"))
    assert CELL_OUTPUT not in usual.flatten()
    assert (changes(usual, other), changes(other, usual)) == ({CELL_OUTPUT: "original"}, {CELL_OUTPUT: "updated"})
    assert chosen(changes(usual, other), usual) == {CELL_OUTPUT: "original"}
    assert list(differences(usual, other)) == [(CELL_OUTPUT, "original", "updated")]
    without = TrialConfig.model_validate(written(usual.model_dump(mode="json"), "model.stack.kind", "feedback"))
    assert CELL_OUTPUT not in changes(without, other)


def test_what_is_chosen_gives_the_config_again_and_names_no_default_of_a_kind(tmp_path: Path) -> None:
    base = study().space.base
    sgd = {"kind": "sgd", "learning_rate": base.training.optimiser.learning_rate, "momentum": 0.0}
    other = base.model_dump(mode="json")
    other["training"] |= {"optimiser": sgd, "clip_norm": 5.0}
    other["model"]["head"] = {"kind": "crf", "constrained": False}
    config = TrialConfig.model_validate(other)
    settings = chosen(changes(config, base), config)
    assert settings == {
        "model.head.kind": "crf",
        "training.optimiser.kind": "sgd",
        "training.optimiser.learning_rate": base.training.optimiser.learning_rate,
        "training.clip_norm": 5.0,
    }
    (tmp_path / "study.yaml").write_text(yaml.safe_dump({"base": base.model_dump(mode="json")}))
    overrides = [f"{path}={json.dumps(value)}" for path, value in settings.items()]
    assert load_study(tmp_path / "study.yaml", overrides=overrides)[0].space.base == config


def test_own_code_is_no_choice_beside_the_pieces_that_it_defines() -> None:
    base, gate = TrialConfig(), {"kind": "soft_step", "slope": 4.5}
    with known([read_code(RIGHT, "right.py")]):
        config = TrialConfig.model_validate({"model": {"stack": {"shortcut": {"gate": gate}}}})
    assert "code" in changes(config, base)
    assert chosen(changes(config, base), config) == {
        "model.stack.shortcut.gate.kind": "soft_step",
        "model.stack.shortcut.gate.slope": 4.5,
    }
