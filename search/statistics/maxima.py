"""An upper bound of how much further random draws are expected to improve the best score so far."""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

CONFIDENCE: Final = 0.9
"""The confidence of the bound if the tail of the scores is exponential; it is higher for a lighter tail."""


def gain_of_more(scores: Sequence[float], more: float, *, best: int) -> float:
    """Return an upper bound of the expected increase of the best of N scores after further independent draws.

    ``scores``: the N scores so far. ``more``: the number h of further draws. ``best``: the number k of best scores from
    which the tail is estimated, from 1 to N - 1.

    The following holds exactly for n draws, v_1, v_2, ... in descending order:

        E[max of n] - E[max of n - 1] = E[v_1 - v_2] / n,

    since the last draw is the best with probability 1 / n. If the tail is no heavier than an exponential one, the
    expected normalised spacings j (v_j - v_{j+1}) do not increase towards the top (Barlow & Proschan, 1966). So
    E[v_1 - v_2] is at most the mean of these spacings over the k best scores,

        s = (v_1 + ... + v_k) / k - v_{k+1},

    and h more draws add at most s (1 / (N + 1) + ... + 1 / (N + h)) <= s log((N + h) / N). The bound is evaluated after
    every trial, and an s that is small by chance must not decide. Therefore s is replaced by its upper confidence limit
    2 k s / q. Here q is the quantile at 1 - ``CONFIDENCE`` of chi-squared with 2 k degrees of freedom.
    """
    from scipy.special import chdtri  # imported here, since it takes a while to load

    ordered = np.sort(np.asarray(scores, dtype=float))[::-1]
    number = len(ordered)
    spacing = float(ordered[:best].mean() - ordered[best])
    limit = 2 * best * spacing / float(chdtri(2 * best, CONFIDENCE))
    return limit * math.log1p(more / number)
