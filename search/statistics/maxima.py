"""An upper bound of the gain of further draws over the best so far."""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

CONFIDENCE: Final = 0.9
"""The confidence of the bound if the tail of the scores is exponential; it is higher for a lighter tail."""


def gain_of_more(scores: Sequence[float], more: float, *, best: int) -> float:
    """An upper bound of the expected increase of the best of the N ``scores`` by ``more`` independent draws.

    ``best``: the number k of best scores from which the tail is estimated, from 1 to N - 1.

    With the descending order v_1, v_2, ... of n draws, exactly

        E[max of n] - E[max of n - 1] = E[v_1 - v_2] / n,

    as the last draw is the best with probability 1 / n. If the tail is no heavier than an exponential one, E[v_1 - v_2]
    is at most the mean of the normalised spacings j (v_j - v_{j+1}) further down, which only decrease towards the top
    (Barlow & Proschan, 1966). Over the k best that mean is

        s = (v_1 + ... + v_k) / k - v_{k+1},

    so h more draws add at most s (1 / (N + 1) + ... + 1 / (N + h)) <= s log((N + h) / N). Instead of s its upper
    confidence limit 2 k s / q is used, q being the lower quantile at 1 - ``CONFIDENCE`` of chi-squared with 2 k degrees
    of freedom: the bound is evaluated after every trial, so a single small s must not decide.
    """
    from scipy.special import chdtri  # which takes a while to load

    ordered = np.sort(np.asarray(scores, dtype=float))[::-1]
    number = len(ordered)
    spacing = float(ordered[:best].mean() - ordered[best])
    limit = 2 * best * spacing / float(chdtri(2 * best, CONFIDENCE))
    return limit * math.log1p(more / number)
