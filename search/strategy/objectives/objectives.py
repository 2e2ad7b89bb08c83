"""The objectives of a study: names, directions, and values converted so that larger is better."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, final, get_args

from skipstack.data.basis.errors import unknown
from skipstack.data.basis.explain import shown
from skipstack.search.strategy.objectives.pareto import Vector
from skipstack.spaces.function import Direction

Objective = Literal["score", "parameters", "latency"]
"""An objective of networks. ``score``: the mean dev score. ``parameters``: the number of parameters of one lane (one
seed's copy of the network), known when a trial is proposed. ``latency``: the seconds that one lane takes to read 1,000
tokens of dev, on the worker that trained it.
"""

Objectives = tuple[Objective, ...] | dict[str, Direction]
"""The objectives of a study, the score first. For networks: names from ``Objective``. For a function: the names of the
values that it reports, each with its direction.
"""

TAKEN: Final = ("epoch", "seed", "test", "model")
"""Names that no objective can have, because the arguments of a report have these names."""


@final
@dataclass(frozen=True, slots=True)
class Further:
    """An objective other than the score. ``name``: its name in the study. ``column``: its name among metrics and in
    frames. ``sign``: 1 if larger values are better, -1 if smaller values are better.
    """

    name: str
    column: str
    sign: Literal[1, -1]


def further(objectives: Objectives) -> tuple[Further, ...]:
    """The objectives of a study other than the score, in order. ``parameters`` and ``latency`` are minimised."""
    if len(objectives) == 1:
        return ()
    if not isinstance(objectives, dict):
        return tuple(Further(name, name, -1) for name in objectives if name != "score")
    _, *others = objectives.items()
    return tuple(Further(name, column(name), 1 if direction == "maximize" else -1) for name, direction in others)


def column(name: str) -> str:
    """The column of a function's objective among metrics and in frames; the prefix avoids name clashes."""
    return f"objective_{name}"


def vector(sought: Sequence[Further], values: Mapping[str, float | None]) -> Vector:
    """Convert values so that larger is better, and return them in the order of ``sought``. ``values``: a value for each
    ``Further.column``. A missing or non-finite value becomes -inf.
    """
    return tuple(_ranked(each, values.get(each.column)) for each in sought)


def _ranked(sought: Further, value: float | None) -> float:
    return -math.inf if value is None or not math.isfinite(value) else sought.sign * float(value)


def checked_objectives(given: Any) -> Any:
    """Return the objectives of a study file if they are allowed. Raises ValueError otherwise."""
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
