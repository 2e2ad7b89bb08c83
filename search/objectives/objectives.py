"""The objectives of a study, as numbers of which larger is better."""

import math
from collections.abc import Mapping, Sequence
from typing import Literal

from skipstack.search.objectives.pareto import Vector

Objective = Literal["score", "parameters", "latency"]
"""``score``: the mean dev score. ``parameters``: those of one lane's network, known when a trial is proposed.
``latency``: seconds that reading 1,000 tokens of dev took one lane, on the worker that trained it."""


def further(objectives: Sequence[Objective], *, parameters: int | None, latency: float | None) -> Vector:
    """The objectives after the score, which are minimised: their negatives, -inf if unknown."""
    values: Mapping[Objective, float | None] = {"parameters": parameters, "latency": latency}
    return tuple(
        -math.inf if (value := values[name]) is None else -float(value) for name in objectives if name != "score"
    )
