"""Power analysis before training: how often a true difference is marked, and how much marked estimates overstate it.

A difference is marked (found significant) if its ``chance.p_value`` is below ``LEVEL`` after Holm's correction over a
family of questions (hypotheses that are tested together). Power is the probability that a row of the family is marked
when no other row has an effect. The row's threshold is that of the first step of Holm's procedure: the level divided by
the number of questions. (Another row may be marked by chance, which makes the threshold less strict. This is rare, and
ignored.)

Array legend: R seeds; S sentences; K nodes (grid points) of the true variance of the seeds, given its estimate; A, B, C
nodes of the three mean squares: of seeds, of sentences and of the rest; X combinations of B and C, or of A, B and C.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from skipstack.search.statistics.chance import mean_squares
from skipstack.search.statistics.multiple_testing import LEVEL
from skipstack.search.statistics.pseudo_values import Values

POWER: Final = 0.8
"""A difference is detectable if at least this share of experiments marks it."""

MOST_SEEDS: Final = 1000
"""The maximum number of seeds that is considered."""

SHARED_REFERENCE: Final = 0.25
"""The correlation of the estimated variances of two differences that share a reference, if all networks vary alike.

Two such differences have a correlation of 1/2; this is its square.
"""

NODES: Final = (8, 60, 6, 6)
"""The numbers of nodes K, A, B, C."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Noise:
    """The variance components of a difference between two networks.

    The variance of a mean over R seeds and S sentences is seeds / R + sentences / S + rest / (R S).

    ``seeds``: the variance between seeds.
    ``sentences``: the variance between sentences, shared by all seeds.
    ``rest``: the variance of single cells of the table seeds x sentences.
    ``degrees``: the degrees of freedom with which S ``seeds`` + ``rest`` is estimated; infinite if it is known exactly.
    """

    seeds: float
    sentences: float
    rest: float
    degrees: float = math.inf


@dataclass(frozen=True, slots=True)
class Chances:
    """The power of experiments for a true difference, and the overstatement by the experiments that mark it.

    ``marked``: the share of experiments that mark the difference. ``overstated``: the mean size of the difference in
    those experiments, as a multiple of the true difference (Gelman and Carlin's type M error, 2014); infinite if no
    experiment marks it, or if the true difference is 0.
    """

    marked: float
    overstated: float


def noise(tables_RS: Sequence[Values]) -> Noise | None:
    """Estimate the variance components of tables of differences, averaged over the tables.

    Tables with fewer than two seeds are skipped; None if no table remains. The components follow from the mean squares
    (``MeanSquares``). A component that is negative by chance is kept, since setting it to 0 would make the noise too
    large on average. All tables are assumed to be differences to the same reference.
    """
    squares = [mean_squares(table) for table in tables_RS if len(table) > 1]
    if not squares:
        return None
    seeds = float(np.mean([(each.seeds - each.rest) / each.S for each in squares]))
    sentences = float(np.mean([(each.sentences - each.rest) / each.R for each in squares]))
    rest = float(np.mean([each.rest for each in squares]))
    own = 1 / len(squares)
    degrees = float(np.mean([each.R - 1 for each in squares])) / (own + SHARED_REFERENCE * (1 - own))
    return Noise(seeds=seeds, sentences=sentences, rest=rest, degrees=degrees)


def chances(noise: Noise, difference: float, *, seeds: int, sentences: int, questions: int = 1) -> Chances:
    """Compute how often a true ``difference`` is marked, and by how much marked estimates overstate it.

    ``noise``: the variance components of the experiments. ``seeds``, ``sentences``: their numbers in an experiment.
    ``questions``: the number of questions in the family of the difference.

    For normally distributed tables, the mean and the three mean squares (of seeds, of sentences and of the rest) are
    independent. The mean squares follow chi-squared distributions. Given the mean squares, a difference is marked if
    its mean lies beyond -b or b for a bound b (``chance.p_value``). So ``marked`` and ``overstated`` follow from the
    normal distribution. They are averaged over a grid of quantiles of the mean squares. They are also averaged over
    values that the true variance of the seeds may have, given its estimate.
    """
    made = _experiment(noise, seeds, sentences, questions)
    marked = _marked(made, difference)
    return Chances(marked, _shown(made, difference) / (marked * difference) if marked * difference > 0 else math.inf)


def smallest_difference(noise: Noise, *, seeds: int, sentences: int, questions: int = 1) -> float:
    """Return the smallest true difference that a share ``POWER`` of experiments marks.

    The result is infinite for one seed, and 0 if nothing varies. The arguments are those of ``chances``.
    """
    from scipy.optimize import brentq

    if seeds < 2:
        return math.inf
    made = _experiment(noise, seeds, sentences, questions)
    largest = float(made.error_K.max())
    if largest == 0:
        return 0.0

    def lacking(difference: float) -> float:
        return POWER - _marked(made, difference)

    while lacking(largest) > 0:
        largest *= 2
    return float(brentq(lacking, 0.0, largest, rtol=1e-3))


def seeds_needed(noise: Noise, difference: float, *, sentences: int, questions: int = 1) -> int | None:
    """Return the fewest seeds with which ``difference`` is detectable; None if ``MOST_SEEDS`` are not enough.

    More seeds do not reduce the variation of sentences, so some differences stay undetectable with any number of seeds.
    """

    def enough(seeds: int) -> bool:
        return smallest_difference(noise, seeds=seeds, sentences=sentences, questions=questions) <= difference

    low, high = 1, 2
    while not enough(high):
        if high >= MOST_SEEDS:
            return None
        low, high = high, min(2 * high, MOST_SEEDS)
    return low + 1 + bisect_left(range(low + 1, high), True, key=enough)


@dataclass(frozen=True, slots=True)
class _Design:
    """The standard errors that an experiment may have, and the bounds beyond which a mean is marked.

    ``error_K``: the standard error at each node of the true variance of the seeds. ``bound_KX``: the bounds b for that
    standard error, at each combination X of the nodes A, B and C.
    """

    error_K: Values
    bound_KX: Values


def _experiment(noise: Noise, seeds: int, sentences: int, questions: int) -> _Design:
    from scipy.special import stdtrit

    rest = noise.rest / (seeds * sentences)
    of_seeds, of_sentences = (
        max(component + rest, 0.0) for component in (noise.seeds / seeds, noise.sentences / sentences)
    )
    degrees = (seeds - 1, sentences - 1, (seeds - 1) * (sentences - 1))
    # Given its estimate, a variance is the estimate divided by chi-squared over its degrees of freedom.
    true_K = 1 / _chi_squared(noise.degrees, NODES[0])
    seeds_A, sentences_B, rest_C = map(_chi_squared, degrees, NODES[1:])
    within_X = np.maximum(of_sentences * sentences_B[:, None] - rest * rest_C, 0.0).ravel()
    t2 = [float(stdtrit(each, LEVEL / questions / 2)) ** 2 for each in degrees[:2]]
    bound_KAX = np.sqrt(t2[0] * of_seeds * true_K[:, None, None] * seeds_A[:, None] + t2[1] * within_X)
    error_K = np.sqrt(of_seeds * true_K + max(of_sentences - rest, 0.0))
    return _Design(error_K, bound_KAX.reshape(len(true_K), -1))


@cache
def _chi_squared(degrees: float, nodes: int) -> Values:
    """Return quantiles of chi-squared divided by its degrees of freedom, at the middles of ``nodes`` equal shares.

    For infinite degrees of freedom, the result is a single 1.
    """
    from scipy.special import chdtri

    if math.isinf(degrees):
        return np.ones(1)
    quantiles: Values = chdtri(degrees, 1 - (np.arange(nodes) + 0.5) / nodes) / degrees
    return quantiles


def _marked(made: _Design, difference: float) -> float:
    """Return the probability of a mean beyond -b or b, averaged over the grid, for means normal around ``difference``.

    ``made``: the standard errors and the bounds b.
    """
    from scipy.special import ndtr

    up_KX, down_KX = (ndtr((sign * difference - made.bound_KX) / made.error_K[:, None]) for sign in (1, -1))
    return float(up_KX.mean() + down_KX.mean())


def _shown(made: _Design, difference: float) -> float:
    """Return E |D| 1(|D| > b), averaged over the grid, for means D that are normal around ``difference`` >= 0.

    ``made``: the standard errors and the bounds b. This value divided by ``_marked`` is the mean size of marked means.
    """
    from scipy.special import ndtr

    shown = 0.0
    for sign in (1, -1):
        beyond_KX = (sign * difference - made.bound_KX) / made.error_K[:, None]
        density_KX = np.exp(-(beyond_KX**2) / 2) / math.sqrt(2 * math.pi)
        shown += float((sign * difference * ndtr(beyond_KX) + made.error_K[:, None] * density_KX).mean())
    return shown
