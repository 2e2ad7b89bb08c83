"""The base of a function's study: what is given, and the middle of each axis that nothing is given of."""

import math
from typing import Any

import pytest

from skipstack.data.basis.errors import UserError
from skipstack.spaces.config import Axis, SpaceConfig
from skipstack.spaces.function import FunctionConfig, FunctionSource
from skipstack.spaces.function_base import function_base
from skipstack.spaces.space import Space
from skipstack.spaces.trial import TrialConfig, as_network

SOURCE = FunctionSource(name="objective", file="mine.py", source="0" * 16)


def axes(**given: dict[str, Any]) -> dict[str, Axis]:
    return {path.replace("_", "."): Axis.model_validate(axis) for path, axis in given.items()}


def test_what_an_axis_lacks_in_the_base_is_its_middle_or_its_first_choice() -> None:
    every = axes(
        a={"real": (1.0, 4.0)},
        b={"log": (0.01, 1.0)},
        c={"integer": (1, 4)},
        d_e={"choice": ("x", "y")},
        f={"real": (0, 1)},
    )
    base = function_base(SOURCE, {"f": 1, "d.g": [1, 2]}, every)
    assert base.values["a"] == 2.5
    assert base.values["b"] == pytest.approx(math.sqrt(0.01))
    assert base.values["c"] == 2
    assert base.values["d"] == {"g": [1, 2], "e": "x"}
    assert repr(base.values["f"]) == "1.0"


def test_a_space_of_a_function_gives_each_point_a_config_and_takes_it_back() -> None:
    every = axes(a={"choice": (1, 2.5, None)}, a2={"integer": (1, 3)}, kind={"choice": ("p", {"q": 1})})
    space = Space(SpaceConfig(base=function_base(SOURCE, {}, every), axes=every))
    points = list(space.enumerate())
    assert len(points) == 18
    configs = [space.config(point) for point in points]
    assert len({config.identity for config in configs}) == 18
    assert [space.point(config) for config in configs] == points
    assert all(type(config).model_validate_json(config.model_dump_json()) == config for config in configs)


def test_a_base_is_read_back_as_what_it_was() -> None:
    for base in (function_base(SOURCE, {"x": 1}, {}), TrialConfig()):
        config = SpaceConfig(base=base)
        again = SpaceConfig.model_validate_json(config.model_dump_json())
        assert again == config
        assert type(again.base) is type(base)
    assert as_network(TrialConfig()) == TrialConfig()
    with pytest.raises(UserError, match=r"objective in mine\.py is a function, which leaves no network"):
        as_network(function_base(SOURCE, {}, {}))


def test_another_source_is_another_function() -> None:
    one, other = (
        FunctionConfig.model_validate({"function": {**SOURCE.model_dump(), "source": digit * 16}, "x": 1})
        for digit in "01"
    )
    assert one.identity != other.identity
