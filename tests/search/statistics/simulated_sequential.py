"""Simulated families whose rows get seeds until they are decided: marks by chance, and the seeds that it takes.

Array legend: N families, Q rows of a family (the base comes first where it is counted), R seeds, S sentences, K looks.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skipstack.search.statistics.chance import chance, p_value
from skipstack.search.statistics.multiple_testing import LEVEL
from skipstack.search.statistics.power import Noise, seeds_needed
from skipstack.search.statistics.sequential import expected, looks, spending

LOOKS = looks(5, 40)
ROWS = 7
FAMILIES = 20_000
EXPERIMENTS = 20_000
SENTENCES = 40


@dataclass(frozen=True)
class Varying:
    """How scores vary, as the deviations that seeds, sentences and single cells bring to a network's mean score."""

    name: str
    seeds: float = 1.0
    sentences: float = 0.0
    rest: float = 0.0
    heavy: bool = False


VARYING = (
    Varying("seeds alone"),
    Varying("seeds and sentences alike", sentences=1.0, rest=0.5),
    Varying("sentences differ most", seeds=0.3, sentences=1.0, rest=0.5),
    Varying("heavy tails", heavy=True),
)


@dataclass(frozen=True)
class ByChance:
    """The shares of families without effects in which a row is marked: at the first look, if one stops at the worst
    look, and, there, if no look is corrected for the others.
    """

    once: float
    worst: float
    uncorrected: float


@dataclass(frozen=True)
class Trained:
    """What rows take whose effect the sequential design marks in 80 of 100. ``effect``: in deviations of a seed's
    difference. ``fixed``: the seeds with which a fixed design marks it as often. ``marked``: the share that is marked.
    ``seeds``: the mean number of seeds of rows without effect, with half of it, with it, and with twice of it.
    """

    effect: float
    fixed: int
    marked: float
    seeds: tuple[float, float, float, float]

    @property
    def saved(self) -> float:
        """The share of seeds that is saved where every second row has the effect and the others have none."""
        return 1 - (self.seeds[0] + self.seeds[2]) / 2 / self.fixed


def by_chance(world: Varying, families: int = FAMILIES, *, source: int = 0) -> ByChance:
    """Mark families of rows that differ by chance alone, at all looks."""
    p_KQN = np.concatenate(list(_p_values(world, families, np.random.default_rng(source))), axis=-1)
    corrected_KQN = p_KQN / np.array(spending(LOOKS, LEVEL / ROWS))[:, None, None]

    def marked(p: NDArray[np.float64]) -> float:
        return float((p.min(axis=(0, 1)) < LEVEL / ROWS).mean())

    return ByChance(marked(corrected_KQN[:1]), marked(corrected_KQN), marked(p_KQN))


def _p_values(world: Varying, families: int, source: np.random.Generator) -> Iterator[NDArray[np.float64]]:
    for start in range(0, families, chunk := 200):
        size = (min(chunk, families - start), ROWS + 1)
        draw = (lambda shape: source.standard_t(3, shape) / np.sqrt(3)) if world.heavy else source.standard_normal
        scores_NQRS = world.seeds * draw((*size, LOOKS[-1], 1))
        scores_NQRS = scores_NQRS + world.sentences * SENTENCES**0.5 * source.standard_normal((*size, 1, SENTENCES))
        scores_NQRS = scores_NQRS + world.rest * SENTENCES**0.5 * source.standard_normal((*size, LOOKS[-1], SENTENCES))
        differences = scores_NQRS[:, 1:] - scores_NQRS[:, :1]
        found = []
        for look in LOOKS:
            table = differences[:, :, :look]
            found.append(p_value(table.mean(axis=(-2, -1)), chance(table)).T)
        yield np.stack(found)


def trained(rows: int, experiments: int = EXPERIMENTS, *, source: int = 0) -> Trained:
    """Simulate rows of a family of so many, seeds alone varying."""
    level = LEVEL / rows
    spent = spending(LOOKS, level)

    def simulated(effect: float) -> tuple[float, float]:
        draws = np.random.default_rng(source)
        found = expected(LOOKS, spent, effect, level=level, experiments=experiments, source=draws)
        return found.marked, found.seeds

    low, high = 0.0, 4.0
    while high - low > 0.005:
        middle = (low + high) / 2
        low, high = (middle, high) if simulated(middle)[0] < 0.8 else (low, middle)
    fixed = seeds_needed(Noise(seeds=1.0, sentences=0.0, rest=0.0), high, sentences=2, questions=rows)
    assert fixed is not None, "so many seeds are looked at"
    marked, seeds = simulated(high)
    others = [simulated(times * high)[1] for times in (0.0, 0.5, 2.0)]
    return Trained(high, fixed, marked, (others[0], others[1], seeds, others[2]))
