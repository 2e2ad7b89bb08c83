"""What further draws add to the best of those so far, at most."""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

CONFIDENCE: Final = 0.9
"""How sure the bound is, where the tail of the scores is exponential; with a lighter one it is surer."""


def gain_of_more(scores: Sequence[float], more: float, *, best: int) -> float:
    """How much ``more`` independent draws raise the best of the N ``scores`` at most, in expectation.

    ``best``: of how many of them, k, the tail is estimated, from 1 to N - 1.

    With the descending order v_1, v_2, ... of n draws, exactly

        E[max of n] - E[max of n - 1] = E[v_1 - v_2] / n,

    as the last draw is the best with probability 1 / n. Where the tail is no heavier than an exponential one, E[v_1 -
    v_2] is no more than the mean of the normalised spacings j (v_j - v_{j+1}) further down, which only fall towards the
    top (Barlow & Proschan, 1966). Over the k best that mean is

        s = (v_1 + ... + v_k) / k - v_{k+1},

    so h more draws add s (1 / (N + 1) + ... + 1 / (N + h)) <= s log((N + h) / N) at most. In place of s stands its
    upper limit of ``CONFIDENCE``, 2 k s / q, q being that quantile from below of chi-squared with 2 k degrees of
    freedom: it is asked after every trial, and a single lucky s would do.
    """
    from scipy.special import chdtri  # which takes a while to load

    ordered = np.sort(np.asarray(scores, dtype=float))[::-1]
    number = len(ordered)
    spacing = float(ordered[:best].mean() - ordered[best])
    limit = 2 * best * spacing / float(chdtri(2 * best, CONFIDENCE))
    return limit * math.log1p(more / number)
