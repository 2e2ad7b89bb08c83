"""Descriptions without a test: mean and deviation, the size of an effect, and how alike two lists of scores rank."""

import math
import statistics
from collections.abc import Sequence

from skipstack.search.statistics.rounding import is_rounding


def mean(values: Sequence[float]) -> float:
    """The mean: ``fmean``, also of infinities and of sums beyond a float, which diverged seeds have; NaN of none."""
    try:
        return statistics.fmean(values) if values else math.nan
    except (ValueError, OverflowError):
        return sum(values) / len(values)


def deviation(values: Sequence[float]) -> float:
    """The sample standard deviation; infinite where its squares are beyond a float, NaN of infinities and of one."""
    if len(values) < 2 or not all(map(math.isfinite, values)):
        return math.nan
    try:
        return statistics.stdev(values)
    except OverflowError:
        return math.inf


def effect_size(ours: Sequence[float], theirs: Sequence[float]) -> float | None:
    """Hedges' g: the difference of two networks in standard deviations of one network's score over seeds.

        g = (1 - 3 / (4 n - 9)) (mean of ours - mean of theirs) / sqrt((v_ours + v_theirs) / 2)

    for equal numbers of seeds, n in all; v: the sample variance over the seeds. The first factor corrects the bias of
    few seeds (Hedges 1981, in the approximation of statsmodels). At g = 1 a seed of the better network beats a seed of
    the other one in three of four pairs. None for one seed, and if all seeds of both have equal scores, up to rounding.
    """
    import numpy as np
    from statsmodels.stats.meta_analysis import effectsize_smd

    if min(len(ours), len(theirs)) < 2:
        return None
    deviations = [float(np.std(scores, ddof=1)) for scores in (ours, theirs)]
    if all(is_rounding(each, max(map(abs, (*ours, *theirs)))) for each in deviations):
        return None
    (one, other), means = deviations, (np.mean(ours), np.mean(theirs))
    return float(effectsize_smd(means[0], one, len(ours), means[1], other, len(theirs))[0])


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Spearman's rank correlation of two lists of equal length, in [-1, 1].

    Pearson's correlation of the ranks; equal values share the mean of their ranks. None if it is undefined: with fewer
    than two values, or if all values of a list are equal.
    """
    from scipy.stats import spearmanr

    if len(set(one)) < 2 or len(set(other)) < 2:
        return None
    return float(spearmanr(one, other).statistic)
