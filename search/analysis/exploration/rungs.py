"""Compares rankings of trials after different numbers of epochs: whether it was right to stop trials at a rung.

The score of an epoch is compared with that of the last one, not with the best of all: the best of all epochs is at
least that of any rung, so the two would correlate where scores are noise.
"""

import math
from collections.abc import Sequence
from typing import Final

import pandas as pd

from skipstack.search.analysis.exploration.effects import IN_95

RUNG_COLUMNS: Final = ("rung", "n", "stopped", "whole", "correlation", "low", "high", "place_of_best")

PAIR_COLUMNS: Final = ("one", "other", "n", "correlation")

MOST: Final = 8
"""The maximum number of epochs that are compared by default."""

LEAST: Final = 10
"""The minimum number of trials for a correlation: of fewer it varies by 0.3 and more."""

BELOW_ONE: Final = 1 - 1e-12
"""The largest correlation on Fisher's scale, on which 1 is infinite."""


def rungs(
    scores: "pd.Series[float]",
    whole: "pd.Series[bool]",
    reached: pd.DataFrame,
    by_epoch: pd.DataFrame,
    epochs: Sequence[int],
) -> pd.DataFrame:
    """A row for each rung, after so many ``epochs``.

    ``scores``, ``whole``, ``reached``: as for ``effects.effects``. ``by_epoch``: the score of each epoch, a column for
    each (``frames.curves.scores_by_epoch``). ``n``: the number of trials that reached the rung, ``stopped``: that ended
    there, ``whole``: with a final score. ``correlation``: Spearman's, of the scores at the rung with those of the last
    epoch, over whole trials, and the ends ``low`` and ``high`` of its 95 % interval; NaN for fewer than ``LEAST`` of
    them, or if all are equal. Stopped trials, which were the weaker ones, have no final score, so over all trials it
    would differ. ``place_of_best``: the place, from 1, of the best whole trial among all at the rung.
    """
    finals = scores[whole & scores.notna()]
    last = by_epoch.reindex(finals.index).ffill(axis=1).iloc[:, -1] if by_epoch.shape[1] else finals
    ends = reached.notna().sum(axis=1)
    rows = []
    for rung in epochs:
        there = reached[rung].dropna() if rung in reached.columns else pd.Series(dtype=float)
        known = there.index.intersection(finals.index)
        best = int(finals[known].to_numpy().argmax()) if len(known) else None
        stopped = (ends[there.index] == rung) & ~whole[there.index]
        value = correlation(by_epoch.loc[known, rung], last[known]) if len(known) else float("nan")
        low, high = spread(value, len(known))
        rows.append(
            {
                "rung": rung,
                "n": len(there),
                "stopped": int(stopped.sum()),
                "whole": len(known),
                "correlation": value,
                "low": low,
                "high": high,
                "place_of_best": None if best is None else int((there > there[known].iloc[best]).sum()) + 1,
            }
        )
    numbers = dict.fromkeys(("correlation", "low", "high"), "float64")
    return pd.DataFrame(rows, columns=list(RUNG_COLUMNS)).astype({"place_of_best": "Int64", **numbers})


def agreement(by_epoch: pd.DataFrame, epochs: Sequence[int] = ()) -> pd.DataFrame:
    """A row for each ordered pair of ``epochs``, by default evenly spread ones and the last.

    ``by_epoch``: the score of each epoch, by trial (``frames.curves.scores_by_epoch``). ``correlation``: Spearman's (as
    the function ``correlation``), over the ``n`` trials that were trained for both numbers of epochs. Stopped trials
    count only up to their last epoch, so for late epochs only the best trials count.
    """
    every = [int(epoch) for epoch in by_epoch.columns]
    step = max(1, -(-len(every) // MOST))
    chosen = list(epochs) or sorted({*every[step - 1 :: step], *every[-1:]})
    rows = []
    for one in chosen:
        for other in chosen:
            both = by_epoch[[one, other]].dropna() if one != other else by_epoch[[one]].dropna()
            value = correlation(both[one], both[other])
            rows.append({"one": one, "other": other, "n": len(both), "correlation": value})
    return pd.DataFrame(rows, columns=list(PAIR_COLUMNS))


def correlation(one: "pd.Series[float]", other: "pd.Series[float]") -> float:
    """Spearman's rank correlation; NaN if it is undefined, and for fewer than ``LEAST`` trials."""
    both = one.notna() & other.notna()
    one, other = one[both], other[both]
    if len(one) < LEAST or one.nunique() < 2 or other.nunique() < 2:
        return float("nan")
    return float(one.rank().corr(other.rank()))  # scipy.stats takes longer to load than a report to make


def spread(value: float, number: int) -> tuple[float, float]:
    """The 95 % interval of Spearman's correlation of ``number`` trials (Bonett and Wright, 2000), on Fisher's scale.

    The standard error of artanh r is there sqrt((1 + r^2 / 2) / (n - 3)). NaN where the correlation is.
    """
    if math.isnan(value):
        return value, value
    middle = math.atanh(max(-BELOW_ONE, min(BELOW_ONE, value)))
    half = IN_95 * math.sqrt((1 + value**2 / 2) / (number - 3))
    return math.tanh(middle - half), math.tanh(middle + half)
