"""Power analysis before training: the differences that a number of seeds can detect.

Array legend: R seeds, S sentences.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skipstack.search.statistics.chance import Part, error, half_width, mean_squares
from skipstack.search.statistics.pseudo_values import Values

POWER, LEVEL = 0.8, 0.05
"""A difference is detectable if this share of experiments finds it significant, at this level."""

MOST_SEEDS = 1000
"""The largest number of seeds that is considered."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Noise:
    """The variance components of a difference between two networks.

    ``seeds``: between seeds; ``sentences``: between sentences, shared by all seeds; ``rest``: of single cells of the
    table. The variance of a mean over R seeds and S sentences is seeds / R + sentences / S + rest / (R S).
    """

    seeds: float
    sentences: float
    rest: float


def noise(tables_RS: Sequence[Values]) -> Noise | None:
    """The components in tables of differences, averaged over the tables; None if no table has two seeds.

    Computed from the mean squares (``MeanSquares``); negative components are set to 0.
    """
    squares = [mean_squares(table) for table in tables_RS if len(table) > 1]
    if not squares:
        return None
    seeds = float(np.mean([(each.seeds - each.rest) / each.S for each in squares]))
    sentences = float(np.mean([(each.sentences - each.rest) / each.R for each in squares]))
    rest = float(np.mean([each.rest for each in squares]))
    return Noise(seeds=max(seeds, 0.0), sentences=max(sentences, 0.0), rest=rest)


def smallest_difference(noise: Noise, *, seeds: int, sentences: int, level: float = LEVEL) -> float:
    """The smallest true difference that is significant in a share ``POWER`` of experiments; infinite for one seed.

    For a two-sided t test with the expected error and the effective degrees of freedom of its interval. With m tests at
    once, ``level`` is that of the strictest one, LEVEL / m.
    """
    from scipy.special import nctdtrinc, stdtridf

    if seeds < 2:
        return math.inf
    parts = (
        Part(np.asarray(noise.seeds / seeds + noise.rest / (seeds * sentences)), seeds - 1),
        Part(np.asarray(noise.sentences / sentences), sentences - 1),
    )
    deviation = float(error(parts))
    if deviation == 0:
        return 0.0
    quantile = float(half_width(parts, 1 - level)) / deviation
    degrees = float(stdtridf(1 - level / 2, quantile))
    # The noncentrality at which t exceeds the quantile with that power; the other tail is negligible.
    return float(nctdtrinc(degrees, 1 - POWER, quantile)) * deviation


def seeds_needed(noise: Noise, difference: float, *, sentences: int, level: float = LEVEL) -> int | None:
    """The fewest seeds that detect this difference; None if no number of seeds does.

    More seeds do not reduce the variation of sentences, which limits the detectable difference.
    """
    low, high = 1, 2
    while smallest_difference(noise, seeds=high, sentences=sentences, level=level) > difference:
        if high >= MOST_SEEDS:
            return None
        low, high = high, min(2 * high, MOST_SEEDS)
    while high - low > 1:
        middle = (low + high) // 2
        enough = smallest_difference(noise, seeds=middle, sentences=sentences, level=level) <= difference
        low, high = (low, middle) if enough else (middle, high)
    return high
