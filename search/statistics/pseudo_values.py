"""Jackknife pseudo-values: the score of a whole split, divided among its sentences.

Array legend: R seeds, S sentences, C counts of a sentence; ``...`` any leading axes.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from skipstack.data.basis.arrays import Numbers

Values = NDArray[np.float64]

OfCounts = Callable[[Numbers], Numbers]
"""Maps counts on the last axis to scores: ``counts_...C`` to ``values_...``."""


def pseudo_values(counts_RSC: Numbers, of_counts: OfCounts) -> Values:
    """The pseudo-values of sentences for their split's score f: ``table_RS``, whose mean over sentences is about f.

        p_rs = S f(t_r) - (S - 1) f(t_r - c_rs),    t_r = sum over s of c_rs

    c_rs: the counts of sentence s by seed r; t_r: those of the split (Tukey 1958; Quenouille 1956). For accuracy with
    sentences of equal length it is the sentence's own accuracy. F1 is not a mean over sentences, but p_rs can be
    treated as if it were. Needs at least two sentences.
    """
    sentences = counts_RSC.shape[-2]
    assert sentences > 1, "one sentence alone has no share"
    totals_R1C = counts_RSC.sum(axis=-2, keepdims=True)
    whole_R1, without_RS = of_counts(totals_R1C), of_counts(totals_R1C - counts_RSC)
    values_RS: Values = sentences * whole_R1 - (sentences - 1) * without_RS
    return values_RS
