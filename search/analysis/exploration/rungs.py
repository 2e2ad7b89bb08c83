"""Compares rankings of trials after different numbers of epochs: whether it was right to stop trials at a rung."""

from collections.abc import Sequence
from typing import Final

import pandas as pd

RUNG_COLUMNS: Final = ("rung", "n", "stopped", "whole", "correlation", "place_of_best")

PAIR_COLUMNS: Final = ("one", "other", "n", "correlation")

MOST: Final = 8
"""The maximum number of epochs that are compared by default."""


def rungs(
    scores: "pd.Series[float]", whole: "pd.Series[bool]", reached: pd.DataFrame, epochs: Sequence[int]
) -> pd.DataFrame:
    """A row for each rung, after so many ``epochs``; the other arguments are those of ``effects.effects``.

    ``n``: the number of trials that reached the rung, ``stopped``: that ended there, ``whole``: with a final score.
    ``correlation``: Spearman's, of the scores at the rung with the final scores, over whole trials; NaN for fewer than
    three of them, or if all are equal. Stopped trials, which were the weaker ones, have no final score, so over all
    trials it would differ. ``place_of_best``: the place, from 1, of the best whole trial among all at the rung.
    """
    finals = scores[whole & scores.notna()]
    ends = reached.notna().sum(axis=1)
    rows = []
    for rung in epochs:
        there = reached[rung].dropna() if rung in reached.columns else pd.Series(dtype=float)
        known = there.index.intersection(finals.index)
        best = int(finals[known].to_numpy().argmax()) if len(known) else None
        stopped = (ends[there.index] == rung) & ~whole[there.index]
        rows.append(
            {
                "rung": rung,
                "n": len(there),
                "stopped": int(stopped.sum()),
                "whole": len(known),
                "correlation": correlation(there[known], finals[known]),
                "place_of_best": None if best is None else int((there > there[known].iloc[best]).sum()) + 1,
            }
        )
    return pd.DataFrame(rows, columns=list(RUNG_COLUMNS)).astype({"place_of_best": "Int64", "correlation": "float64"})


def agreement(reached: pd.DataFrame, epochs: Sequence[int] = ()) -> pd.DataFrame:
    """A row for each ordered pair of ``epochs``, by default evenly spread ones and the last.

    ``reached``: the best score up to each epoch, by trial (``best_so_far``). ``correlation``: Spearman's (as the
    function ``correlation``), over the ``n`` trials that were trained for both numbers of epochs. Stopped trials count
    only up to their last epoch, so for late epochs only the best trials count.
    """
    every = [int(epoch) for epoch in reached.columns]
    step = max(1, -(-len(every) // MOST))
    chosen = list(epochs) or sorted({*every[step - 1 :: step], *every[-1:]})
    rows = []
    for one in chosen:
        for other in chosen:
            both = reached[[one, other]].dropna() if one != other else reached[[one]].dropna()
            value = correlation(both[one], both[other])
            rows.append({"one": one, "other": other, "n": len(both), "correlation": value})
    return pd.DataFrame(rows, columns=list(PAIR_COLUMNS))


def correlation(one: "pd.Series[float]", other: "pd.Series[float]") -> float:
    """Spearman's rank correlation; NaN if it is undefined, and for two points, for which it is always 1 or -1."""
    if len(one) < 3 or one.nunique() < 2 or other.nunique() < 2:
        return float("nan")
    return float(one.rank().corr(other.rank()))  # scipy.stats takes longer to load than a report to make
