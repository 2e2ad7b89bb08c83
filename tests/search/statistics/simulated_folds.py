"""Simulated cross-validations whose truth is known: what intervals over folds cover, also of a config that was chosen.

Array legend: N data sets, E examples, T examples of a test set, F features, C calls, X configs.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skipstack.search.statistics.chance import VarianceComponent, chance_of_folds, half_width
from skipstack.search.statistics.multiple_testing import LEVEL
from skipstack.search.statistics.rounding import ROUNDING

Values = NDArray[np.float64]

TEST = 300
"""The examples of the test set."""

USEFUL, FURTHER = 5, 4
"""Features that tell the classes apart, and further ones that tell nothing."""

APART = 0.35
"""How far the classes lie apart in a useful feature, from their middle, in standard deviations."""

PLAIN, PARTITIONS, CORRECTED, ON_TEST = "t over folds", "t over partitions", "corrected", "corrected, on test"
"""The intervals that are compared."""


@dataclass(frozen=True)
class Validated:
    """A cross-validation of two classifiers by least squares, with further features and without.

    ``noise``: of the weights after training, as a multiple of their mean size.
    """

    name: str
    examples: int
    folds: int
    partitions: int
    noise: float = 0.0


VALIDATED = (
    Validated("60 examples, 5 folds", 60, 5, 1),
    Validated("200 examples, 5 folds", 200, 5, 1),
    Validated("200 examples, 10 folds", 200, 10, 1),
    Validated("60 examples, 5 folds of each of 5 partitions", 60, 5, 5),
    Validated("200 examples, 5 folds of each of 5 partitions", 200, 5, 5),
    Validated("200 examples, 10 folds of each of 5 partitions", 200, 10, 5),
    Validated("200 examples, 2 folds of each of 5 partitions", 200, 2, 5),
    Validated("200 examples, 5 folds of each of 5 partitions, noisy training", 200, 5, 5, noise=0.5),
)


@dataclass(frozen=True)
class Chosen:
    """A search for the best of ``configs`` by 5 folds of 100 examples, and an ablation on ``partitions`` fresh ones.

    No config is better than another: each has further features of its own. ``trained``: or else a config is one
    feature, which predicts the class without any training.
    """

    name: str
    configs: int
    partitions: int
    trained: bool = True


CHOSEN = (
    Chosen("the best of 16, 1 partition", 16, 1),
    Chosen("the best of 16, 5 partitions", 16, 5),
    Chosen("the best of 16, 5 partitions, nothing trained", 16, 5, trained=False),
    Chosen("the best of 64, 5 partitions, nothing trained", 64, 5, trained=False),
)


def covered(world: Validated, repeats: int) -> tuple[Mapping[str, float], float]:
    """How often each interval holds the true difference, where it has any width; and how wide the corrected one is, as
    a multiple of one that knows how far all differences lie apart.
    """
    generator = np.random.default_rng(repeats)
    classes_NE, examples_NEF = _drawn(generator, repeats, world.examples)
    classes_1T, test_1TF = _drawn(generator, 1, TEST)  # what is measured on test holds of this test set
    held_out_NC, on_test_NC = [], []
    for _ in range(world.partitions):
        folds_NE = partition(generator, repeats, world.examples, world.folds)
        with_all, without = (
            _validated(generator, world, examples_NEF[..., own], classes_NE, folds_NE, test_1TF[..., own], classes_1T)
            for own in (slice(None), slice(USEFUL))
        )
        held_out_NC.append(with_all[0] - without[0])
        on_test_NC.append(with_all[1] - without[1])
    found, of_test = np.concatenate(held_out_NC, axis=1), np.concatenate(on_test_NC, axis=1)
    intervals = {name: (found, parts) for name, parts in _parts(found, world.folds).items()}
    intervals[ON_TEST] = (of_test, chance_of_folds(of_test, world.folds, held_out=False))
    shares = {name: _share_covered(values, parts) for name, (values, parts) in intervals.items()}
    half = half_width(intervals[CORRECTED][1], 1 - LEVEL)
    return shares, float(half.mean() / (1.96 * found.mean(axis=1).std()))


def marked(world: Chosen, repeats: int) -> Mapping[str, float]:
    """How often the interval of the chosen config lies above 0, although none is better than the first, its base."""
    generator = np.random.default_rng(repeats)
    folds, size = 5, 100
    drawn = [_drawn(generator, repeats, number) for number in (size, TEST)]
    further = [generator.normal(size=(world.configs, repeats, number, FURTHER)) for number in (size, TEST)]

    def scores(config_N: NDArray[np.int64], folds_NE: NDArray[np.int64]) -> tuple[Values, Values]:
        """Of a config for each data set, by fold: on what is held out, and on test."""
        each = np.arange(repeats)
        if not world.trained:
            right = [own[config_N, each, :, 0] + APART > 0 for own in further]
            return _by_fold(right[0], folds_NE, folds), np.repeat(right[1].mean(axis=1)[:, None], folds, axis=1)
        (classes, examples), (test_classes, test) = (
            (known, np.concatenate([useful[..., :USEFUL], own[config_N, each]], axis=-1))
            for (known, useful), own in zip(drawn, further, strict=True)
        )
        plain = Validated("", size, folds, 1)
        return _validated(generator, plain, examples, classes, folds_NE, test, test_classes)

    first_NE = partition(generator, repeats, size, folds)
    tried = [scores(np.full(repeats, config), first_NE)[0].mean(axis=1) for config in range(world.configs)]
    best_N = np.stack(tried).argmax(axis=0)
    differences = []
    for _ in range(world.partitions):
        fresh_NE = partition(generator, repeats, size, folds)
        ours, theirs = scores(best_N, fresh_NE), scores(np.zeros(repeats, dtype=np.int64), fresh_NE)
        differences.append([one - other for one, other in zip(ours, theirs, strict=True)])
    found, of_test = (np.concatenate(each, axis=1)[best_N != 0] for each in zip(*differences, strict=True))
    above = {name: _share_above(found, parts) for name, parts in _parts(found, folds).items()}
    return {**above, ON_TEST: _share_above(of_test, chance_of_folds(of_test, folds, held_out=False))}


def partition(generator: np.random.Generator, sets: int, examples: int, folds: int) -> NDArray[np.int64]:
    """The fold of each example of each data set."""
    places: NDArray[np.int64] = generator.random((sets, examples)).argsort(axis=1) % folds
    return places


def _parts(found_NC: Values, folds: int) -> dict[str, tuple[VarianceComponent, ...]]:
    """The variance of each mean as each interval has it."""
    calls = found_NC.shape[1]
    parts = {
        PLAIN: (VarianceComponent(found_NC.var(axis=1, ddof=1) / calls, calls - 1),),
        CORRECTED: chance_of_folds(found_NC, folds, held_out=True),
    }
    if (partitions := calls // folds) > 1:
        means_NP = found_NC.reshape(len(found_NC), partitions, folds).mean(axis=2)
        parts[PARTITIONS] = (VarianceComponent(means_NP.var(axis=1, ddof=1) / partitions, partitions - 1),)
    return parts


def _share_covered(values_NC: Values, parts: tuple[VarianceComponent, ...]) -> float:
    """The truth is the mean over all data sets."""
    means_N, half_N = values_NC.mean(axis=1), half_width(parts, 1 - LEVEL)
    return float((np.abs(means_N - means_N.mean()) <= half_N)[half_N > ROUNDING].mean())


def _share_above(values_NC: Values, parts: tuple[VarianceComponent, ...]) -> float:
    half_N = half_width(parts, 1 - LEVEL)
    return float(((values_NC.mean(axis=1) > half_N) & (half_N > ROUNDING)).mean())


def _drawn(generator: np.random.Generator, sets: int, examples: int) -> tuple[Values, Values]:
    """Classes -1 and 1, and features: those that tell them apart, a constant one, and further ones."""
    classes_NE = generator.choice([-1.0, 1.0], size=(sets, examples))
    features_NEF = generator.normal(size=(sets, examples, USEFUL + FURTHER))
    features_NEF[..., : USEFUL - 1] += APART * classes_NE[..., None]
    features_NEF[..., USEFUL - 1] = 1.0
    return classes_NE, features_NEF


def _validated(
    generator: np.random.Generator,
    world: Validated,
    examples_NEF: Values,
    classes_NE: Values,
    folds_NE: NDArray[np.int64],
    test_NTF: Values,
    classes_NT: Values,
) -> tuple[Values, Values]:
    """The accuracy by fold of a classifier by least squares: on what its call held out, and on test."""
    right_NE, on_test = np.empty(classes_NE.shape, dtype=bool), []
    for fold in range(world.folds):
        held_out_NE = folds_NE == fold
        trained_NEF = examples_NEF * ~held_out_NE[..., None]
        squares_NFF = trained_NEF.swapaxes(1, 2) @ examples_NEF + 1e-3 * np.eye(examples_NEF.shape[2])
        weights_NF1 = np.linalg.solve(squares_NFF, trained_NEF.swapaxes(1, 2) @ classes_NE[..., None])
        size_N11 = np.abs(weights_NF1).mean(axis=1, keepdims=True)
        weights_NF1 += world.noise * size_N11 * generator.normal(size=weights_NF1.shape)
        said_NE, said_NT = ((each @ weights_NF1)[..., 0] for each in (examples_NEF, test_NTF))
        right_NE[held_out_NE] = (np.sign(said_NE) == classes_NE)[held_out_NE]
        on_test.append((np.sign(said_NT) == classes_NT).mean(axis=1))
    return _by_fold(right_NE, folds_NE, world.folds), np.stack(on_test, axis=1)


def _by_fold(right_NE: NDArray[np.bool_], folds_NE: NDArray[np.int64], folds: int) -> Values:
    """The share of right answers in each fold."""
    places = [folds_NE == fold for fold in range(folds)]
    shares: Values = np.stack([(right_NE & own).sum(axis=1) / own.sum(axis=1) for own in places], axis=1)
    return shares
