"""The sampling error of a mean over seeds and sentences, or over folds: variance, intervals and p values.

Array legend: R seeds, S sentences; C calls, one for each fold of each partition of a data set; x and ``...`` any
leading axes, such as many tables at once.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skipstack.search.statistics.pseudo_values import Values

SMALLEST_P = 1e-12
"""The smallest p value that is reported. Smaller values are raised to it."""


@dataclass(frozen=True, slots=True)
class MeanSquares:
    """The mean squares of a table D of seeds x sentences, for the random-effects model D_rs = mu + a_r + b_s + e_rs.

    a_r: the effect of seed r; b_s: the effect of sentence s; e_rs: the error of the cell. A dot means the mean over the
    index.

    ``seeds``: S sum_r (D_r. - D..)^2 / (R - 1), which estimates var(e) + S var(a).
    ``sentences``: R sum_s (D_.s - D..)^2 / (S - 1), which estimates var(e) + R var(b).
    ``rest``: sum_rs (D_rs - D_r. - D_.s + D..)^2 / ((R - 1) (S - 1)), which estimates var(e).
    ``R``, ``S``: the numbers of seeds and sentences.
    """

    seeds: Values
    sentences: Values
    rest: Values
    R: int
    S: int


@dataclass(frozen=True, slots=True)
class VarianceComponent:
    """A component of the variance of a mean, such as the part due to seeds, with the estimate's degrees of freedom."""

    variance: Values
    degrees: float


def mean_squares(table_RS: Values) -> MeanSquares:
    """Compute the mean squares of a table, or of many tables stacked along leading axes.

    A table needs at least two seeds and two sentences.
    """
    R, S = table_RS.shape[-2:]
    mean = table_RS.mean(axis=(-2, -1), keepdims=True)
    of_seeds_R1 = table_RS.mean(axis=-1, keepdims=True) - mean
    of_sentences_1S = table_RS.mean(axis=-2, keepdims=True) - mean
    rest_RS = table_RS - mean - of_seeds_R1 - of_sentences_1S
    seeds = S * (of_seeds_R1**2).sum((-2, -1)) / (R - 1)
    sentences = R * (of_sentences_1S**2).sum((-2, -1)) / (S - 1)
    return MeanSquares(seeds, sentences, (rest_RS**2).sum((-2, -1)) / ((R - 1) * (S - 1)), R, S)


def chance(*tables_RS: Values) -> tuple[VarianceComponent, ...]:
    """Return the components of the variance of a mean: one for the seeds of each table, then one for the sentences.

    For one table (of a network, or of the differences of two networks paired by seed), the mean is that of the table.
    For the tables of two networks with different seeds on the same sentences, the mean is the difference of the two
    tables' means. The variance is

        sum over tables of seeds / (R S)  +  max(0, v / S - sum over tables of rest / (R S)),

    ``seeds``, ``rest``: mean squares of the table (``MeanSquares``). v: the variance over sentences of the mean over
    seeds or, for two tables, of the difference of these means. For one table, the result is
    (seeds + max(0, sentences - rest)) / (R S), as in studies of readers and cases (Dorfman, Berbaum and Metz 1992;
    Hillis 2007). A negative estimate of the variance of sentences is replaced by 0, which leaves Student's t over the
    seeds. This does not understate the variance, since the mean square ``seeds`` includes the error of single cells.
    """
    squares = [mean_squares(table) for table in tables_RS]
    S = squares[0].S
    means_S = [table.mean(axis=-2) for table in tables_RS]
    of_sentences = (means_S[0] if len(means_S) == 1 else means_S[0] - means_S[1]).var(axis=-1, ddof=1) / S
    rest = sum(each.rest / (each.R * S) for each in squares)
    seeds = [VarianceComponent(each.seeds / (each.R * S), each.R - 1) for each in squares]
    return (*seeds, VarianceComponent(np.maximum(of_sentences - rest, 0.0), S - 1))


def chance_of_folds(values_xC: Values, folds: int, *, held_out: bool) -> tuple[VarianceComponent, ...]:
    """Estimate the variance of the mean of a cross-validation, whose calls share most of their training data: Nadeau
    and Bengio's corrected resampled variance.

    ``values_xC``: a value for each call, which trains on all folds but one. ``folds``: the number k of folds of a
    partition. ``held_out``: True if each value is measured on the fold that its call held out; False if all calls are
    measured on the same further examples. With C calls and s^2 the sample variance of their values, the result is

        s^2 (1 / C + rho / (1 - rho)),    C - 1 degrees of freedom

    where rho is the correlation of two calls. If ``held_out``, rho is taken to be 1 / k, the share of the examples that
    a call holds out (Nadeau and Bengio 2003; for several partitions Bouckaert and Frank 2004):
    rho / (1 - rho) = n_test / n_train = 1 / (k - 1).

    If not, rho is the average share of training examples that two calls have in common. This share is
    (k - 2) / (k - 1) for two calls of the same partition, and (k - 1) / k for calls of different partitions. For one
    partition the result equals the jackknife variance with one fold left out at a time: (k - 1)^2 / k s^2.
    """
    calls = values_xC.shape[-1]
    rho = 1 / folds if held_out else _in_common(folds, max(calls / folds, 1.0))
    variance = np.asarray(values_xC.var(axis=-1, ddof=1)) * (1 / calls + rho / (1 - rho))
    return (VarianceComponent(variance, calls - 1),)


def _in_common(folds: int, partitions: float) -> float:
    """Return the share of training examples that two calls have in common, averaged over all pairs of calls."""
    others = (partitions - 1) * folds
    return ((folds - 2) + others * (folds - 1) / folds) / (folds - 1 + others)


def error(parts: Sequence[VarianceComponent]) -> Values:
    """Return the standard error: the square root of the sum of the components ``parts``."""
    deviation: Values = np.sqrt(np.sum([part.variance for part in parts], axis=0))
    return deviation


def half_width(parts: Sequence[VarianceComponent], covered: float) -> Values:
    """Return half the width of the confidence interval at level ``covered``: sum_i t_i v_i / sqrt(sum_i v_i).

    v_i: the variance of component i of ``parts``; t_i: the quantile of Student's t for its degrees of freedom (Cochran
    and Cox 1950). Satterthwaite's degrees of freedom would make the interval too narrow: they are too large whenever a
    few seeds happen to lie close together.
    """
    from scipy.special import stdtrit

    quantiles = [float(stdtrit(part.degrees, (1 + covered) / 2)) for part in parts]
    weighted: Values = np.sum([t * part.variance for t, part in zip(quantiles, parts, strict=True)], axis=0)
    half: Values = np.divide(weighted, error(parts), out=np.zeros_like(weighted), where=weighted > 0)
    return half


def half_width_at(parts: Sequence[VarianceComponent], level: float) -> Values:
    """Return half the width of the interval that matches ``p_value``: the square root of sum_i t_i(level)^2 v_i.

    v_i, t_i: as in ``p_value``. The interval contains 0 if and only if ``p_value`` is above ``level`` (which must not
    be below ``SMALLEST_P``). Unlike the interval of ``half_width``, it is valid at small levels.
    """
    from scipy.special import stdtrit

    squares = [float(stdtrit(part.degrees, level / 2)) ** 2 * part.variance for part in parts]
    half: Values = np.sqrt(np.sum(squares, axis=0))
    return half


def p_value(value: Values, parts: Sequence[VarianceComponent]) -> Values:
    """Return the two-sided p of ``value``: the smallest p with value^2 >= sum_i t_i(p)^2 v_i (Banerjee 1961), at least
    ``SMALLEST_P``.

    v_i: the variance of component i of ``parts``; t_i(p): the two-sided quantile of Student's t for its degrees of
    freedom. Without an effect, the probability of a p below any level is at most that level: the distribution function
    of a squared normal variable is concave. For a single component, the probability equals the level. The weighted
    quantile of ``half_width`` is valid only at levels near 5 %, but a family of many rows needs smaller levels.
    """
    from scipy.optimize.elementwise import find_root
    from scipy.special import stdtrit

    degrees = [part.degrees for part in parts]

    def above(log_p: Values, square: Values, *variances: Values) -> Values:
        """Return ``square`` minus sum_i t_i(p)^2 v_i at p = exp(``log_p``), for the v_i in ``variances``."""
        t2 = [stdtrit(each, np.exp(log_p) / 2) ** 2 for each in degrees]
        bound = sum(quantile * variance for quantile, variance in zip(t2, variances, strict=True))
        lacking: Values = square - bound
        return lacking

    scale = np.sum([part.variance for part in parts], axis=0)
    shares = [part.variance / scale for part in parts]
    ends = np.full_like(scale, math.log(SMALLEST_P)), np.zeros_like(scale)
    # The square is clipped to the range of bounds from p = 1 to the smallest p, so that there is always a root. (At
    # p = 1, older versions of scipy return a quantile just above 0, so that even a square of 0 needs the clip.)
    highest, lowest = (-above(end, np.zeros_like(scale), *shares) for end in ends)
    square = np.clip(np.square(value) / scale, lowest, highest)
    found = find_root(above, ends, args=(square, *shares))
    return np.asarray(np.exp(found.x))
