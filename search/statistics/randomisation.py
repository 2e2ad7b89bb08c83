"""Approximate randomisation over the sentences of a test set, the significance test that papers usually report.

Array legend: N resamples; R seeds; S sentences; C counts of a sentence; X the pairs of R and C.
"""

import numpy as np

from skipstack.data.basis.arrays import Numbers
from skipstack.search.statistics.pseudo_values import OfCounts, Values

RESAMPLES = 9999


def over_sentences(
    ours_RSC: Numbers,
    theirs_RSC: Numbers,
    of_counts: OfCounts,
    generator: np.random.Generator,
    *,
    resamples: int = RESAMPLES,
) -> float:
    """Return the two-sided p of a difference of mean scores. Outputs are swapped at random, by sentence (Yeh 2000).

    ``ours_RSC``, ``theirs_RSC``: the counts of two networks on the same sentences. ``of_counts``: computes a score from
    counts. ``generator``: draws the swaps. ``resamples``: the number of random swaps.

    The test asks whether *these* trained networks differ on other sentences, not whether networks of other seeds would
    differ. A small difference between lucky seeds can be significant, so no mark of significance depends on this p.
    """
    from scipy.stats import permutation_test

    both_RSC = (ours_RSC + theirs_RSC).astype(np.float64)
    gap_RSC = (ours_RSC - theirs_RSC).astype(np.float64)
    shape_RC = (gap_RSC.shape[0], gap_RSC.shape[2])
    flat_SX = gap_RSC.transpose(1, 0, 2).reshape(gap_RSC.shape[1], -1)
    sums_RC = both_RSC.sum(axis=1)

    def difference(sign_NS: Values, _: Values, axis: int) -> Values:
        """Return the difference of mean scores after swapping the two networks' outputs for sentences with sign -1."""
        gap_NRC = (np.moveaxis(sign_NS, axis, -1) @ flat_SX).reshape(*sign_NS.shape[:-1], *shape_RC)
        one_NR, other_NR = of_counts((sums_RC + gap_NRC) / 2), of_counts((sums_RC - gap_NRC) / 2)
        mean_N: Values = (one_NR - other_NR).mean(axis=-1)
        return mean_N

    ones_S = np.ones(gap_RSC.shape[1])
    tested = permutation_test(
        (ones_S, -ones_S),
        difference,
        permutation_type="samples",
        vectorized=True,
        n_resamples=resamples,
        batch=1000,
        rng=generator,
    )
    return float(tested.pvalue)
