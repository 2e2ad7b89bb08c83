"""How alike the scores after any two numbers of epochs rank the trials: from where on a short training tells."""

from collections.abc import Sequence
from typing import Final

import pandas as pd

from skipstack.search.analysis.exploration.rungs import correlation

COLUMNS: Final = ("one", "other", "n", "correlation")

MOST: Final = 8
"""Numbers of epochs that are compared, at most."""


def agreement(reached: pd.DataFrame, epochs: Sequence[int] = ()) -> pd.DataFrame:
    """A row for each ordered pair of ``epochs``, by default evenly spread ones and the last.

    ``reached``: by trial the best score up to each epoch (``reached.reached``). ``correlation``: Spearman's, over the
    ``n`` trials that were trained as long as either; NaN as ``rungs.correlation`` has it. Trials that were stopped
    early count only as far as they came, so that the best ones decide of late epochs.
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
    return pd.DataFrame(rows, columns=list(COLUMNS))
