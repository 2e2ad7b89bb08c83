"""Descriptive statistics: mean and deviation, the size of an effect, and the rank correlation of two lists."""

import math
import statistics
from collections.abc import Sequence

from skipstack.search.statistics.rounding import is_rounding


def mean(values: Sequence[float]) -> float:
    """Return the mean; NaN for an empty sequence.

    Scores of diverged seeds may have infinities of both signs, or a sum too large for a float. ``fmean`` raises for
    these values; this function does not.
    """
    try:
        return statistics.fmean(values) if values else math.nan
    except (ValueError, OverflowError):
        return sum(values) / len(values)


def deviation(values: Sequence[float]) -> float:
    """Return the sample standard deviation.

    The result is NaN for fewer than two values, or if a value is not finite. It is infinite if the squares are too
    large for a float.
    """
    if len(values) < 2 or not all(map(math.isfinite, values)):
        return math.nan
    try:
        return statistics.stdev(values)
    except OverflowError:
        return math.inf


def effect_size(ours: Sequence[float], theirs: Sequence[float]) -> float | None:
    """Return Hedges' g: the difference of two networks' scores in units of a network's standard deviation over seeds.

        g = (1 - 3 / (4 n - 9)) (mean of ours - mean of theirs) / sqrt((v_ours + v_theirs) / 2)

    This is the formula for equal numbers of seeds. n: the number of seeds of both networks together; v: the sample
    variance over the seeds. The first factor corrects the bias of few seeds (Hedges 1981, in the approximation of
    statsmodels). At g = 1, a seed of the better network beats a seed of the other network in about three of four pairs.

    Returns None if a network has fewer than two seeds, or if neither network's scores differ between seeds beyond
    rounding.
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
    """Return Spearman's rank correlation of two lists of equal length, in [-1, 1].

    This is Pearson's correlation of the ranks, where equal values share the mean of their ranks. Returns None if it is
    undefined: for fewer than two values, or if all values of a list are equal.
    """
    from scipy.stats import spearmanr

    if len(set(one)) < 2 or len(set(other)) < 2:
        return None
    return float(spearmanr(one, other).statistic)
