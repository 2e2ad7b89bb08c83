"""Values of axes in the types of their fields, as a study records them."""

from pathlib import Path

import pytest

from skipstack.search.study.config import StudyConfig
from skipstack.search.study.study_files.study_file import load_study
from skipstack.spaces.function import FunctionSource
from skipstack.spaces.settled import typed_choices
from skipstack.spaces.space import Space
from tests.own_code.pieces_of import RIGHT, another_process

PROPOSER = """
from typing import Literal
from skipstack.own import Frozen, OwnProposer


class Drawing(OwnProposer):
    class Config(Frozen):
        kind: Literal["drawing"] = "drawing"

    def propose(self, trials, random):
        return self.space.sample(random)
"""


def test_new_values_for_a_function_beside_own_code_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "drawing.py").write_text(PROPOSER)
    given = {
        "name": "s",
        "base": {},
        "code": [str(tmp_path / "drawing.py")],
        "axes": {"x": {"choice": [1, 2]}},
        "search": {"proposer": "drawing"},
    }
    study, _ = load_study(given, function=FunctionSource(name="f", file="f.py", source="0" * 16))
    assert typed_choices(Space(study.space), {"x": [3, {"y": 4}]}) == {"x": [3, {"y": 4}]}


@pytest.mark.slow
def test_a_prior_of_an_own_kind_is_read_without_its_code() -> None:
    slope = "model.stack.shortcut.gate.slope"
    stack = {"depth": 3, "composition": 2, "shortcut": {"gate": {"kind": "soft_step"}}}
    given = {
        "name": "s",
        "code": [str(RIGHT)],
        "base": {"model": {"stack": stack}},
        "axes": {slope: {"choice": [1, 2], "prior": 1}},
    }
    with another_process():
        study, _ = load_study(given)
        tree, believed = study.model_dump(mode="json"), Space(study.space).beliefs[slope]
    with another_process():
        assert Space(StudyConfig.model_validate(tree).space).beliefs[slope] == believed
