"""The effect of each value on the final score, other axes being equal, if the trials support an estimate.

Effects come from the additive model (``additive_model.py``) of all trials, in which stopped trials are censored. A
whole trial is one that was trained to its end.

Values get effects only if a search has more whole trials than the model has free parameters, and at least as many whole
trials as stopped trials. With fewer whole trials, effects would depend on the predicted final scores of stopped trials.
In recorded searches, such effects were further from the truth than 0.

A value gets an effect only if at least ``LEAST_WHOLE`` whole trials have it, and at least as many whole trials have
some other value of its axis. The whole trials must also separate the value from values of other axes
(``Effects.untold``).

An effect is relative to the mean effect of those values of its axis that at least ``LEAST_WHOLE`` whole trials have. If
trials were drawn at random and none was stopped, its band, a nominal 95 % interval, contains the true effect in about
95 % of cases. Otherwise it contains the true effect in fewer cases (``docs/calibration.md`` has the measured shares).
If the band contains 0, the sign is open.
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
"""The 97.5 % quantile of the standard normal distribution: 95 % of the distribution lie within this distance of 0."""


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of a value on scores, the ends of its band, and the number of ``whole`` trials that have the value."""

    value: float
    low: float
    high: float
    whole: int

    @property
    def open(self) -> bool:
        """Whether the band contains 0, so that the sign of the effect is unknown."""
        return self.low <= 0 <= self.high


@dataclass(frozen=True, slots=True)
class Effects:
    """The effects of values on the score, as far as the trials support them.

    A part is one value of a choice, or a range of numbers.

    ``of``: the effect of each part that has one.
    ``untold``: maps each tried part without an effect to the axes that it is confounded with in the whole trials. There
    are no such axes if too few whole trials have the part, or another part of its axis. If the whole search has too few
    whole trials for effects (see the top of this file), both ``of`` and ``untold`` are empty.
    ``whole``, ``stopped``: the numbers of whole and of stopped trials in the model.
    ``columns``: the number of free parameters of the model.
    ``model``: the fitted model.
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
    """Estimate the effects of all tried parts. The arguments are those of ``additive_model.fit``."""
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
    """Return each axis without which a part's effect would be identified; None if it is identified already."""
    if _identified(parts, seen, axis, part):
        return None
    others = [each for each in seen if each != axis]
    without = {each: {name: own for name, own in seen.items() if name != each} for each in others}
    return tuple(each for each in others if _identified(parts, without[each], axis, part))


def _identified(parts: pd.DataFrame, seen: Mapping[str, Sequence[int]], axis: str, part: int) -> bool:
    """Whether the trials with these ``parts`` identify the effect of a part in the additive model.

    The effect is taken relative to the mean of the parts ``seen`` of its axis. It is identified if it is a linear
    function of the trials' expected scores.
    """
    keys = [(each, one) for each, own in seen.items() for one in own]
    design_NP, own = design(parts, seen), len(seen[axis])
    contrast_P = np.array([0.0, *((key == (axis, part)) - (key[0] == axis) / own for key in keys)])
    nearest_N = np.linalg.lstsq(design_NP.T, contrast_P, rcond=1e-9)[0]
    return bool(np.allclose(design_NP.T @ nearest_N, contrast_P, atol=1e-8))
