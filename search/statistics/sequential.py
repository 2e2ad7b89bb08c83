"""Sequential tests: a difference is tested at several numbers of seeds, and training ends when the result is clear.

A look is a test with the seeds so far. Each look j spends a share s_j of the level, in proportion to its new seeds:
s_j = (n_j - n_(j-1)) / n_K, for n_j seeds at look j and n_K seeds at the last of K looks (Lan and DeMets 1983, with
linear spending). A difference is marked if p_j < s_j times the level at some look, that is, if the smallest p_j / s_j
is below the level. Without an effect, the probability of a mark is at most the level: at look j it is at most s_j times
the level, and the shares add up to 1. This holds whatever decides when training ends, and also if looks depend on each
other, for example through the same test sentences.

Exact boundaries (Pocock 1977) would have slightly more power, but require independent increments from look to look. The
looks share their test sentences, so the increments are dependent.

Array legend: E experiments; R seeds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from skipstack.search.statistics.chance import VarianceComponent, half_width_at
from skipstack.search.statistics.pseudo_values import Values

GROWTH: Final = 1.5
"""The factor by which the number of seeds grows from look to look."""

HOPELESS: Final = 0.2
"""A row gets no further seeds if the chance that it would still be marked is below this."""


def looks(first: int, most: int) -> tuple[int, ...]:
    """Return the numbers of seeds of all looks. They begin with ``first``, grow by half at each look (``GROWTH``), and
    end with ``most``: 5, 8, 12, 18, 27 and 40 for ``first`` 5 and ``most`` 40.

    A look above ``most``, or less than half a step below it, is replaced by ``most``.
    """
    found = [first]
    while found[-1] < most:
        following = max(found[-1] + 1, round(GROWTH * found[-1]))
        left = most - following
        found.append(most if left < (following - found[-1]) / 2 else following)
    return tuple(found)


def shares(seeds: Sequence[int]) -> tuple[float, ...]:
    """Return the share of the level that each look spends. ``seeds``: the numbers of seeds of all looks."""
    return tuple((now - before) / seeds[-1] for before, now in pairwise((0, *seeds)))


def sequential_p(values: Sequence[float], spent: Sequence[float]) -> float:
    """Return the p value of a difference after some of the looks: the smallest p_j / s_j, at most 1.

    ``values``: the p values p_j of the looks so far, at least one. ``spent``: the shares s_j of all looks, including
    later ones.
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
    seeds: Sequence[int], effect: float, *, level: float, experiments: int, source: np.random.Generator
) -> Expected:
    """Simulate a sequential test of a difference that varies only between seeds.

    ``seeds``: the numbers of seeds of all looks. ``effect``: the true difference, in standard deviations of the
    difference of a single seed. ``level``: the level of the test over all looks, such as 5 % divided by the number of
    rows. ``experiments``: the number of simulated tests. ``source``: draws the differences.
    """
    values_ER = source.normal(effect, 1.0, (experiments, seeds[-1]))
    trained_E = np.full(experiments, seeds[-1])
    marked_E, open_E = np.zeros(experiments, bool), np.ones(experiments, bool)
    for look, share in zip(seeds, shares(seeds), strict=True):
        mean_E, variance_E = values_ER[:, :look].mean(1), values_ER[:, :look].var(1, ddof=1) / look
        parts = [VarianceComponent(variance_E, look - 1)]
        marks_E = open_E & (np.abs(mean_E) > half_width_at(parts, level * share))
        chance_E = chance_of_mark(mean_E, parts, seeds=look, most=seeds[-1], level=level * shares(seeds)[-1])
        hopeless_E = open_E & (chance_E < HOPELESS)
        ends_E = marks_E | hopeless_E
        trained_E[ends_E], marked_E, open_E = look, marked_E | marks_E, open_E & ~ends_E
    return Expected(float(marked_E.mean()), float(trained_E.mean()))
