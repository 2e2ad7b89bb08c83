"""How alike two rows of scores rank the same things."""

from collections.abc import Sequence


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Spearman's rank correlation of two rows of equal length, in [-1, 1].

    Pearson's correlation of the ranks; equal values share the mean of their ranks. None where it is not defined: with
    fewer than two values, or where all values of a row are equal.
    """
    from scipy.stats import spearmanr

    if len(set(one)) < 2 or len(set(other)) < 2:
        return None
    return float(spearmanr(one, other).statistic)
