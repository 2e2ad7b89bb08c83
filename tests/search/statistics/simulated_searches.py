"""Simulated searches in which nothing has an effect: how often does chance alone get a mark?

Each search tries configs on dev, with seeds of its own, and takes the best as its winner. Then winner, base and what
lies between them are trained with other seeds and tested on other sentences: a family of rows, as `ablate` has it.

Array legend: N searches, R seeds, S sentences, C counts of a sentence, M rows of a family.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from skipstack.search.statistics.chance import chance, error, half_width, p_value
from skipstack.search.statistics.multiple_testing import LEVEL
from skipstack.search.statistics.pseudo_values import pseudo_values
from tests.search.statistics.simulated import MEASURES, SENTENCES_MOST, Network, Values, World, chunks, counts

CONFIGS, SEARCH_SEEDS = 16, 2
"""What a search tries, the base among it, and with how many seeds."""

FRESH_SEEDS = (2, 3, 5)

CHANGES = 3
"""What tells the winner from the base: a row for each taken back from the winner, and for each alone in the base."""

NOTHING = (
    World("seeds and sentences alike"),
    World("sentences differ most", SENTENCES_MOST, SENTENCES_MOST),
    World("F1, heavy tails", Network(shape="heavy"), Network(shape="heavy"), measure="F1"),
)
"""Worlds in which no config is better than another."""


@dataclass(frozen=True)
class Marked:
    """Shares of searches. ``family``: by seeds, with any row that has a mark after Holm.

    The others tell what tables of the search's own dev scores would say of its winner: that its difference to the base
    is larger than its standard error over the seeds, and that the interval around it does not hold 0.
    """

    family: dict[int, float]
    winner_exceeds_error: float
    winner_interval: float


@cache
def searches(world: World, repeats: int, *, source: int = 0) -> Marked:
    """Many searches of configs that are all equally good."""
    generator = np.random.default_rng([source, repeats])
    families = [_families(world, size, generator) for size in chunks(repeats)]
    winners = [_winner(world, size, generator) for size in chunks(repeats)]
    exceeds_N, excludes_N = (np.concatenate(each) for each in zip(*winners, strict=True))
    return Marked(
        family={seeds: float(np.concatenate(each).mean()) for seeds, *each in zip(FRESH_SEEDS, *families, strict=True)},
        winner_exceeds_error=float(exceeds_N.mean()),
        winner_interval=float(excludes_N.mean()),
    )


def _families(world: World, repeats: int, generator: np.random.Generator) -> list[NDArray[np.bool_]]:
    """For each number of seeds, whether a row has a mark: the winner, its changes taken back, and alone in the base."""
    made = counts(world, [(world.row, 0.0)] * (2 + 2 * CHANGES), max(FRESH_SEEDS), repeats, generator)
    of_counts = MEASURES[world.measure]
    tables = [pseudo_values(each, of_counts) for each in made]
    scores = [of_counts(each.sum(axis=2)) for each in made]
    references = [0, *[1] * CHANGES, *[0] * CHANGES]  # 0 is the base, 1 the winner
    marked = []
    for seeds in FRESH_SEEDS:
        p_MN = [
            p_value(
                (scores[row] - scores[reference])[:, :seeds].mean(axis=1),
                chance((tables[row] - tables[reference])[:, :seeds]),
            )
            for row, reference in enumerate(references, start=1)
        ]
        # That any is marked after Holm is that the smallest is marked, which counts as often as there are rows.
        marked.append(np.min(p_MN, axis=0) * len(references) < LEVEL)
    return marked


def _winner(world: World, repeats: int, generator: np.random.Generator) -> tuple[Values, Values]:
    """What the search's own scores on dev would say of its winner."""
    made = counts(world, [(world.row, 0.0)] * CONFIGS, SEARCH_SEEDS, repeats, generator)
    of_counts = MEASURES[world.measure]
    scores_NK = np.stack([of_counts(each.sum(axis=2)).mean(axis=1) for each in made], axis=1)
    best_N, all_N = scores_NK.argmax(axis=1), np.arange(repeats)
    tables_KNRS = np.stack([pseudo_values(each, of_counts) for each in made])
    parts = chance(tables_KNRS[best_N, all_N] - tables_KNRS[0])
    gain_N = scores_NK[all_N, best_N] - scores_NK[:, 0]
    other_N = best_N > 0
    return other_N & (gain_N > error(parts[:1])), other_N & (gain_N > half_width(parts, 1 - LEVEL))
