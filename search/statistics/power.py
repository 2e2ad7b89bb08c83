"""Before anything is trained: which differences so many seeds can tell from chance.

Array legend: R seeds, S sentences.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skipstack.search.statistics.chance import Part, error, half_width, mean_squares
from skipstack.search.statistics.pseudo_values import Values

POWER, LEVEL = 0.8, 0.05
"""A difference can be told from chance if so many of the experiments that could be made show it, at this level."""

MOST_SEEDS = 1000
"""More nobody trains."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Noise:
    """The variances of a difference between two networks, in the units of its square.

    ``seeds``: of the difference from seed to seed; ``sentences``: from sentence to sentence, the same by every seed;
    ``rest``: what is left in each cell of the table. A mean over R seeds and S sentences varies by
    seeds / R + sentences / S + rest / (R S).
    """

    seeds: float
    sentences: float
    rest: float


def noise(tables_RS: Sequence[Values]) -> Noise | None:
    """The components in tables of differences, the mean over them; None where no table has two seeds.

    From the mean squares (``MeanSquares``), a component that comes out negative being 0.
    """
    squares = [mean_squares(table) for table in tables_RS if len(table) > 1]
    if not squares:
        return None
    seeds = float(np.mean([(each.seeds - each.rest) / each.S for each in squares]))
    sentences = float(np.mean([(each.sentences - each.rest) / each.R for each in squares]))
    rest = float(np.mean([each.rest for each in squares]))
    return Noise(seeds=max(seeds, 0.0), sentences=max(sentences, 0.0), rest=rest)


def smallest_difference(noise: Noise, *, seeds: int, sentences: int, level: float = LEVEL) -> float:
    """The smallest true difference that would be told from 0 in ``POWER`` of experiments; infinite for one seed.

    That of a two-sided t test with the expected error, and as many degrees of freedom as its interval is worth. Where
    m questions are asked at once, ``level`` is that of the strictest: LEVEL / m.
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
    # How far a noncentral t has to lie from 0 to be beyond the quantile so often; it never is beyond the other one.
    return float(nctdtrinc(degrees, 1 - POWER, quantile)) * deviation


def seeds_needed(noise: Noise, difference: float, *, sentences: int, level: float = LEVEL) -> int | None:
    """The fewest seeds that tell this difference from 0; None where no number of them would.

    More seeds do not help against the chance of the sentences: their number sets an end to what can be told.
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
