"""Jackknife pseudo-values: the score of a whole split, divided among its sentences.

Array legend: R seeds; S sentences; C counts of a sentence, such as correct and predicted labels; ``...`` any leading
axes.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from skipstack.data.basis.arrays import Numbers

Values = NDArray[np.float64]

OfCounts = Callable[[Numbers], Numbers]
"""A score as a function of counts: maps ``counts_...C``, with the counts on the last axis, to ``values_...``."""


def pseudo_values(counts_RSC: Numbers, of_counts: OfCounts) -> Values:
    """Compute the pseudo-value p_rs of each sentence s for each seed r, as a table of shape (R, S). The mean of a row
    is about the score of the whole split.

        p_rs = S f(t_r) - (S - 1) f(t_r - c_rs),    t_r = sum over s of c_rs

    f: the score of a split, ``of_counts``; c_rs: the counts of sentence s by seed r; t_r: the counts of the whole split
    (Tukey 1958; Quenouille 1956). If f is accuracy and all sentences have equal length, p_rs is the sentence's own
    accuracy. F1 is not a mean over sentences, but its p_rs can be averaged as if it were. At least two sentences are
    needed.
    """
    sentences = counts_RSC.shape[-2]
    assert sentences > 1, "one sentence alone has no share"
    totals_R1C = counts_RSC.sum(axis=-2, keepdims=True)
    whole_R1, without_RS = of_counts(totals_R1C), of_counts(totals_R1C - counts_RSC)
    values_RS: Values = sentences * whole_R1 - (sentences - 1) * without_RS
    return values_RS
