"""The best score to expect of a search with fewer trials, and at most of one with more: what search is worth."""

from collections.abc import Sequence
from dataclasses import dataclass
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


LEAST: Final = 4
"""Trials with a score, at least, from which it is said what more of them would give."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Continued:
    """What half as many ``trials`` again would give, for as many ``epochs`` as trials took so far: the best score rises
    by ``most`` at most, in expectation. ``seed_deviation``: how much the seeds of a trial deviate; None of single ones.
    """

    trials: int
    epochs: float
    most: float
    seed_deviation: float | None

    @property
    def worth_it(self) -> bool:
        """Whether it is a tenth of a seed's deviation or more, or that is not known."""
        return self.seed_deviation is None or self.most >= self.seed_deviation / 10


def continued(scores: Sequence[float], epochs: float, seed_deviation: float | None) -> Continued | None:
    """What half as many trials again would give at most; None where there are fewer than ``LEAST``.

    Of trials drawn independently, each adds less to the expected maximum than the one before: the expectation of the
    maximum of k scores is concave in k. So h = N // 2 more trials add at most what the last h of the N added,

        E[max of N + h] - E[max of N] <= E[max of N] - E[max of N - h],

    whose unbiased estimate is that of all ways to leave h trials out: with the ascending scores v_1, ..., v_N

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
