"""Configs with kinds of one's own: values like any other, opaque where their code is not loaded."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from skipstack.data.basis.explain import explain
from skipstack.data.basis.user_code.configs import CodeFile, OwnConfig, known
from skipstack.data.basis.user_code.files import read_code
from skipstack.spaces.config import Axis, SpaceConfig
from skipstack.spaces.paths import trial_paths
from skipstack.spaces.space import Space
from skipstack.spaces.trial import TrialConfig
from tests.own_code.pieces_of import RIGHT, another_process

GATE, CELL, HEAD = "model.stack.shortcut.gate", "model.stack.cell", "model.head.kind"


@pytest.fixture(scope="module")
def file() -> CodeFile:
    return read_code(RIGHT, "right.py")


def with_gate(gate: Any) -> TrialConfig:
    return TrialConfig.model_validate({"model": {"stack": {"shortcut": {"gate": gate}}}})


def test_a_config_without_own_code_says_nothing_of_it(file: CodeFile) -> None:
    plain = TrialConfig()
    assert "code" not in plain.model_dump(mode="json")
    with known([file]):
        assert TrialConfig.model_validate(plain.model_dump(mode="json")).identity == plain.identity
    assert plain.code == ()


def test_a_kind_is_known_where_its_file_is_and_nowhere_else(file: CodeFile) -> None:
    with pytest.raises(ValidationError):
        with_gate("hard")
    with known([file]):
        assert with_gate("hard").code == (file,)
        assert f"{GATE}.slope" in trial_paths()
    with pytest.raises(ValidationError):
        with_gate("hard")
    assert f"{GATE}.slope" not in trial_paths()


def test_every_way_of_saying_a_piece_is_one_config(file: CodeFile) -> None:
    with known([file]):
        said = [with_gate(gate) for gate in ("soft_step", {"kind": "soft_step"}, {"kind": "soft_step", "slope": 4})]
        other = with_gate({"kind": "soft_step", "slope": 4.5})
    assert len({config.identity for config in said}) == 1
    assert len({config.model for config in said}) == 1
    assert other.identity != said[0].identity
    assert other.model != said[0].model
    assert said[0].flatten()[f"{GATE}.slope"] == 4.0


def test_another_file_with_the_same_kind_is_another_trial(file: CodeFile) -> None:
    other = file.model_copy(update={"sha256": "0" * 64})
    found = []
    for code in (file, other):
        with another_process(), known([code]):
            found.append(with_gate({"kind": "soft_step", "slope": 4.0}))
    assert found[0] != found[1]
    assert found[0].identity != found[1].identity


@pytest.mark.parametrize(
    ("gate", "says"),
    [
        ("soft_stpe", "unknown value 'soft_stpe' (nearest: 'soft_step'; allowed: none, sigmoid_below, "),
        ({"kind": "soft_stpe"}, "unknown kind 'soft_stpe' (nearest: 'soft_step'; allowed: soft_step, hard, noisy)"),
        ({"kind": "soft_step", "slop": 1}, "slop: unknown key 'slop' (nearest: 'slope'; allowed: kind, slope)"),
        ({"kind": "soft_step", "slope": -1}, "slope: got -1 (allowed: a number above 0)"),
        ({"slope": 1}, "slope"),
    ],
)
def test_a_mistake_in_a_piece_is_told_as_in_ours(gate: Any, says: str, file: CodeFile) -> None:
    with known([file]):
        with pytest.raises(ValidationError) as caught:
            with_gate(gate)
        assert says in explain(caught.value, TrialConfig)


def test_what_was_recorded_is_read_without_its_code(file: CodeFile) -> None:
    """The base has a softmax: the fields of another head begin with their defaults."""
    with known([file]):
        space = SpaceConfig.model_validate(
            {
                "code": [file.model_dump(mode="json")],
                "base": {"model": {"stack": {"depth": 3, "cell": "minimal"}}},
                "axes": {
                    GATE: Axis(choice=("none", "hard", {"kind": "soft_step", "slope": 2.0})),
                    CELL: Axis(choice=("lstm", "minimal")),
                    HEAD: Axis(choice=("softmax", "tempered", "crf")),
                },
            }
        )
    recorded = json.loads(json.dumps(space.model_dump(mode="json")))
    points = list(Space(space).enumerate())
    assert len(points) == 3 * 2 * 3
    expected = [Space(space).config(point) for point in points]
    with another_process():
        read = Space(SpaceConfig.model_validate(recorded))
        assert list(read.enumerate()) == points
        configs = [read.config(point) for point in points]
        assert configs == expected
        assert [config.identity for config in configs] == [config.identity for config in expected]
        assert [config.code for config in configs] == [config.code for config in expected]
        assert [read.point(config) for config in configs] == points
        again = [TrialConfig.model_validate(json.loads(json.dumps(each.model_dump(mode="json")))) for each in configs]
        assert again == configs
    assert {bool(config.code) for config in configs} == {True, False}


def test_a_piece_without_its_code_is_not_built(file: CodeFile) -> None:
    with known([file]):
        gate = with_gate("hard").model.stack.shortcut.gate  # type: ignore[union-attr]
    assert isinstance(gate, OwnConfig)
    with (
        another_process(),
        pytest.raises(Exception, match=r"right.py has .* gate hard.* code is run only if you ask for it"),
    ):
        gate.build()


@pytest.mark.parametrize(
    "code",
    [
        "right.py",
        [{"name": "right.py"}],
        [{"name": "right.py", "sha256": "x" * 64, "kinds": {}}],
        [{"name": "x", "sha256": "0" * 64, "kinds": {"gate": {"soft step": {}}}}],
        [{"name": "x", "sha256": "0" * 64, "kinds": {"gate": {"soft": {"model_dump": 1}}}}],
        [{"name": "x", "sha256": "0" * 64, "kinds": {"wheel": {"soft": {}}}}],
    ],
)
def test_a_record_of_code_that_is_none_is_refused(code: Any) -> None:
    with pytest.raises(ValidationError, match=r"code: got .* \(allowed: files, each with name, sha256 and kinds\)"):
        TrialConfig.model_validate({"code": code})


def test_an_embedder_says_its_size_without_its_code(file: CodeFile) -> None:
    embedder = {"kind": "word_and_capital", "input_size": 8}
    with known([file]):
        trial = TrialConfig.model_validate({"model": {"embedder": embedder}})
        space = SpaceConfig.model_validate(
            {
                "code": [file.model_dump(mode="json")],
                "base": {"model": {"embedder": embedder, "stack": {"hidden": 8}}},
                "axes": {"model.stack.hidden": {"choice": [7, 8]}, "model.embedder.input_size": {"choice": [7, 8]}},
                "constraints": ["hidden_equals_input"],
            }
        )
    recorded = json.loads(json.dumps(space.model_dump(mode="json")))
    with another_process():
        assert trial.model.embedder.input_size == 8
        assert trial.code == (file,)
        points = Space(SpaceConfig.model_validate(recorded)).enumerate()
        assert [list(point.values()) for point in points] == [[7, 7], [8, 8]]
