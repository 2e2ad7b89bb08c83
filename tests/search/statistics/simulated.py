"""Simulated studies whose truth is known: what intervals cover, how wide they are, and how often chance gets a mark.

A network's chance to get a token right is 0.75 plus what its seed, the sentence, and both together add; the truth is
that of all seeds and all sentences. Tokens are then drawn one by one, so scores are counts as those of a real test set.

Array legend: N repeats, R seeds, S sentences, C counts of a sentence, M rows of a family.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from skipstack.search.statistics.chance import chance, half_width, p_value
from skipstack.search.statistics.families import LEVEL, holm
from skipstack.search.statistics.pseudo_values import pseudo_values

Values = NDArray[np.float64]
Shape = Literal["normal", "heavy", "skewed", "failing"]

SENTENCES = 500
CENTRE = 0.75
CHUNK = 100
"""Repeats that are drawn at once."""


def accuracy(counts_C: NDArray[np.number]) -> Values:
    """Right tokens of all tokens."""
    return counts_C[..., 1] / counts_C[..., 0]


def f1(counts_C: NDArray[np.number]) -> Values:
    """Of counts gold, predicted, correct."""
    return 2 * counts_C[..., 2] / (counts_C[..., 0] + counts_C[..., 1])


@dataclass(frozen=True)
class Network:
    """The standard deviations of what a network's seeds, sentences and cells add, and how the seeds are distributed."""

    seeds: float = 0.005
    sentences: float = 0.03
    cells: float = 0.02
    shape: Shape = "normal"


@dataclass(frozen=True)
class World:
    """A row and its base. ``effect``: in standard deviations of the base's score over seeds.

    ``shared``: how far the effects of a seed correlate between the two, ``shared_sentences``: those of a sentence.
    """

    name: str
    row: Network = Network()
    base: Network = Network()
    effect: float = 0.0
    shared: float = 0.0
    shared_sentences: float = 0.0
    measure: Literal["accuracy", "F1"] = "accuracy"


SEEDS_ALONE = Network(seeds=0.012, sentences=0.0)
SENTENCES_MOST = Network(seeds=0.001, sentences=0.05)

WORLDS = (
    World("no effect"),
    World("0.5 standard deviations", effect=0.5),
    World("1 standard deviation", effect=1.0),
    World("2 standard deviations", effect=2.0),
    World("seeds alone differ", SEEDS_ALONE, SEEDS_ALONE, effect=1.0),
    World("sentences differ most", SENTENCES_MOST, SENTENCES_MOST, effect=1.0),
    World("unequal variances", Network(seeds=0.012, cells=0.03), Network(seeds=0.003), effect=1.0),
    World("heavy tails", Network(shape="heavy"), Network(shape="heavy"), effect=1.0),
    World("skewed seeds", Network(shape="skewed"), Network(shape="skewed"), effect=1.0),
    World("skewed seeds of the row alone", Network(shape="skewed"), effect=1.0),
    World("correlated seeds and sentences", effect=1.0, shared=0.8, shared_sentences=0.8),
    World("F1, no effect", measure="F1"),
    World("F1, 1 standard deviation", effect=1.0, measure="F1"),
    World("F1, correlated", effect=1.0, shared=0.8, shared_sentences=0.8, measure="F1"),
)

FAILING = World("one training of the row in ten fails", Network(seeds=0.012, shape="failing"), effect=1.0)
"""What no interval from a few seeds can cover: most experiments see no failure at all."""


@dataclass(frozen=True)
class Found:
    """What became of many repeats of an experiment: shares and ratios.

    ``covered``: of intervals that hold the truth, ``told``: that do not hold 0; ``wide``: their mean width beside that
    of who knows how far the differences of all repeats lie apart; the same of Student's t over the seeds.
    """

    covered: float
    told: float
    wide: float
    student_covered: float
    student_wide: float


def experiment(world: World, seeds: int, repeats: int, source: int = 0) -> Found:
    """Many differences between a row and its base, each with its interval, held against the truth."""
    generator = np.random.default_rng([source, seeds, repeats])
    truth = world.effect * deviation(world)
    parts = [_differences(world, truth, seeds, size, generator) for size in _chunks(repeats)]
    value_N, half_N, student_N = (np.concatenate(each) for each in zip(*parts, strict=True))
    oracle = 1.96 * value_N.std()
    away_N = np.abs(value_N - truth)
    return Found(
        covered=float((away_N <= half_N).mean()),
        told=float((np.abs(value_N) > half_N).mean()),
        wide=float(half_N.mean() / oracle),
        student_covered=float((away_N <= student_N).mean()),
        student_wide=float(student_N.mean() / oracle),
    )


def deviation(world: World) -> float:
    """How far the base's scores lie apart from seed to seed, on one test set."""
    generator = np.random.default_rng(1)
    one = replace(world, row=world.base, shared=0.0)
    _, base_NRSC, of_counts = counts(one, 0.0, 20, 100, generator)
    return float(np.sqrt(of_counts(base_NRSC.sum(axis=2)).var(axis=1, ddof=1).mean()))


def counts(
    world: World, effect: float, seeds: int, repeats: int, generator: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64], Callable[[NDArray[np.number]], Values]]:
    """Counts of the row and of the base on the same new sentences, and what makes scores of them."""
    shape_NS = (repeats, 1, SENTENCES)
    lengths_NS = generator.integers(5, 36, shape_NS)
    gold_NS = generator.poisson(4.0, shape_NS)
    difficulty_NS = generator.uniform(-0.02, 0.02, shape_NS)
    common_R = [generator.standard_normal((repeats, seeds, 1)), generator.standard_normal(shape_NS)]
    made = []
    for network, plus in ((world.row, effect), (world.base, 0.0)):
        right_NRS = CENTRE + plus + difficulty_NS + _effects(network, world, common_R, generator)
        if world.measure == "accuracy":
            correct_NRS = generator.binomial(lengths_NS, np.clip(right_NRS, 0, 1))
            made.append(np.stack([np.broadcast_to(lengths_NS, correct_NRS.shape), correct_NRS], axis=-1))
        else:  # as many predicted as gold on the average, so that F1 is the chance to be right
            correct_NRS = generator.binomial(gold_NS, np.clip(right_NRS, 0, 1))
            wrong_NRS = generator.poisson(4.0 * np.clip(1 - right_NRS, 0, 1))
            gold_NRS = np.broadcast_to(gold_NS, correct_NRS.shape)
            made.append(np.stack([gold_NRS, correct_NRS + wrong_NRS, correct_NRS], axis=-1))
    return made[0], made[1], accuracy if world.measure == "accuracy" else f1


def _effects(network: Network, world: World, common: list[Values], generator: np.random.Generator) -> Values:
    """What seeds, sentences and cells add: each of mean 0, within bounds that keep chances between 0 and 1."""
    repeats, seeds, _ = common[0].shape
    own_NR1 = _drawn(network.shape, (repeats, seeds, 1), generator)
    own_N1S = generator.standard_normal((repeats, 1, SENTENCES))
    seeds_NR1 = np.sqrt(1 - world.shared) * own_NR1 + np.sqrt(world.shared) * common[0]
    sentences_N1S = np.sqrt(1 - world.shared_sentences) * own_N1S + np.sqrt(world.shared_sentences) * common[1]
    cells_NRS = generator.uniform(-np.sqrt(3), np.sqrt(3), (repeats, seeds, SENTENCES))
    bounded = np.clip(sentences_N1S, -3, 3)
    effects: Values = network.seeds * seeds_NR1 + network.sentences * bounded + network.cells * cells_NRS
    return effects


def _drawn(shape: Shape, size: tuple[int, ...], generator: np.random.Generator) -> Values:
    """Values of mean 0 and standard deviation 1."""
    match shape:
        case "normal":
            return generator.standard_normal(size)
        case "heavy":
            return np.clip(generator.standard_t(3, size) / np.sqrt(3), -8, 8)
        case "skewed":  # to the left: now and then a training goes badly
            return (2.0 - generator.gamma(2.0, 1.0, size)) / np.sqrt(2.0)
        case "failing":
            return (0.1 - (generator.random(size) < 0.1)) / 0.3


def _differences(
    world: World, truth: float, seeds: int, repeats: int, generator: np.random.Generator
) -> tuple[Values, Values, Values]:
    """Differences, half the widths of their intervals, and of Student's over the seeds."""
    row_NRSC, base_NRSC, of_counts = counts(world, truth, seeds, repeats, generator)
    of_seeds_NR = of_counts(row_NRSC.sum(axis=2)) - of_counts(base_NRSC.sum(axis=2))
    parts = chance(pseudo_values(row_NRSC, of_counts) - pseudo_values(base_NRSC, of_counts))
    return of_seeds_NR.mean(axis=1), half_width(parts, 1 - LEVEL), half_width(parts[:1], 1 - LEVEL)


def _chunks(repeats: int) -> Iterator[int]:
    for start in range(0, repeats, CHUNK):
        yield min(CHUNK, repeats - start)
