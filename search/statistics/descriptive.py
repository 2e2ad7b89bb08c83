"""Descriptions without a test: the size of an effect, and how alike two lists of scores rank."""

from collections.abc import Sequence


def effect_size(ours: Sequence[float], theirs: Sequence[float]) -> float | None:
    """Hedges' g: the difference of two networks in standard deviations of one network's score over seeds.

        g = (1 - 3 / (4 n - 9)) (mean of ours - mean of theirs) / sqrt((v_ours + v_theirs) / 2)

    for as many seeds of both, n in all; v: the sample variance over the seeds. The first factor takes away what few
    seeds flatter (Hedges 1981, in the approximation that statsmodels has). At 1 the better network wins against the
    other one, seed against seed, in three of four pairs. None for one seed, and where no seed changed anything.
    """
    import numpy as np
    from statsmodels.stats.meta_analysis import effectsize_smd

    if min(len(ours), len(theirs)) < 2:
        return None
    deviations = [float(np.std(scores, ddof=1)) for scores in (ours, theirs)]
    if not any(deviations):
        return None
    (one, other), means = deviations, (np.mean(ours), np.mean(theirs))
    return float(effectsize_smd(means[0], one, len(ours), means[1], other, len(theirs))[0])


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Spearman's rank correlation of two rows of equal length, in [-1, 1].

    Pearson's correlation of the ranks; equal values share the mean of their ranks. None where it is not defined: with
    fewer than two values, or where all values of a row are equal.
    """
    from scipy.stats import spearmanr

    if len(set(one)) < 2 or len(set(other)) < 2:
        return None
    return float(spearmanr(one, other).statistic)
