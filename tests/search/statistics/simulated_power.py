"""Simulated families in which one row has an effect: is it marked as often as the families say that it would be?

Each of some families estimates its noise and states the smallest difference that it could detect, as a report does.
Other families then get this difference in their first row, and half of it, and are marked by Holm.

Array legend: N repeats, R seeds, S sentences, C counts of a sentence, Q rows of a family.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from skipstack.search.statistics.chance import VarianceComponent, chance, p_value
from skipstack.search.statistics.multiple_testing import LEVEL
from skipstack.search.statistics.power import Noise, chances, noise, smallest_difference
from skipstack.search.statistics.pseudo_values import pseudo_values
from tests.search.statistics.simulated import MEASURES, SENTENCES, Values, World, chunks, counts

SEEDS, ROWS = (3, 5, 10), (2, 7, 17)

STATING, TESTED = 100, 20
"""So many families state what they detect, and each of these differences is put into so many others."""


@dataclass(frozen=True)
class Stated:
    """Shares of experiments, and sizes as multiples of the true difference; ``smallest``: the mean difference that is
    stated to be marked in 80 of 100, in standard deviations of a score over seeds.

    Each pair: as stated, and as it came.
    """

    smallest: float
    detected: tuple[float, float]
    half_detected: tuple[float, float]
    half_overstated: tuple[float, float]


@dataclass(frozen=True)
class _Families:
    """Differences to the base without any effect, the parts of their variances, and what some families estimate."""

    values_QN: Values
    parts: tuple[VarianceComponent, ...]
    estimated: dict[int, list[Noise]]


def first_is_marked(p_QN: Values) -> NDArray[np.bool_]:
    """Whether Holm marks the first row: its p, and each smaller one, is below the level over the rows that are left."""
    below_QN = np.sort(p_QN, axis=0) < LEVEL / np.arange(len(p_QN), 0, -1)[:, None]
    before_N, marked_N = (p_QN < p_QN[0]).sum(axis=0), np.logical_and.accumulate(below_QN).sum(axis=0)
    found: NDArray[np.bool_] = before_N < marked_N
    return found


def stated(rows: int, repeats: int, *, source: int = 0) -> dict[int, Stated]:
    """By seeds, what families of so many rows state, and what becomes of it."""
    return {seeds: _stated(found, rows, seeds) for seeds, found in _families(repeats, source).items()}


def _stated(found: _Families, rows: int, seeds: int) -> Stated:
    deviation = float(np.sqrt(2 * found.parts[0].variance.mean() * seeds) / 2)  # of a difference: both networks vary
    p_QN = p_value(
        found.values_QN[:rows], [VarianceComponent(part.variance[:rows], part.degrees) for part in found.parts]
    )
    smallest, detected, half, shown = [], [], [], []
    for number, estimated in enumerate(found.estimated[rows]):
        said = smallest_difference(estimated, seeds=seeds, sentences=SENTENCES, questions=rows)
        halved = chances(estimated, said / 2, seeds=seeds, sentences=SENTENCES, questions=rows)
        others = (number + 1 + found.values_QN.shape[1] // TESTED * np.arange(TESTED)) % found.values_QN.shape[1]
        smallest.append(said / deviation)
        detected.append(_marked(found, p_QN, others, said)[0].mean())
        marked_N, value_N = _marked(found, p_QN, others, said / 2)
        half.append((halved.marked, marked_N.mean()))
        shown += [(halved.overstated, size / (said / 2)) for size in np.abs(value_N[marked_N]).tolist()]
    stated_half, came_half = np.mean(half, axis=0).tolist()
    stated_size, came_size = np.mean(shown, axis=0).tolist()
    return Stated(
        float(np.mean(smallest)), (0.8, float(np.mean(detected))), (stated_half, came_half), (stated_size, came_size)
    )


def _marked(
    found: _Families, p_QN: Values, which_N: NDArray[np.int64], effect: float
) -> tuple[NDArray[np.bool_], Values]:
    """Whether these families mark their first row, if it has this effect, and how large they show it."""
    value_N = found.values_QN[0, which_N] + effect
    own_N = p_value(value_N, [VarianceComponent(part.variance[0, which_N], part.degrees) for part in found.parts])
    return first_is_marked(np.concatenate([own_N[None], p_QN[1:, which_N]])), value_N


@cache
def _families(repeats: int, source: int) -> dict[int, _Families]:
    generator = np.random.default_rng([source, repeats])
    world, of_counts = World("no effect"), MEASURES["accuracy"]
    values: dict[int, list[Values]] = {seeds: [] for seeds in SEEDS}
    parts: dict[int, list[tuple[VarianceComponent, ...]]] = {seeds: [] for seeds in SEEDS}
    estimated: dict[int, dict[int, list[Noise]]] = {seeds: {rows: [] for rows in ROWS} for seeds in SEEDS}
    for size in chunks(repeats, 25):
        networks = [(world.row, 0.0)] * (1 + max(ROWS))
        base, *others = (
            pseudo_values(each, of_counts) for each in counts(world, networks, max(SEEDS), size, generator)
        )
        tables_QNRS = np.stack([each - base for each in others])
        for seeds in SEEDS:
            some_QNRS = tables_QNRS[:, :, :seeds]
            values[seeds].append(some_QNRS.mean(axis=(2, 3)))
            parts[seeds].append(chance(some_QNRS))
            for rows in ROWS:
                room = STATING - len(estimated[seeds][rows])
                found = (noise(list(some_QNRS[:rows, place])) for place in range(min(size, room)))
                estimated[seeds][rows] += [each for each in found if each is not None]
    return {
        seeds: _Families(
            np.concatenate(values[seeds], axis=1),
            tuple(
                VarianceComponent(np.concatenate([each.variance for each in alike], axis=1), alike[0].degrees)
                for alike in zip(*parts[seeds], strict=True)
            ),
            estimated[seeds],
        )
        for seeds in SEEDS
    }
