"""The sampling error of a mean over seeds and sentences: variance, intervals and p values.

Array legend: R seeds, S sentences; ``...`` any leading axes, such as many tables at once.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skipstack.search.statistics.pseudo_values import Values

SMALLEST_P = 1e-12
"""Smaller p values are set to this."""


@dataclass(frozen=True, slots=True)
class MeanSquares:
    """The mean squares of tables seeds x sentences, for the random-effects model D_rs = mu + a_r + b_s + e_rs.

    seeds = S sum_r (D_r. - D..)^2 / (R - 1), sentences = R sum_s (D_.s - D..)^2 / (S - 1), and
    rest = sum_rs (D_rs - D_r. - D_.s + D..)^2 / ((R - 1) (S - 1)); a dot stands for the mean over that index.
    They estimate var(e) + S var(a), var(e) + R var(b) and var(e). ``R``, ``S``: the numbers of seeds and sentences.
    """

    seeds: Values
    sentences: Values
    rest: Values
    R: int
    S: int


@dataclass(frozen=True, slots=True)
class VarianceComponent:
    """A component of the variance of a mean, and the degrees of freedom of its estimate."""

    variance: Values
    degrees: float


def mean_squares(table_RS: Values) -> MeanSquares:
    """The mean squares of one or many tables of at least two seeds and two sentences."""
    R, S = table_RS.shape[-2:]
    mean = table_RS.mean(axis=(-2, -1), keepdims=True)
    of_seeds_R1 = table_RS.mean(axis=-1, keepdims=True) - mean
    of_sentences_1S = table_RS.mean(axis=-2, keepdims=True) - mean
    rest_RS = table_RS - mean - of_seeds_R1 - of_sentences_1S
    seeds = S * (of_seeds_R1**2).sum((-2, -1)) / (R - 1)
    sentences = R * (of_sentences_1S**2).sum((-2, -1)) / (S - 1)
    return MeanSquares(seeds, sentences, (rest_RS**2).sum((-2, -1)) / ((R - 1) * (S - 1)), R, S)


def chance(*tables_RS: Values) -> tuple[VarianceComponent, ...]:
    """The components of the variance of a mean: one for the seeds of each table, then one for the sentences.

    Takes either one table, of a network or of differences paired by seed; or the tables of two networks with different
    seeds on the same sentences, for the difference of their means. The variance of the mean is

        sum over tables of seeds / (R S)  +  max(0, v / S - sum over tables of rest / (R S)),

    v: the variance over sentences of the mean over seeds (of the difference of the means). For one table that is
    (seeds + max(0, sentences - rest)) / (R S), as in studies of readers and cases (Dorfman, Berbaum and Metz 1992;
    Hillis 2007). ``seeds`` includes the error of single cells and is never too small. So if the estimated variance of
    sentences is negative, it is left out, which gives Student's t over the seeds.
    """
    squares = [mean_squares(table) for table in tables_RS]
    S = squares[0].S
    means_S = [table.mean(axis=-2) for table in tables_RS]
    of_sentences = (means_S[0] if len(means_S) == 1 else means_S[0] - means_S[1]).var(axis=-1, ddof=1) / S
    rest = sum(each.rest / (each.R * S) for each in squares)
    seeds = [VarianceComponent(each.seeds / (each.R * S), each.R - 1) for each in squares]
    return (*seeds, VarianceComponent(np.maximum(of_sentences - rest, 0.0), S - 1))


def error(parts: Sequence[VarianceComponent]) -> Values:
    """The standard error: the root of the variance."""
    deviation: Values = np.sqrt(np.sum([part.variance for part in parts], axis=0))
    return deviation


def half_width(parts: Sequence[VarianceComponent], covered: float) -> Values:
    """Half the width of a confidence interval at level ``covered``: sum_i t_i v_i / sqrt(sum_i v_i).

    v_i, t_i: the variance of a component and the quantile of Student's t for its degrees of freedom (Cochran and Cox
    1950). Satterthwaite's degrees of freedom would make it too narrow: they are too large whenever a few seeds happen
    to lie close together.
    """
    from scipy.special import stdtrit

    quantiles = [float(stdtrit(part.degrees, (1 + covered) / 2)) for part in parts]
    weighted: Values = np.sum([t * part.variance for t, part in zip(quantiles, parts, strict=True)], axis=0)
    half: Values = np.divide(weighted, error(parts), out=np.zeros_like(weighted), where=weighted > 0)
    return half


def half_width_at(parts: Sequence[VarianceComponent], level: float) -> Values:
    """Half the width of the interval that contains 0 where ``p_value`` is above ``level``, which may be small:
    the root of sum_i t_i(level)^2 v_i.
    """
    from scipy.special import stdtrit

    squares = [float(stdtrit(part.degrees, level / 2)) ** 2 * part.variance for part in parts]
    half: Values = np.sqrt(np.sum(squares, axis=0))
    return half


def p_value(value: Values, parts: Sequence[VarianceComponent]) -> Values:
    """The smallest p with value^2 >= sum_i t_i(p)^2 v_i, t_i(p) being the two-sided quantile (Banerjee 1961).

    Without an effect, p is below any level with at most that probability, exactly for a single component, since the
    distribution function of a squared normal variable is concave. The quantile of ``half_width`` is only valid at
    levels near 5 %, but a family of many rows needs smaller ones.
    """
    from scipy.optimize.elementwise import find_root
    from scipy.special import stdtrit

    degrees = [part.degrees for part in parts]

    def above(log_p: Values, square: Values, *variances: Values) -> Values:
        """The scaled square minus its bound at this p."""
        t2 = [stdtrit(each, np.exp(log_p) / 2) ** 2 for each in degrees]
        bound = sum(quantile * variance for quantile, variance in zip(t2, variances, strict=True))
        lacking: Values = square - bound
        return lacking

    scale = np.sum([part.variance for part in parts], axis=0)
    shares = [part.variance / scale for part in parts]
    ends = np.full_like(scale, math.log(SMALLEST_P)), np.zeros_like(scale)
    # Values beyond the smallest p are clipped to it, so that there is always a root; so are those beyond p = 1, where
    # older versions of scipy have a quantile just above 0.
    highest, lowest = (-above(end, np.zeros_like(scale), *shares) for end in ends)
    square = np.clip(np.square(value) / scale, lowest, highest)
    found = find_root(above, ends, args=(square, *shares))
    return np.asarray(np.exp(found.x))
