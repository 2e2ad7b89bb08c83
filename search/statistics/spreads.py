"""Statistics over the seeds of a trial, between two trials that share seeds, and between two rankings."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev


@dataclass(frozen=True, slots=True)
class Spread:
    """At least one value of the same quantity, each measured with another seed.

    With n values x_i: ``mean`` = sum x_i / n; ``deviation`` = sqrt(sum (x_i - mean)^2 / (n - 1)), the
    sample standard deviation; ``standard_error`` = deviation / sqrt(n), that of the mean. One value
    does not say how far values lie apart: its deviation and standard error are None.
    """

    values: tuple[float, ...]

    @property
    def n(self) -> int:
        """How many values there are."""
        return len(self.values)

    @property
    def mean(self) -> float:
        """The arithmetic mean."""
        return fmean(self.values)

    @property
    def deviation(self) -> float | None:
        """The sample standard deviation."""
        return stdev(self.values) if self.n > 1 else None

    @property
    def standard_error(self) -> float | None:
        """The standard error of the mean."""
        return None if self.deviation is None else self.deviation / math.sqrt(self.n)

    @property
    def exceeds_error(self) -> bool:
        """Whether the mean lies further from 0 than its standard error; not with one value, which has none."""
        return self.standard_error is not None and abs(self.mean) > self.standard_error


def paired_difference(ours: Mapping[int, float], theirs: Mapping[int, float]) -> Spread | None:
    """``ours`` - ``theirs`` at each seed that both have, ascending; None where they share no seed.

    Trials with the same seed share the streams of their initial weights, dropout and data order. What
    a lucky seed gives to both cancels in the pair, so the standard error is that of the difference alone.
    """
    shared = sorted(ours.keys() & theirs.keys())
    return Spread(tuple(ours[seed] - theirs[seed] for seed in shared)) if shared else None


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Spearman's rank correlation of two rows of equal length, in [-1, 1].

    Pearson's correlation of the ranks; equal values share the mean of their ranks. None where it is not defined: with
    fewer than two values, or where all values of a row are equal.
    """
    from scipy.stats import spearmanr

    if len(set(one)) < 2 or len(set(other)) < 2:
        return None
    return float(spearmanr(one, other).statistic)
