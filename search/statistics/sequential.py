"""Sequential tests: a difference is tested at several numbers of seeds, and training ends when the result is clear.

A look is a test with the seeds so far. Look j is a test at the share s_j = a (n_j^r - n_(j-1)^r) / n_K^r of the level,
for n_j seeds at look j, n_K seeds at the last of K looks, and r = ``POWER`` (Kim and DeMets 1987). A difference is
marked if p_j < s_j times the level at some look, that is, if the smallest p_j / s_j is below the level. Without an
effect, the probability of a mark at any look is at most the level, whatever decides when training ends.

For a = 1, the shares add up to 1, and this holds however looks depend on each other (Lan and DeMets 1983). But looks
have most of their seeds in common, so often they mark a difference together. For normal differences between seeds, the
t statistics of all looks have a known joint distribution, from which ``spending`` computes the largest a. Tables for
known variances (Pocock 1977) would mark too often with few seeds. Looks also share their test sentences. These make
looks depend on each other more, and then it is less likely that one of them is beyond its bound (Royen 2014, for known
variances).

Array legend: E experiments; K looks; R seeds.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Final

import numpy as np

from skipstack.data.basis.seeding import generator
from skipstack.search.statistics.chance import VarianceComponent, half_width_at
from skipstack.search.statistics.pseudo_values import Values

GROWTH: Final = 1.25
"""The factor by which the number of seeds grows from look to look."""

POWER: Final = 1.5
"""The power of the spending function: at 1 the shares are in proportion to new seeds; the higher, the later they come.
"""

HOPELESS: Final = 0.2
"""A row gets no further seeds if the chance that it would still be marked is below this."""

EXPERIMENTS: Final = 400_000
"""The number of simulated experiments without an effect from which ``spending`` computes the shares of looks."""


def looks(first: int, most: int) -> tuple[int, ...]:
    """Return the numbers of seeds of all looks. They begin with ``first``, grow by a quarter at each look (``GROWTH``),
    and end with ``most``: 5, 6, 8, 10, 12, 15, 19, 24, 30 and 40 for ``first`` 5 and ``most`` 40.

    A look above ``most``, or less than half a step below it, is replaced by ``most``.
    """
    found = [first]
    while found[-1] < most:
        following = max(found[-1] + 1, round(GROWTH * found[-1]))
        left = most - following
        found.append(most if left < (following - found[-1]) / 2 else following)
    return tuple(found)


def shares(seeds: Sequence[int], power: float = 1.0) -> tuple[float, ...]:
    """Return shares of the level that add up to 1: by default in proportion to new seeds. ``seeds``: the numbers of
    seeds of all looks.
    """
    return tuple((now**power - before**power) / seeds[-1] ** power for before, now in pairwise((0, *seeds)))


@cache
def spending(seeds: tuple[int, ...], level: float) -> tuple[float, ...]:
    """Return the share s_j of the level at which each look tests: the ``shares`` times the largest factor a for which a
    difference without an effect is marked at some look with a probability of at most ``level``.

    ``seeds``: the numbers of seeds of all looks. ``level``: the smallest level at which a difference is tested, such as
    5 % divided by the number of rows; at a larger level, the factor could be larger.

    The differences of seeds are normal with a common variance, and their t statistics are simulated: the sum S and the
    sum of squares Q of all seeds so far give t = S / sqrt((n Q - S^2) / (n - 1)). So that the simulation's own chance
    makes no test too liberal, its number of marks is three standard errors below ``level``.
    """
    from scipy.special import stdtrit

    source, plain = generator(0, "spending"), np.array(shares(seeds, POWER))
    sum_E, squares_E, t_KE = np.zeros(EXPERIMENTS), np.zeros(EXPERIMENTS), list[Values]()
    for before, now in pairwise((0, *seeds)):
        new_E = source.standard_normal(EXPERIMENTS)  # the sum of the new seeds, over the root of their number
        sum_E += math.sqrt(now - before) * new_E
        squares_E += new_E**2 + (source.chisquare(now - before - 1, EXPERIMENTS) if now - before > 1 else 0.0)
        t_KE.append(np.abs(sum_E) / np.sqrt((now * squares_E - sum_E**2) / (now - 1)))
    degrees, expected_marks = np.array(seeds) - 1, level * EXPERIMENTS

    def holds(factor: float) -> bool:
        bounds = -stdtrit(degrees, np.minimum(factor * level * plain, 1.0) / 2)
        beyond = np.any([t_E > bound for t_E, bound in zip(t_KE, bounds, strict=True)], axis=0)
        return bool(beyond.sum() <= expected_marks - 3 * math.sqrt(expected_marks))

    low, high = 1.0, float(len(seeds))
    while high - low > 0.01:
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return tuple((low * plain).tolist())


def sequential_p(values: Sequence[float], spent: Sequence[float]) -> float:
    """Return the p value of a difference after some of the looks: the smallest p_j / s_j, at most 1.

    ``values``: the p values p_j of the looks so far, at least one. ``spent``: the shares s_j of all looks, including
    later ones (``spending``).
    """
    return min(1.0, *(value / share for value, share in zip(values, spent, strict=False)))


def chance_of_mark(value: Values, parts: Sequence[VarianceComponent], *, seeds: int, most: int, level: float) -> Values:
    """Return the chance that a test at ``level`` with ``most`` seeds will mark a difference, given the first ``seeds``.

    ``value``: the mean m of the difference over the first n = ``seeds`` seeds. ``parts``: the components of the
    variance of m: v due to the seeds and, if the counts of test sentences are known, w due to the sentences
    (``chance``).

    The mean over N = ``most`` seeds is predicted as m + t sqrt(v (N - n) / N), where t has Student's distribution with
    n - 1 degrees of freedom. This is the predictive distribution of normal data under a flat prior of their mean and of
    the logarithm of their variance. The difference is marked if its mean lies beyond the half-width at N seeds,
    sqrt(t_(N-1)(level)^2 v n / N + t_w(level)^2 w), with the quantiles of Student's distribution with N - 1 and with
    w's degrees of freedom. The estimate of a seed's variance, v n, is assumed to stay the same; w does not depend on
    the number of seeds.
    """
    from scipy.special import stdtr

    own, *others = parts
    bound = half_width_at([VarianceComponent(own.variance * seeds / most, most - 1), *others], level)
    spread = np.sqrt(own.variance * (most - seeds) / most)
    beyond = [np.divide(sign * value - bound, spread, where=spread > 0, out=np.zeros_like(bound)) for sign in (1, -1)]
    chance = np.sum([stdtr(seeds - 1, each) for each in beyond], axis=0)
    return np.where(spread > 0, chance, np.abs(value) > bound)


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected outcome of a sequential test. ``marked``: the probability of a mark. ``seeds``: the mean number of
    seeds.
    """

    marked: float
    seeds: float


def expected(
    seeds: Sequence[int],
    spent: Sequence[float],
    effect: float,
    *,
    level: float,
    experiments: int,
    source: np.random.Generator,
) -> Expected:
    """Simulate a sequential test of a difference that varies only between seeds.

    ``seeds``, ``spent``: the numbers of seeds of all looks, and their shares of the level (``spending``). ``effect``:
    the true difference, in standard deviations of the difference of a single seed. ``level``: the level of the test
    over all looks, such as 5 % divided by the number of rows. ``experiments``: the number of simulated tests.
    ``source``: draws the differences.
    """
    values_ER = source.normal(effect, 1.0, (experiments, seeds[-1]))
    trained_E = np.full(experiments, seeds[-1])
    marked_E, open_E = np.zeros(experiments, bool), np.ones(experiments, bool)
    for look, share in zip(seeds, spent, strict=True):
        mean_E, variance_E = values_ER[:, :look].mean(1), values_ER[:, :look].var(1, ddof=1) / look
        parts = [VarianceComponent(variance_E, look - 1)]
        marks_E = open_E & (np.abs(mean_E) > half_width_at(parts, level * share))
        chance_E = chance_of_mark(mean_E, parts, seeds=look, most=seeds[-1], level=level * spent[-1])
        hopeless_E = open_E & (chance_E < HOPELESS)
        ends_E = marks_E | hopeless_E
        trained_E[ends_E], marked_E, open_E = look, marked_E | marks_E, open_E & ~ends_E
    return Expected(float(marked_E.mean()), float(trained_E.mean()))
