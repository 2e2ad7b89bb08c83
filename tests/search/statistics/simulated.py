"""Simulated studies whose truth is known: what intervals cover, and how wide they are.

A network's chance to get a token right is 0.75 plus what its seed, the sentence, and both together add; the truth is
that of all seeds and all sentences. Tokens are then drawn one by one, so scores are counts as those of a real test set.

Array legend: N repeats, R seeds, S sentences, C counts of a sentence.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from skipstack.search.statistics.chance import VarianceComponent, chance, half_width
from skipstack.search.statistics.multiple_testing import LEVEL
from skipstack.search.statistics.pseudo_values import pseudo_values

Values = NDArray[np.float64]
Shape = Literal["normal", "heavy", "skewed", "failing"]

SENTENCES = 500
SEEDS = (2, 3, 5, 10)
CENTRE = 0.75
CHUNK = 100
"""Repeats that are drawn at once."""


def accuracy(counts_C: NDArray[np.number]) -> Values:
    """Right tokens of all tokens."""
    return counts_C[..., 1] / counts_C[..., 0]


def f1(counts_C: NDArray[np.number]) -> Values:
    """Of counts gold, predicted, correct."""
    return 2 * counts_C[..., 2] / (counts_C[..., 0] + counts_C[..., 1])


MEASURES: dict[str, Callable[[NDArray[np.number]], Values]] = {"accuracy": accuracy, "F1": f1}


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


@cache
def experiment(world: World, repeats: int, *, most: int = max(SEEDS), source: int = 0) -> dict[int, Found]:
    """Many differences between a row and its base, each with its interval, held against the truth, by seeds.

    Experiments of few seeds are the first seeds of those of many.
    """
    generator = np.random.default_rng([source, repeats])
    truth = world.effect * deviation(world)
    asked = [seeds for seeds in SEEDS if seeds <= most]
    parts = [_differences(world, truth, asked, size, generator) for size in chunks(repeats)]
    return {seeds: _found(np.concatenate(each, axis=1), truth) for seeds, *each in zip(asked, *parts, strict=True)}


def _found(measured_3N: Values, truth: float) -> Found:
    value_N, half_N, student_N = measured_3N
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
    (base_NRSC,) = counts(world, [(world.base, 0.0)], 20, 100, generator)
    return float(np.sqrt(MEASURES[world.measure](base_NRSC.sum(axis=2)).var(axis=1, ddof=1).mean()))


def counts(
    world: World, networks: Sequence[tuple[Network, float]], seeds: int, repeats: int, generator: np.random.Generator
) -> list[NDArray[np.int64]]:
    """Counts NRSC of each network with its effect, all on the same new sentences."""
    shape_N1S = (repeats, 1, SENTENCES)
    lengths_N1S = generator.integers(5, 36, shape_N1S)
    gold_N1S = generator.poisson(4.0, shape_N1S)
    difficulty_N1S = generator.uniform(-0.02, 0.02, shape_N1S)
    common = [generator.standard_normal((repeats, seeds, 1)), generator.standard_normal(shape_N1S)]
    made = []
    for network, effect in networks:
        right_NRS = np.clip(CENTRE + effect + difficulty_N1S + _effects(network, world, common, generator), 0, 1)
        if world.measure == "accuracy":
            correct_NRS = generator.binomial(lengths_N1S, right_NRS)
            counted = [lengths_N1S, correct_NRS]
        else:  # as many predicted as gold on the average, so that F1 is the chance to be right
            correct_NRS = generator.binomial(gold_N1S, right_NRS)
            counted = [gold_N1S, correct_NRS + generator.poisson(4.0 * (1 - right_NRS)), correct_NRS]
        made.append(np.stack([np.broadcast_to(each, correct_NRS.shape) for each in counted], axis=-1))
    return made


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
    world: World, truth: float, asked: Sequence[int], repeats: int, generator: np.random.Generator
) -> list[Values]:
    """For each number of seeds: differences, half the widths of their intervals, and of Student's over the seeds."""
    row_NRSC, base_NRSC = counts(world, [(world.row, truth), (world.base, 0.0)], max(asked), repeats, generator)
    of_counts = MEASURES[world.measure]
    of_seeds_NR = of_counts(row_NRSC.sum(axis=2)) - of_counts(base_NRSC.sum(axis=2))
    table_NRS = pseudo_values(row_NRSC, of_counts) - pseudo_values(base_NRSC, of_counts)
    return [_measured(of_seeds_NR[:, :seeds].mean(axis=1), chance(table_NRS[:, :seeds])) for seeds in asked]


def _measured(value_N: Values, parts: Sequence[VarianceComponent]) -> Values:
    return np.stack([value_N, half_width(parts, 1 - LEVEL), half_width(parts[:1], 1 - LEVEL)])


def chunks(repeats: int, most: int = CHUNK) -> Iterator[int]:
    """So many repeats in parts."""
    for start in range(0, repeats, most):
        yield min(most, repeats - start)
