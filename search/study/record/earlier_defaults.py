"""Completes stacks among the values of axes, as ledgers of earlier versions have them, with the composition that they
meant.

A stack without ``composition`` had composition 2 before version 0.3.0; now it has 0. A ledger has every field of the
base. Of a value of an axis, such as a whole stack, it has every field now, and had only the given ones before.
"""

from collections.abc import Mapping
from typing import Any, Final

from skipstack.spaces.domains import Json
from skipstack.spaces.function import FUNCTION

COMPOSITION: Final = 2
"""The composition that a stack without one had in earlier versions."""


def completed_study(study: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON of a recorded study with the values of its axes completed. Axes of a user's function stay as they
    are.
    """
    space = study.get("space", {})
    if FUNCTION in space.get("base", {}):
        return dict(study)
    axes = {path: _completed_axis(path, axis) for path, axis in space.get("axes", {}).items()}
    return {**study, "space": {**space, "axes": axes}}


def completed(path: str, value: Json) -> Json:
    """Return a value at a path of a config, completed if it is a stack of recurrent layers, or a model with one."""
    if not isinstance(value, dict):
        return value
    if path == "model" and "stack" in value:
        return {**value, "stack": completed("model.stack", value["stack"])}
    if path == "model.stack" and value.get("kind") == "recurrent":
        return {"composition": COMPOSITION, **value}
    return value


def _completed_axis(path: str, axis: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(axis)
    if axis.get("choice") is not None:
        found["choice"] = [completed(path, value) for value in axis["choice"]]
    if axis.get("named") is not None:
        found["named"] = {name: completed(path, value) for name, value in axis["named"].items()}
    if axis.get("prior") is not None:
        found["prior"] = completed(path, axis["prior"])
    if axis.get("when"):
        found["when"] = {other: [completed(other, value) for value in values] for other, values in axis["when"].items()}
    return found
