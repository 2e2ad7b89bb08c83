"""Finds the axes that stand out: scores differ between their values more than in a search in which no axis matters.

Trials are ranked as proposers rank them: whole trials (trained to their ends) above stopped trials. Whole trials are
sorted by score, stopped trials by last epoch and then by score. The final scores of stopped trials are not predicted.
Each axis is tested given the axes that stand out more (``search/statistics/forward_selection.py``). The test compares
the parts that tables show (single values or ranges of numbers). An axis of numbers or ordinal values is also tested for
a linear trend.

The error rate ``LEVEL`` requires points that are drawn without regard to scores; ``docs/calibration.md`` has the
measured rate for a proposer that learns.
"""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pandas as pd

from skipstack.search.analysis.exploration.levels import INACTIVE, Domains
from skipstack.search.analysis.exploration.places import places
from skipstack.search.statistics.forward_selection import selected
from skipstack.search.statistics.pseudo_values import Values
from skipstack.spaces.domains import Domain

LEVEL: Final = 0.001
"""The level of the test: the maximum share of searches in which some axis stands out although no axis matters."""


def standing_out(
    scores: "pd.Series[float]",
    points: pd.DataFrame,
    whole: "pd.Series[bool]",
    reached: pd.DataFrame,
    parts: pd.DataFrame,
    domains: Domains,
) -> list[str]:
    """Return the axes that stand out, the clearest first.

    ``points``: the value of each trial on each axis. ``scores``, ``whole``, ``reached``, ``parts``: as for
    ``additive_model.fit``.
    """
    scored = scores.index[scores.notna()]
    epochs = reached.notna().sum(axis=1).reindex(scored, fill_value=0).astype(float)
    order = pd.DataFrame({"epochs": epochs.where(~whole[scored], np.inf), "score": scores.loc[scored]})
    place_N = order.groupby(["epochs", "score"]).ngroup().to_numpy().astype(np.float64)
    tried = [axis for axis in domains if points.loc[scored, axis].nunique() > 1]
    factors = {
        axis: [_of_parts(parts.loc[scored, axis]), *_line(points.loc[scored, axis], domains[axis])] for axis in tried
    }
    return selected(place_N, factors, LEVEL)


def _of_parts(own: "pd.Series[int]") -> Values:
    """Return a column for each tried part of an axis: 1 for trials with the part, 0 for others, NaN if inactive."""
    tried = sorted(set(own) - {INACTIVE})
    columns_NK = np.equal.outer(own.to_numpy(), tried).astype(np.float64)
    columns_NK[own.to_numpy() == INACTIVE] = np.nan
    return np.asarray(columns_NK)


def _line(own: "pd.Series[Any]", domain: Domain) -> Iterator[Values]:
    """Yield a column with the position of each trial on an axis of one dimension (``places``); nothing for other axes.

    The position is NaN if the axis is inactive.
    """
    has_N = own.notna().to_numpy()
    place_MD, _ = places(own[has_N], domain)
    if place_MD.shape[1] == 1:
        place_N1 = np.full((len(own), 1), np.nan)
        place_N1[has_N] = place_MD
        yield place_N1
