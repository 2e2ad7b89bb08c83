"""Adds the former default of ``composition`` to stacks among the values of axes in ledgers of earlier versions.

Before version 0.3.0, a stack without ``composition`` had composition 2; now it has 0. Ledgers have always had every
field of the base. But if the value of an axis is a mapping, such as a whole stack, earlier ledgers have only the fields
that the user gave.
"""

from typing import Final

from skipstack.search.study.config import StudyConfig
from skipstack.spaces.config import Axis
from skipstack.spaces.domains import Json
from skipstack.spaces.trial import TrialConfig

COMPOSITION: Final = 2
"""The value that earlier versions used for a stack without ``composition``."""


def completed_study(study: StudyConfig) -> StudyConfig:
    """Return a recorded study with the values of its axes completed. Axes of a user's function stay as they are."""
    if not isinstance(study.space.base, TrialConfig):
        return study
    axes = {path: _completed_axis(path, axis) for path, axis in study.space.axes.items()}
    return study.model_copy(update={"space": study.space.model_copy(update={"axes": axes})})


def completed(path: str, value: Json) -> Json:
    """Return a value at a path of a config, completed if it is a stack of recurrent layers, or a model with one."""
    if not isinstance(value, dict):
        return value
    if path == "model" and "stack" in value:
        return {**value, "stack": completed("model.stack", value["stack"])}
    if path == "model.stack" and value.get("kind", "recurrent") == "recurrent":
        return {"composition": COMPOSITION, **value}
    return value


def _completed_axis(path: str, axis: Axis) -> Axis:
    found: dict[str, object] = {
        "prior": completed(path, axis.prior),
        "when": {on: tuple(completed(on, value) for value in values) for on, values in axis.when.items()},
    }
    if axis.choice is not None:
        found["choice"] = tuple(completed(path, value) for value in axis.choice)
    if axis.named is not None:
        found["named"] = {name: completed(path, value) for name, value in axis.named.items()}
    return axis.model_copy(update=found)
