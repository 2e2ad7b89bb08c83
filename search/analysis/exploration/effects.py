"""The effect of each value on the final score, other axes being equal, wherever the trials can support one.

Effects come from the additive model (``additive_model.py``) of all trials, stopped ones as censored. No effect is given

- unless more trials were trained to their ends than the model has free parameters, and no fewer than were stopped:
  otherwise its effects depend on how the ends of stopped trials are predicted, and on recorded searches they were then
  further from the truth than 0 is;
- for a value with fewer than ``LEAST_WHOLE`` whole trials, or one that whole trials do not tell apart from values of
  other axes (which ``Effects.untold`` has).

An effect is relative to the mean of those values of its axis that have enough whole trials. Its band contains the true
effect in about 95 % of cases if trials were drawn at random and none stopped, in fewer otherwise
(``docs/calibration.md`` has measured how often). If the band contains 0, the sign is open.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from skipstack.search.analysis.exploration.additive_model import Fit, Key, design, fit

LEAST_WHOLE: Final = 2
"""The minimum number of whole trials for the effect of a value, or for the interaction of a pair of values."""

IN_95: Final = 1.959964
"""Standard deviations of a normal distribution on both sides of its mean that hold 95 %."""


@dataclass(frozen=True, slots=True)
class Effect:
    """An effect on scores, the ends of its band, and the number of ``whole`` trials with the value."""

    value: float
    low: float
    high: float
    whole: int

    @property
    def open(self) -> bool:
        """Whether the band holds 0, so that nothing is known of the sign."""
        return self.low <= 0 <= self.high


@dataclass(frozen=True, slots=True)
class Effects:
    """The effects of values on the score, as far as the trials support them.

    ``of``: the effect of each part that has one. ``untold``: for each other tried part, the axes from whose values
    whole trials do not tell it apart; none if it has too few whole trials. Both are empty if whole trials are not more
    than ``columns``, the number of free parameters of the model, or fewer than stopped ones. ``whole``, ``stopped``:
    the numbers of trials in the model; ``model``: the model itself.
    """

    of: Mapping[Key, Effect]
    untold: Mapping[Key, tuple[str, ...]]
    whole: int
    stopped: int
    columns: int
    model: Fit


def effects(
    scores: "pd.Series[float]", whole: "pd.Series[bool]", reached: pd.DataFrame, parts: pd.DataFrame
) -> Effects:
    """The effects of all tried parts; the arguments are those of ``additive_model.fit``."""
    model = fit(scores, whole, reached, parts)
    ends = whole[model.expected.index]
    of_whole = parts.loc[ends.index[ends]]
    tried = {axis: [part for of, part in model.keys if of == axis] for axis, _ in model.keys}
    columns = 1 + sum(len(own) - 1 for own in tried.values())
    told: dict[Key, Effect] = {}
    untold: dict[Key, tuple[str, ...]] = {}
    counts = {(axis, part): int((of_whole[axis] == part).sum()) for axis, part in model.keys}
    seen = {axis: [part for part in own if counts[axis, part] >= LEAST_WHOLE] for axis, own in tried.items()}
    enough = len(of_whole) > columns and 2 * len(of_whole) >= len(ends)
    for axis, part in model.keys if enough else ():
        hidden = _hidden(of_whole, seen, axis, part) if part in seen[axis] else ()
        if part not in seen[axis] or len(seen[axis]) < 2 or hidden is not None:
            untold[axis, part] = hidden or ()
        else:
            value, deviation = model.effect(axis, part, seen[axis])
            band = IN_95 * deviation
            told[axis, part] = Effect(value, value - band, value + band, counts[axis, part])
    return Effects(told, untold, int(ends.sum()), int((~ends).sum()), columns, model)


def _hidden(parts: pd.DataFrame, seen: Mapping[str, Sequence[int]], axis: str, part: int) -> tuple[str, ...] | None:
    """The axes each of which alone hides an effect from these trials; None if none does."""
    if _identified(parts, seen, axis, part):
        return None
    others = [each for each in seen if each != axis]
    without = {each: {name: own for name, own in seen.items() if name != each} for each in others}
    return tuple(each for each in others if _identified(parts, without[each], axis, part))


def _identified(parts: pd.DataFrame, seen: Mapping[str, Sequence[int]], axis: str, part: int) -> bool:
    """Whether an effect, relative to the mean of the parts ``seen`` of its axis, is a linear function of the expected
    scores of these trials.
    """
    keys = [(each, one) for each, own in seen.items() for one in own]
    design_NP, own = design(parts, seen), len(seen[axis])
    contrast_P = np.array([0.0, *((key == (axis, part)) - (key[0] == axis) / own for key in keys)])
    nearest_N = np.linalg.lstsq(design_NP.T, contrast_P, rcond=1e-9)[0]
    return bool(np.allclose(design_NP.T @ nearest_N, contrast_P, atol=1e-8))
