"""Ledgers in which a stack without a composition has composition 2, as before version 0.3.0, are read as they were."""

from copy import deepcopy
from typing import Any

import pytest

from skipstack.search.execution.driver.functions import source_of
from skipstack.search.ledger.events import Extended, StudyOpened
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.record.extension import extended
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.study_files.study_file import load_study
from skipstack.spaces.domains import Choice
from skipstack.spaces.settled import typed_choices
from skipstack.spaces.space import Space

DEEP: dict[str, Any] = {"kind": "recurrent", "depth": 3, "hidden": 8}
FLAT: dict[str, Any] = {"kind": "recurrent", "depth": 1, "hidden": 8}
FEEDBACK: dict[str, Any] = {"kind": "feedback", "hidden": 8}

AXES: dict[str, Any] = {
    "model.stack": {"named": {"deep": DEEP, "flat": FLAT, "feedback": FEEDBACK}},
    "training.batch_size": {"choice": [16, 32], "when": {"model.stack": [DEEP]}},
    "model": {"choice": [{"stack": DEEP}, {"stack": {"depth": 3}}, {"embedder": {"kind": "tokens", "word_size": 8}}]},
}


def called(config: Any) -> float:
    return float(config["model"]["stack"]["depth"])


def read(axes: dict[str, Any]) -> StudyConfig:
    """A study as a record reads it from a ledger with these axes, written down as they were given."""
    study, _ = load_study({"base": {"model": {"stack": {"depth": 1}}}})
    tree = study.model_dump(mode="json")
    tree["space"]["axes"] = deepcopy(axes)
    return StudyRecord.of([StudyOpened(time=0.0, study=tree, code_version="0.2.0")]).study


def compositions(study: StudyConfig, axis: str) -> list[Any]:
    return [value.get("composition") for value in values(study, axis)]


def values(study: StudyConfig, axis: str) -> tuple[Any, ...]:
    domain = Space(study.space).domains[axis]
    assert isinstance(domain, Choice)
    return domain.values


def test_a_recorded_stack_without_a_composition_has_that_of_earlier_versions() -> None:
    study = read({axis: AXES[axis] for axis in ("model.stack", "training.batch_size")})
    assert compositions(study, "model.stack") == [2, 2, None]
    space = Space(study.space)
    assert sum(1 for _ in space.enumerate()) == 2 + 1 + 1  # the batch size varies only with the deep stack
    models = values(read({"model": AXES["model"]}), "model")
    assert [model["stack"]["composition"] for model in models[:2]] == [2, 2]
    more = extended(study, Extended(time=1.0, choices={"model.stack": ({"deeper": {**DEEP, "depth": 5}},)}))
    assert compositions(more, "model.stack") == [2, 2, None, 2]


@pytest.mark.parametrize("axes", [{"model.stack": AXES["model.stack"]}, {"model.stack": {"choice": [DEEP, FLAT]}}])
def test_a_new_study_is_recorded_with_the_composition_that_it_has(axes: dict[str, Any]) -> None:
    study, _ = load_study({"axes": axes})
    assert set(compositions(study, "model.stack")) <= {0, None}
    again = StudyRecord.of([StudyOpened(time=0.0, study=study.model_dump(mode="json"), code_version="0.3.0")]).study
    assert again == study
    given: Any = {"deeper": {**DEEP, "depth": 5}} if "named" in axes["model.stack"] else {**DEEP, "depth": 5}
    choices = typed_choices(Space(study.space), {"model.stack": [given]})
    more = extended(study, Extended(time=1.0, choices={path: tuple(values) for path, values in choices.items()}))
    assert compositions(more, "model.stack")[-1] == 0


def test_axes_of_a_function_are_read_as_they_are() -> None:
    study, _ = load_study({"axes": {"model.stack": {"choice": [FLAT, DEEP]}}}, function=source_of(called))
    again = StudyRecord.of([StudyOpened(time=0.0, study=study.model_dump(mode="json"), code_version="0.3.0")]).study
    assert again == study
    assert values(again, "model.stack") == (FLAT, DEEP)
