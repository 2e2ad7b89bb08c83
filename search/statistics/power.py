"""Power analysis before training: how often a true difference gets a mark, and by how much marks overstate it.

A mark is ``chance.p_value`` after Holm's correction over a family of questions. The power meant here is that of one row
of the family, in which no other row has an effect. Then Holm's threshold is that of its first step: the level divided
by the number of questions. (Another row may get a mark by chance, which lowers it; that is rare, and left out.)

Array legend: R seeds, S sentences; K nodes of the distribution that the noise is estimated from, A, B, C nodes of the
three mean squares.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from skipstack.search.statistics.chance import mean_squares
from skipstack.search.statistics.multiple_testing import LEVEL
from skipstack.search.statistics.pseudo_values import Values

POWER: Final = 0.8
"""A difference is detectable if this share of experiments marks it."""

MOST_SEEDS: Final = 1000
"""The largest number of seeds that is considered."""

SHARED_REFERENCE: Final = 0.25
"""The correlation of the variances of two differences to one reference, if all networks vary alike: that of the
differences, squared.
"""

NODES: Final = (8, 60, 6, 6)
"""The numbers of nodes K, A, B, C."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Noise:
    """The variance components of a difference between two networks.

    ``seeds``: between seeds; ``sentences``: between sentences, shared by all seeds; ``rest``: of single cells of the
    table. The variance of a mean over R seeds and S sentences is seeds / R + sentences / S + rest / (R S).
    ``degrees``: the degrees of freedom of the estimate of S ``seeds`` + ``rest``; infinite if it is known.
    """

    seeds: float
    sentences: float
    rest: float
    degrees: float = math.inf


@dataclass(frozen=True, slots=True)
class Chances:
    """The chances of a true difference: the share of experiments that mark it, and the mean size that these show, as a
    multiple of the true one (Gelman and Carlin's type M error, 2014).
    """

    marked: float
    overstated: float


def noise(tables_RS: Sequence[Values]) -> Noise | None:
    """The components in tables of differences, averaged over the tables; None if no table has two seeds.

    Computed from the mean squares (``MeanSquares``). A component may be negative, by chance: setting it to 0 would make
    the noise too large on average. The tables are taken to share their reference.
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
    """The chances of a true ``difference`` as one of so many ``questions``, in experiments with this noise.

    For normal tables the mean, the mean square of the seeds, that of the sentences, and that of the rest are
    independent, the latter three as chi-squared. Given the mean squares, the mark is a bound b of the mean's size
    (``chance.p_value``), and both chances are those of a normal variable beyond -b and b. They are averaged over a grid
    of quantiles of the mean squares, and over a grid of what the true variance of the seeds may be, given its estimate.
    """
    made = _experiment(noise, seeds, sentences, questions)
    marked = _marked(made, difference)
    return Chances(marked, _shown(made, difference) / (marked * difference) if marked * difference > 0 else math.inf)


def smallest_difference(noise: Noise, *, seeds: int, sentences: int, questions: int = 1) -> float:
    """The smallest true difference that a share ``POWER`` of experiments marks; infinite for one seed."""
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
    """The fewest seeds that detect this difference; None if no number of seeds does.

    More seeds do not reduce the variation of sentences, which limits the detectable difference.
    """

    def enough(seeds: int) -> bool:
        return smallest_difference(noise, seeds=seeds, sentences=sentences, questions=questions) <= difference

    return _fewest(enough)


def _fewest(enough: Callable[[int], bool]) -> int | None:
    """The smallest number of seeds that is enough; more of them always are, too."""
    low, high = 1, 2
    while not enough(high):
        if high >= MOST_SEEDS:
            return None
        low, high = high, min(2 * high, MOST_SEEDS)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


@dataclass(frozen=True, slots=True)
class _Design:
    """The standard errors that an experiment may have, and the bounds beyond which it marks, for each of them."""

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
    """The means of equally likely parts of chi-squared over its degrees of freedom, about; 1 for infinitely many."""
    from scipy.special import chdtri

    if math.isinf(degrees):
        return np.ones(1)
    quantiles: Values = chdtri(degrees, 1 - (np.arange(nodes) + 0.5) / nodes) / degrees
    return quantiles


def _marked(made: _Design, difference: float) -> float:
    """The probability of a mean beyond -b or b, for normal means around the difference."""
    from scipy.special import ndtr

    up_KX, down_KX = (ndtr((sign * difference - made.bound_KX) / made.error_K[:, None]) for sign in (1, -1))
    return float(up_KX.mean() + down_KX.mean())


def _shown(made: _Design, difference: float) -> float:
    """E |D| 1(|D| > b), for normal means D around the difference."""
    from scipy.special import ndtr

    shown = 0.0
    for sign in (1, -1):
        beyond_KX = (sign * difference - made.bound_KX) / made.error_K[:, None]
        density_KX = np.exp(-(beyond_KX**2) / 2) / math.sqrt(2 * math.pi)
        shown += float((sign * difference * ndtr(beyond_KX) + made.error_K[:, None] * density_KX).mean())
    return shown
