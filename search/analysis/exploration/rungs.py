"""Compares rankings of trials after different numbers of epochs, to show whether it was right to stop trials at a rung.

A rung is an epoch after which a scheduler stops the weaker trials. The score at a rung is compared with the score of
the last epoch, not with the best score of all epochs. The best score is at least the score at the rung, so these two
would correlate even if scores were noise.
"""

import math
from collections.abc import Sequence
from itertools import product
from typing import Final

import pandas as pd

from skipstack.search.analysis.exploration.effects import IN_95

RUNG_COLUMNS: Final = ("rung", "n", "stopped", "whole", "correlation", "low", "high", "place_of_best")

PAIR_COLUMNS: Final = ("one", "other", "n", "correlation")

MOST: Final = 8
"""The maximum number of epochs that are compared."""

LEAST: Final = 10
"""The minimum number of trials for a correlation. With fewer trials, it varies by 0.3 and more by chance."""

BELOW_ONE: Final = 1 - 1e-12
"""The bound to which the size of a correlation is clipped for Fisher's scale, on which 1 is infinite."""


def rungs(
    scores: "pd.Series[float]",
    whole: "pd.Series[bool]",
    reached: pd.DataFrame,
    by_epoch: pd.DataFrame,
    epochs: Sequence[int],
) -> pd.DataFrame:
    """Return a frame with a row for each rung, a rung being one of ``epochs``.

    ``scores``, ``whole``, ``reached``: as for ``effects.effects``. ``by_epoch``: from
    ``frames.curves.scores_by_epoch``.

    The frame has these columns:

    ``n``: the number of trials that reached the rung. ``stopped``, ``whole``: how many of these were stopped at the
    rung, and how many were trained to their ends (whole trials).
    ``correlation``: Spearman's correlation of the whole trials' scores at the rung with their scores at the last epoch.
    ``low``, ``high``: the ends of its 95 % interval. All three are NaN for fewer than ``LEAST`` whole trials, or if all
    scores are equal. The stopped trials, which are the weaker ones, have no final score and do not count.
    ``place_of_best``: the rank at the rung, from 1, of the whole trial with the best final score. All trials that
    reached the rung are ranked by their best scores so far. NA without a whole trial.
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


def agreement(by_epoch: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with the rank correlation of scores after two epochs, for each ordered pair of epochs.

    ``by_epoch``: the score of each trial after each epoch, from ``frames.curves.scores_by_epoch``. At most ``MOST``
    epochs are compared, evenly spread and including the last. The correlation is Spearman's, over the ``n`` trials that
    were trained for both numbers of epochs. Only the best trials reach late epochs.
    """
    every = [int(epoch) for epoch in by_epoch.columns]
    step = max(1, -(-len(every) // MOST))
    chosen = sorted({*every[step - 1 :: step], *every[-1:]})
    rows = []
    for one, other in product(chosen, repeat=2):
        both = int(by_epoch[[one, other]].notna().all(axis=1).sum())
        value = correlation(by_epoch[one], by_epoch[other])
        rows.append({"one": one, "other": other, "n": both, "correlation": value})
    return pd.DataFrame(rows, columns=list(PAIR_COLUMNS))


def correlation(one: "pd.Series[float]", other: "pd.Series[float]") -> float:
    """Return Spearman's rank correlation of the trials with both values; NaN if undefined or below ``LEAST`` trials."""
    both = one.notna() & other.notna()
    one, other = one[both], other[both]
    if len(one) < LEAST or one.nunique() < 2 or other.nunique() < 2:
        return float("nan")
    return float(one.rank().corr(other.rank()))  # loading scipy.stats takes longer than making a report


def spread(value: float, number: int) -> tuple[float, float]:
    """Return the 95 % interval of Spearman's correlation ``value`` of ``number`` trials; NaN if the value is NaN.

    The interval is computed on Fisher's scale, artanh r. There the standard error is sqrt((1 + r^2 / 2) / (n - 3))
    (Bonett and Wright, 2000).
    """
    if math.isnan(value):
        return value, value
    middle = math.atanh(max(-BELOW_ONE, min(BELOW_ONE, value)))
    half = IN_95 * math.sqrt((1 + value**2 / 2) / (number - 3))
    return math.tanh(middle - half), math.tanh(middle + half)
