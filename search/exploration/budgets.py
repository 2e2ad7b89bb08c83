"""The best score to expect of a search with fewer trials, so that searches of unequal budgets can be compared."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd

COLUMNS: Final = ("trials", "epochs", "expected_best")

POINTS: Final = 40
"""Numbers of trials, at most, at which it is computed."""


def expected_best(scores: Sequence[float], epochs: float) -> pd.DataFrame:
    """A row for each of several numbers of trials k, ascending, the last being all N.

    ``expected_best`` is the expectation of the maximum of k scores, drawn with replacement from the N ``scores`` (Dodge
    et al., "Show Your Work: Improved Reporting of Experimental Results", 2019, equations 5 to 7): with the ascending
    scores v_1, ..., v_N

        E[max of k] = sum_i v_i ((i / N)^k - ((i - 1) / N)^k)

    ``epochs``: what k trials cost, of the ``epochs`` that all N did: k / N of them. It is exact for a search that draws
    its trials independently; of one that learns from its trials, late ones are better than early ones.
    """
    ordered = np.sort(np.asarray(scores, dtype=float))
    number = len(ordered)
    counts = np.unique(np.geomspace(1, number, POINTS).round().astype(int)) if number else np.array([], dtype=int)
    below = np.arange(number + 1)[None, :] / max(number, 1)
    shares = np.diff(below ** counts[:, None], axis=1)
    spent = counts * (epochs / max(number, 1))
    return pd.DataFrame({"trials": counts, "epochs": spent, "expected_best": shares @ ordered})
