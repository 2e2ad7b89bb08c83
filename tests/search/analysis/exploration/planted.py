"""Searches with a known truth: a final score is a sum of effects and noise, and weak trials are stopped on the way."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from skipstack.search.analysis.exploration.levels import INACTIVE

EPOCHS: Final = 9
RUNGS: Final = (1, 3)

TRUTH: Final[dict[str, tuple[float, ...]]] = {
    "depth": (-0.06, 0.01, 0.05),
    "gate": (-0.02, 0.02),
    "rate": (0.01, 0.0, -0.01),
}
"""The effect of each part. ``gate`` is active but at the first depth."""


@dataclass(frozen=True)
class Planted:
    scores: "pd.Series[float]"
    whole: "pd.Series[bool]"
    reached: pd.DataFrame
    parts: pd.DataFrame
    finals: "pd.Series[float]"
    """What each trial would have reached."""


def planted(
    seed: int, trials: int = 120, *, noise: float = 0.03, stopping: bool = True, spread: float = 0.3
) -> Planted:
    """Trials at random points, of which at each rung the better half goes on.

    What a trial still lacks at an epoch falls with the epochs and varies from trial to trial, by ``spread`` of it.
    """
    generator = np.random.default_rng(seed)
    parts = pd.DataFrame({axis: generator.integers(len(of), size=trials) for axis, of in TRUTH.items()})
    parts.loc[parts["depth"] == 0, "gate"] = INACTIVE
    finals = 0.8 + noise * generator.normal(size=trials)
    for axis, of in TRUTH.items():
        finals += np.append(of, 0.0)[parts[axis]]
    lacking = (
        0.1 * generator.uniform(1 - spread, 1 + spread, size=(trials, 1)) * (1 - np.arange(1, EPOCHS + 1) / EPOCHS)
    )
    reached = pd.DataFrame(finals[:, None] - lacking, columns=range(1, EPOCHS + 1))
    ends = np.full(trials, EPOCHS)
    for rung in RUNGS if stopping else ():
        there = ends == EPOCHS
        cut = np.median(reached.loc[there, rung])
        ends[there & (reached[rung] < cut)] = rung
    reached = reached.where(np.arange(1, EPOCHS + 1) <= ends[:, None])
    scores = reached.max(axis=1)
    return Planted(scores, pd.Series(ends == EPOCHS), reached, parts, pd.Series(finals))
