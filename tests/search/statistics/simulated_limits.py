"""Simulated experiments at the limits of intervals and marks: documents, rare spans, and trainings that fail.

Array legend: N repeats, R seeds, S sentences, C counts of a sentence, Q rows of a family.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations, product
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from skipstack.search.statistics.chance import VarianceComponent, chance, half_width, p_value
from skipstack.search.statistics.multiple_testing import LEVEL
from skipstack.search.statistics.pseudo_values import pseudo_values
from tests.search.statistics.simulated import Values, accuracy, f1

SEEDS = 5


@dataclass(frozen=True)
class Documented:
    """A test set whose sentences come in documents of ``size`` sentences on average, from 1 to almost twice that.

    ``alike``: the share of the variance between sentences that the sentences of a document have in common.
    """

    name: str
    documents: int
    size: int
    alike: float


DOCUMENTED = (
    Documented("10 documents of 20 sentences, 20 % in common", 10, 20, 0.2),
    Documented("25 documents of 20 sentences, 20 % in common", 25, 20, 0.2),
    Documented("25 documents of 20 sentences, 5 % in common", 25, 20, 0.05),
    Documented("100 documents of 5 sentences, 20 % in common", 100, 5, 0.2),
    Documented("100 documents of 20 sentences, 20 % in common", 100, 20, 0.2),
    Documented("100 documents of 20 sentences, nothing in common", 100, 20, 0.0),
)


def covered(world: Documented, repeats: int) -> tuple[float, float]:
    """How often intervals over sentences, and over documents, hold the true difference, which is 0."""
    generator = np.random.default_rng(repeats)
    by_sentences = by_documents = 0
    for _ in range(repeats):
        sizes = generator.integers(1, 2 * world.size, world.documents)
        starts = np.cumsum([0, *sizes[:-1]])
        tables = []
        values = []
        lengths_S = generator.integers(5, 36, sizes.sum())
        for _ in range(2):
            common_S = np.repeat(generator.normal(0, np.sqrt(world.alike), world.documents), sizes)
            own_S = generator.normal(0, np.sqrt(1 - world.alike), sizes.sum())
            right_RS = 0.75 + 0.08 * (common_S + own_S) + generator.normal(0, 0.005, (SEEDS, 1))
            correct_RS = generator.binomial(lengths_S, np.clip(right_RS, 0, 1))
            counts_RSC = np.stack([np.broadcast_to(lengths_S, correct_RS.shape), correct_RS], axis=-1)
            values.append(accuracy(counts_RSC.sum(axis=1)).mean())
            tables.append(
                [pseudo_values(each, accuracy) for each in (counts_RSC, np.add.reduceat(counts_RSC, starts, 1))]
            )
        (sentences, documents), (other_sentences, other_documents) = tables
        away = abs(values[0] - values[1])
        by_sentences += away <= half_width(chance(sentences - other_sentences), 1 - LEVEL)
        by_documents += away <= half_width(chance(documents - other_documents), 1 - LEVEL)
    return float(by_sentences) / repeats, float(by_documents) / repeats


@dataclass(frozen=True)
class Rare:
    """Two networks of these F1; errors on a span recur from seed to seed, nine times of ten."""

    name: str
    row: float
    base: float


RARE = (Rare("97 and 98", 0.97, 0.98), Rare("91 and 95", 0.91, 0.95), Rare("20 and 50", 0.2, 0.5))
SPANS = (8, 15, 30, 60, 120)
RECURRING, SENTENCES = 0.9, 500


def covered_of_spans(world: Rare, spans: int, repeats: int) -> float:
    """How often the interval of the difference holds the true one, for so many gold spans in the test set."""
    generator = np.random.default_rng([spans, repeats])
    found = 0
    for _ in range(repeats):
        gold_S = np.bincount(generator.integers(0, SENTENCES, spans), minlength=SENTENCES)
        made = []
        for share in (world.row, world.base):
            chance_R1 = np.clip(share + generator.normal(0, 0.003, (SEEDS, 1)), 0, 1)
            correct_RS = binom.ppf(_recurring(generator), gold_S, np.broadcast_to(chance_R1, (SEEDS, SENTENCES)))
            correct_RS = np.where(gold_S > 0, correct_RS, 0)
            wrong_RS = _recurring(generator) < spans / SENTENCES * (1 - share)
            gold_RS = np.broadcast_to(gold_S, correct_RS.shape)
            made.append(np.stack([gold_RS, correct_RS + wrong_RS, correct_RS], axis=-1))
        table_RS = pseudo_values(made[0], f1) - pseudo_values(made[1], f1)
        value = f1(made[0].sum(axis=1)).mean() - f1(made[1].sum(axis=1)).mean()
        found += bool(abs(value - (world.row - world.base)) <= half_width(chance(table_RS), 1 - LEVEL))
    return found / repeats


def _recurring(generator: np.random.Generator) -> Values:
    """Numbers between 0 and 1 of which each seed has mostly the same."""
    common_1S, own_RS = generator.random((1, SENTENCES)), generator.random((SEEDS, SENTENCES))
    return np.where(generator.random((SEEDS, SENTENCES)) < RECURRING, common_1S, own_RS)


Shape = Literal["normal", "skewed", "very skewed", "failing"]

SHAPES: Mapping[Shape, str] = {
    "normal": "normal",
    "skewed": "skewed: exponential",
    "very skewed": "very skewed: lognormal",
    "failing": "one training in ten fails",
}

CHANGES = 3
"""As in ``simulated_searches``: seven rows."""


def marked(shape: Shape, seeds: int, repeats: int) -> dict[str, float]:
    """The share of families with any mark, by test, where only the winner's seeds have this shape, and equal means.

    ``t``: as marks are given. The others: signs of paired differences flipped; the rows of winner and base permuted,
    unpaired; t with Johnson's correction of skew (1978); and a mark only where both t and the flips are below 5 %, the
    flips without correction.
    """
    generator = np.random.default_rng([list(SHAPES).index(shape), seeds])
    winner, base, *others = (
        _drawn(kind, (repeats, seeds), generator) for kind in (shape, *["normal"] * (1 + 2 * CHANGES))
    )
    pairs = [
        (winner, base),
        *((each, winner) for each in others[:CHANGES]),
        *((each, base) for each in others[CHANGES:]),
    ]
    p_QN = {name: np.stack([test(one, other) for one, other in pairs]) for name, test in TESTS.items()}
    rows = len(pairs)
    shares = {name: float((each.min(axis=0) * rows < LEVEL).mean()) for name, each in p_QN.items()}
    both = np.maximum(rows * p_QN["t"], p_QN["flips"]).min(axis=0) < LEVEL
    return {**shares, "t and flips": float(both.mean())}


def _drawn(shape: Shape, size: tuple[int, int], generator: np.random.Generator) -> Values:
    """Scores of mean 0: of standard deviation 0.3 where they are normal, 1 where they are not."""
    match shape:
        case "normal":
            return generator.normal(0, 0.3, size)
        case "skewed":
            return 1 - generator.exponential(size=size)
        case "very skewed":
            return (np.exp(0.5) - np.exp(generator.normal(size=size))) / 2.16
        case "failing":
            return generator.normal(0, 0.1, size) + (0.1 - (generator.random(size) < 0.1)) / 0.3


def _student(one_NR: Values, other_NR: Values) -> Values:
    return p_value((one_NR - other_NR).mean(axis=1), _parts(one_NR - other_NR))


def _johnson(one_NR: Values, other_NR: Values) -> Values:
    difference_NR = one_NR - other_NR
    R = difference_NR.shape[1]
    mean_N, variance_N = difference_NR.mean(axis=1), difference_NR.var(axis=1, ddof=1)
    third_N = ((difference_NR - mean_N[:, None]) ** 3).sum(axis=1) * R / ((R - 1) * (R - 2))
    moved_N = mean_N + third_N / (6 * variance_N * R) + third_N * mean_N**2 / (3 * variance_N**2)
    return p_value(moved_N, _parts(difference_NR))


def _parts(difference_NR: Values) -> list[VarianceComponent]:
    R = difference_NR.shape[1]
    return [VarianceComponent(difference_NR.var(axis=1, ddof=1) / R, R - 1)]


def _flips(one_NR: Values, other_NR: Values) -> Values:
    difference_NR = one_NR - other_NR
    signs_XR = np.array(list(product((1.0, -1.0), repeat=difference_NR.shape[1])))
    return _as_far(np.abs(difference_NR @ signs_XR.T), np.abs(difference_NR.sum(axis=1)))


def _permuted(one_NR: Values, other_NR: Values) -> Values:
    both_NY, R = np.concatenate([one_NR, other_NR], axis=1), one_NR.shape[1]
    sum_N = both_NY.sum(axis=1)
    if R > 5:  # of the many ways to choose half of them, some
        generator = np.random.default_rng(R)
        chosen_XR = np.stack([generator.permutation(2 * R)[:R] for _ in range(2000)])
    else:
        chosen_XR = np.array(list(combinations(range(2 * R), R)))
    sums_NX = np.stack([both_NY[:, chosen_R].sum(axis=1) for chosen_R in chosen_XR], axis=1)
    return _as_far(np.abs(2 * sums_NX - sum_N[:, None]), np.abs(2 * one_NR.sum(axis=1) - sum_N))


def _as_far(all_NX: Values, found_N: Values) -> Values:
    share_N: NDArray[np.float64] = (all_NX >= found_N[:, None] - 1e-12).mean(axis=1)
    return share_N


TESTS: Mapping[str, Callable[[Values, Values], Values]] = {
    "t": _student,
    "flips": _flips,
    "permuted": _permuted,
    "Johnson": _johnson,
}
