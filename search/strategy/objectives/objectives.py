"""The objectives of a study, as numbers of which larger is better."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, final, get_args

from skipstack.data.basis.errors import unknown
from skipstack.data.basis.explain import shown
from skipstack.search.strategy.objectives.pareto import Vector
from skipstack.spaces.function import Direction

Objective = Literal["score", "parameters", "latency"]
"""An objective of networks. ``score``: the mean dev score. ``parameters``: the number of parameters of one lane's
network, known when a trial is proposed. ``latency``: seconds that one lane takes to read 1,000 tokens of dev, on the
worker that trained it."""

Objectives = tuple[Objective, ...] | dict[str, Direction]
"""The objectives of a study, the score first: names for networks, or the values that a function reports, each with its
direction.
"""

TAKEN: Final = ("epoch", "seed", "test", "model")
"""Arguments of a report, whose names no objective can have."""


@final
@dataclass(frozen=True, slots=True)
class Further:
    """An objective after the score, called ``name``. ``column``: its name among metrics and in frames; ``sign``: 1
    where larger values are better, -1 where smaller ones are.
    """

    name: str
    column: str
    sign: Literal[1, -1]


def further(objectives: Objectives) -> tuple[Further, ...]:
    """The objectives after the score; those of networks are minimised."""
    if len(objectives) == 1:
        return ()
    if not isinstance(objectives, dict):
        return tuple(Further(name, name, -1) for name in objectives if name != "score")
    _, *others = objectives.items()
    return tuple(Further(name, column(name), 1 if direction == "maximize" else -1) for name, direction in others)


def column(name: str) -> str:
    """The name of a function's objective among metrics and in frames, prefixed since these have names of their own."""
    return f"objective_{name}"


def vector(sought: Sequence[Further], values: Mapping[str, float | None]) -> Vector:
    """The values by column as numbers of which larger is better: -inf if unknown."""
    return tuple(_ranked(each, values.get(each.column)) for each in sought)


def _ranked(sought: Further, value: float | None) -> float:
    return -math.inf if value is None or not math.isfinite(value) else sought.sign * float(value)


def checked_objectives(given: Any) -> Any:
    """Check the objectives that a study states, and return them. Raises ValueError for any that are not allowed."""
    if isinstance(given, Mapping):
        return _checked_directions(given)
    if not isinstance(given, list | tuple):
        raise ValueError(
            f"got {shown(given)} (allowed: a list of {', '.join(get_args(Objective))}; or of a function a mapping, "
            "such as {accuracy: maximize, seconds: minimize})"
        )
    for name in given:
        if name not in get_args(Objective):
            raise ValueError(unknown("objective", name, get_args(Objective)))
    if tuple(given[:1]) != ("score",) or len(set(given)) < len(given):
        got = ", ".join(given) or "none"
        raise ValueError(f"got the objectives {got} (allowed: score first, then any of the others, each once)")
    return given


def _checked_directions(given: Mapping[Any, Any]) -> Any:
    if not given:
        raise ValueError("got no objective (allowed: one or more, such as {accuracy: maximize, seconds: minimize})")
    for place, (name, direction) in enumerate(given.items()):
        if not isinstance(name, str) or not name.isidentifier() or name in TAKEN or (place and name == "score"):
            raise ValueError(
                f"got an objective called {shown(name)} (allowed: a Python name other than {', '.join(TAKEN)}; score "
                "as the first)"
            )
        if direction not in get_args(Direction):
            raise ValueError(f"{name}: {unknown('direction', direction, get_args(Direction))}")
    return dict(given)
