"""The expected best score of a search with fewer trials, and an upper bound for one with more."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

COLUMNS: Final = ("trials", "epochs", "expected_best")

POINTS: Final = 40
"""The maximum number of points at which it is computed."""


def expected_best(scores: Sequence[float], epochs: float) -> pd.DataFrame:
    """A row for each of several numbers of trials k, ascending, the last being all N.

    ``expected_best`` is the expectation of the maximum of k scores, drawn with replacement from the N ``scores`` (Dodge
    et al., "Show Your Work: Improved Reporting of Experimental Results", 2019, equations 5 to 7): with the ascending
    scores v_1, ..., v_N

        E[max of k] = sum_i v_i ((i / N)^k - ((i - 1) / N)^k)

    ``epochs``: the cost of k trials, k / N of the ``epochs`` of all N. The expectation is exact for a search that draws
    its trials independently; in one that learns, later trials are better than earlier ones.
    """
    ordered = np.sort(np.asarray(scores, dtype=float))
    number = len(ordered)
    counts = np.unique(np.geomspace(1, number, POINTS).round().astype(int)) if number else np.array([], dtype=int)
    below = np.arange(number + 1)[None, :] / max(number, 1)
    shares = np.diff(below ** counts[:, None], axis=1)
    spent = counts * (epochs / max(number, 1))
    return pd.DataFrame({"trials": counts, "epochs": spent, "expected_best": shares @ ordered})


LEAST: Final = 4
"""The minimum number of trials with a score for an estimate of the gain of more."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Continued:
    """The gain of continuing with half as many ``trials`` again, for so many ``epochs``: in expectation the best score
    rises by at most ``most``. ``seed_deviation``: between the seeds of a trial; None with single seeds.
    """

    trials: int
    epochs: float
    most: float
    seed_deviation: float | None

    @property
    def worth_it(self) -> bool:
        """Whether the gain is at least a tenth of the seed deviation, or that is unknown."""
        return self.seed_deviation is None or self.most >= self.seed_deviation / 10


def continued(scores: Sequence[float], epochs: float, seed_deviation: float | None) -> Continued | None:
    """An upper bound of the gain of half as many trials again; None with fewer than ``LEAST`` trials.

    Of trials drawn independently, each adds less to the expected maximum than the one before: the expectation of the
    maximum of k scores is concave in k. So h = N // 2 more trials add at most what the last h of the N added,

        E[max of N + h] - E[max of N] <= E[max of N] - E[max of N - h],

    estimated without bias over all ways to leave out h trials: with the ascending scores v_1, ..., v_N

        v_N - sum_i v_i C(i - 1, N - h - 1) / C(N, N - h)

    A search that learns from its trials may do better.
    """
    ordered = np.sort(np.asarray(scores, dtype=float))
    number = len(ordered)
    if number < LEAST:
        return None
    more = number // 2
    kept = number - more
    places = np.arange(number, kept, -1)
    falling = np.concatenate([[kept / number], (places - kept) / (places - 1)])
    weights = np.cumprod(falling)  # of v_N, v_{N-1}, ..., v_kept
    before = float(weights @ ordered[::-1][: len(weights)])
    most = max(float(ordered[-1]) - before, 0.0)
    return Continued(trials=more, epochs=epochs * more / number, most=most, seed_deviation=seed_deviation)
