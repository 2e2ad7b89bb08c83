"""Scores of trials, and differences between two trials, as estimates.

Array legend: R seeds, S sentences, C counts of a sentence.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import fsum
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from skipstack.data.basis.arrays import Numbers
from skipstack.data.basis.frozen import identity
from skipstack.data.basis.seeding import generator
from skipstack.data.tasks.measure import Measure
from skipstack.search.record.trial_record import TrialRecord
from skipstack.search.statistics.descriptive import effect_size
from skipstack.search.statistics.estimates import Estimate, over_seeds, over_sentences_too
from skipstack.search.statistics.pseudo_values import OfCounts, Values, pseudo_values
from skipstack.search.statistics.randomisation import over_sentences
from skipstack.spaces.trial import as_network

Split = Literal["dev", "test"]


def score_of(trial: TrialRecord, split: Split) -> Estimate | None:
    """The score of a trial on a split, over its seeds; None if it was not measured there."""
    scores = by_seed(trial, split)
    if not scores:
        return None
    counts_RSC = _counts(trial, split, tuple(scores))
    if counts_RSC is None:
        return over_seeds(tuple(scores.values()))
    return over_sentences_too(_mean(scores), pseudo_values(counts_RSC, scores_of(trial.measure)))


def difference(
    trial: TrialRecord, reference: TrialRecord, split: Split, *, same_sentences: bool = False
) -> Estimate | None:
    """The difference of a trial to a reference; None if one of them was not measured on the split.

    Shared seeds are paired, since the same seed draws the same weights, dropout and data order for both; if there are
    any, other seeds are left out. Trials without a shared seed are compared unpaired. Sentences are paired if both were
    measured on the same corpus, or ``same_sentences`` says so.
    """
    ours, theirs = by_seed(trial, split), by_seed(reference, split)
    if not ours or not theirs:
        return None
    shared = tuple(seed for seed in ours if seed in theirs)
    seeds = (shared, shared) if shared else (tuple(ours), tuple(theirs))
    value = _mean({seed: ours[seed] for seed in seeds[0]}) - _mean({seed: theirs[seed] for seed in seeds[1]})
    tables = _tables(trial, reference, split, seeds, same_sentences)
    scale = max(map(abs, (*ours.values(), *theirs.values())))
    if tables is not None:
        return over_sentences_too(value, *([tables[0] - tables[1]] if shared else tables), scale=scale)
    if shared:
        return over_seeds([ours[seed] - theirs[seed] for seed in shared], scale=scale)
    return Estimate(value=value, seeds=min(map(len, seeds)), why="no seed in common, and no counts by sentence")


def size_of(trial: TrialRecord, reference: TrialRecord, split: Split) -> float | None:
    """The difference in standard deviations over seeds (``effect_size``)."""
    return effect_size(tuple(by_seed(trial, split).values()), tuple(by_seed(reference, split).values()))


def randomised(trial: TrialRecord, reference: TrialRecord) -> float | None:
    """The p of approximate randomisation over the sentences; None without counts by sentence or a shared seed."""
    shared = tuple(seed for seed in trial.seeds if seed in reference.seeds)
    found = _paired_counts(trial, reference, "test", (shared, shared)) if shared else None
    if found is None:
        return None
    source = generator(0, "randomisation", trial.number, reference.number)
    return over_sentences(*found, scores_of(trial.measure), source)


def difference_table(trial: TrialRecord, reference: TrialRecord) -> Values | None:
    """The differences of test scores, seeds x sentences; None without counts by sentence or a shared seed."""
    shared = tuple(seed for seed in trial.seeds if seed in reference.seeds)
    tables = _tables(trial, reference, "test", (shared, shared)) if shared else None
    return None if tables is None else tables[0] - tables[1]


def described(estimate: Estimate, why: str) -> Estimate:
    """The estimate without its interval, and the reason why."""
    return replace(estimate, error=None, degrees=None, low=None, high=None, p=None, why=why)


def by_seed(trial: TrialRecord, split: Split) -> Mapping[int, float]:
    """The scores of a trial on a split."""
    return trial.dev if split == "dev" else trial.test


def scores_of(measure: Measure) -> OfCounts:
    """A function from counts to scores, of which larger is better."""
    sign = measure.score(1.0)

    def scores(counts_xC: Numbers) -> Numbers:
        return sign * measure.of_counts(counts_xC)

    return scores


def _tables(
    trial: TrialRecord,
    reference: TrialRecord,
    split: Split,
    seeds: tuple[Sequence[int], Sequence[int]],
    same_sentences: bool = False,
) -> list[Values] | None:
    counts = _paired_counts(trial, reference, split, seeds, same_sentences)
    return None if counts is None else [pseudo_values(each, scores_of(trial.measure)) for each in counts]


def _paired_counts(
    trial: TrialRecord,
    reference: TrialRecord,
    split: Split,
    seeds: tuple[Sequence[int], Sequence[int]],
    same_sentences: bool = False,
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """The counts of both on the same sentences; None if these are not known to be the same."""
    one, other = _counts(trial, split, seeds[0]), _counts(reference, split, seeds[1])
    if one is None or other is None or one.shape[1] != other.shape[1]:
        return None
    same = same_sentences or _corpus(trial) == _corpus(reference)
    return (one, other) if same else None


def _corpus(trial: TrialRecord) -> str:
    return identity(as_network(trial.config).data.corpus)


def _counts(trial: TrialRecord, split: Split, seeds: Sequence[int]) -> NDArray[np.float64] | None:
    """counts_RSC of these seeds; None where they are missing: on dev, in old ledgers, and for a single sentence."""
    counts_RSC = trial.sentences if split == "test" else None
    if counts_RSC is None or counts_RSC.shape[1] < 2:
        return None
    return counts_RSC[[trial.seeds.index(seed) for seed in seeds]]


def _mean(scores: Mapping[int, float]) -> float:
    return fsum(scores.values()) / len(scores)
