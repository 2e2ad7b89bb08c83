"""Scores of trials, and differences between two trials, as estimates with confidence intervals.

Array legend: R seeds; S sentences; C counts of a sentence; U units that are drawn independently: sentences or
documents; x any leading axes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isfinite
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from skipstack.data.basis.arrays import Numbers
from skipstack.data.basis.counted import counted
from skipstack.data.basis.frozen import identity
from skipstack.data.basis.seeding import generator
from skipstack.data.tasks.measure import Measure
from skipstack.search.statistics.descriptive import effect_size, mean
from skipstack.search.statistics.estimates import (
    Estimate,
    mean_over_corpora,
    over_folds,
    over_seeds,
    over_sentences_too,
)
from skipstack.search.statistics.pseudo_values import OfCounts, Values, pseudo_values
from skipstack.search.statistics.randomisation import over_sentences
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.spaces.domains import Json
from skipstack.spaces.replicates import Replicates
from skipstack.spaces.trial import as_network

Split = Literal["dev", "test"]

SPANS: Final = "gold"
"""The name of the count of gold spans. Only measures of spans have this count."""

FEWEST_SPANS: Final = 30
"""The minimum number of gold spans in a test set for scores and differences to have intervals.

Two networks with F1 of 97 and 98 % were simulated. With 8 spans, 71 % of the intervals contained the true difference;
with 30 spans, 96 % did (``docs/calibration.md``).
"""

FEW: Final = f"are too few to show how far chance reaches (at least {FEWEST_SPANS} are needed)"


def score_of(trial: TrialRecord, split: Split) -> Estimate | None:
    """Return the mean score of a trial over its seeds on ``split``; None if the trial was not measured on ``split``."""
    scores = by_seed(trial, split)
    if not scores:
        return None
    value = _mean(scores)
    if not isfinite(value):
        return _not_finite(value, len(scores), split)
    counts_RSC = _counts(trial, split, tuple(scores))
    if counts_RSC is None:
        return _over_calls(scores, trial.replicates, split)
    units_RUC, documents = _units(counts_RSC, trial.documents)
    estimate = over_sentences_too(value, pseudo_values(units_RUC, scores_of(trial.measure)))
    return _of_sentences(estimate, trial.measure, counts_RSC, documents)


def difference(
    trial: TrialRecord,
    reference: TrialRecord,
    split: Split,
    *,
    same_sentences: bool = False,
    most: int | None = None,
) -> Estimate | None:
    """Return a trial's score minus the reference's, as an estimate; None if either was not measured on ``split``.

    Scores are paired by seed, since a shared seed draws the same weights, dropout and data order for both trials. Seeds
    that only one trial has are left out. Calls of a function are paired in the same way if both trials have the same
    replicates. Trials without a shared seed are compared unpaired. Their difference has an interval only if they have
    counts by sentence. Sentences are paired if both trials were measured on the same corpus, or if ``same_sentences``
    is True. ``most``: the number of shared seeds that count, in the order of their training; None means all.
    """
    ours, theirs = by_seed(trial, split), by_seed(reference, split)
    if not ours or not theirs:
        return None
    shared = tuple(seed for seed in ours if seed in theirs and trial.replicates == reference.replicates)[:most]
    seeds = (shared, shared) if shared else (tuple(ours), tuple(theirs))
    value = _mean({seed: ours[seed] for seed in seeds[0]}) - _mean({seed: theirs[seed] for seed in seeds[1]})
    if not isfinite(value):
        return _not_finite(value, min(map(len, seeds)), split)
    counts = _paired_counts(trial, reference, split, seeds, same_sentences)
    scale = max(map(abs, (*ours.values(), *theirs.values())))
    if counts is not None:
        (*tables, documents) = _tables(trial, reference, counts)
        estimate = over_sentences_too(value, *([tables[0] - tables[1]] if shared else tables), scale=scale)
        return _of_sentences(estimate, trial.measure, counts[0], documents)
    if shared:
        return _over_calls({seed: ours[seed] - theirs[seed] for seed in shared}, trial.replicates, split, scale)
    return Estimate(value=value, seeds=min(map(len, seeds)), why="no seed in common, and no counts by sentence")


def interaction(
    both: TrialRecord, one: TrialRecord, other: TrialRecord, base: TrialRecord, split: Split
) -> Estimate | None:
    """Return the interaction of two changes, (both - other) - (one - base): the joint effect beyond the single effects.

    ``one``, ``other``: the trials with a single change. ``both``, ``base``: the trials with both changes and with none.
    None if one of the four trials was not measured on ``split``, if a score is NaN or infinite, or if no seed is shared
    by all four. Scores are paired by seed. They are also paired by sentence if all four trials have counts of the same
    sentences.
    """
    scores = [by_seed(trial, split) for trial in (both, other, one, base)]
    shared = [seed for seed in scores[0] if all(seed in each for each in scores)]
    if not shared:
        return None
    of_both, of_other, of_one, of_base = scores
    values = {seed: (of_both[seed] - of_other[seed]) - (of_one[seed] - of_base[seed]) for seed in shared}
    if not isfinite(value := _mean(values)):
        return None
    scale = max(abs(each[seed]) for each in scores for seed in shared)
    tables = [difference_table(both, other), difference_table(one, base)] if split == "test" else [None]
    apart = [table for table in tables if table is not None and len(table) == len(shared)]
    if len(apart) < 2 or apart[0].shape != apart[1].shape:
        return _over_calls(values, both.replicates, split, scale)
    counts_RSC = _counts(both, split, shared)
    assert counts_RSC is not None, "there is a table of them"
    documents = apart[0].shape[1] != counts_RSC.shape[1]
    estimate = over_sentences_too(value, apart[0] - apart[1], scale=scale)
    return _of_sentences(estimate, both.measure, counts_RSC, documents)


def size_of(trial: TrialRecord, reference: TrialRecord, split: Split) -> float | None:
    """Return the difference between the mean scores of two trials, in units of their standard deviation over seeds
    (Hedges' g, ``effect_size``).
    """
    return effect_size(tuple(by_seed(trial, split).values()), tuple(by_seed(reference, split).values()))


def randomised(trial: TrialRecord, reference: TrialRecord) -> float | None:
    """Return the p value of approximate randomisation over the test sentences, on the seeds that both trials share.

    None if the trials share no seed, or have no counts of the same sentences.
    """
    if (found := _on_shared_seeds(trial, reference)) is None:
        return None
    source = generator(0, "randomisation", trial.number, reference.number)
    return over_sentences(*found, scores_of(trial.measure), source)


def difference_table(trial: TrialRecord, reference: TrialRecord) -> Values | None:
    """Return a table of the differences between two trials' pseudo-values of the test score.

    The table has a row for each shared seed and a column for each sentence. If both trials have the same documents, it
    has a column for each document instead. None if the trials share no seed or lack counts of the same sentences.
    """
    if (counts := _on_shared_seeds(trial, reference)) is None:
        return None
    ours, theirs, _ = _tables(trial, reference, counts)
    return ours - theirs


def described(estimate: Estimate, why: str) -> Estimate:
    """Return the estimate without its interval; ``why`` is the reason."""
    return replace(estimate, error=None, degrees=None, low=None, high=None, p=None, why=why, parts=())


def by_seed(trial: TrialRecord, split: Split) -> Mapping[int, float]:
    """Return the scores of a trial on ``split`` by seed."""
    return trial.dev if split == "dev" else trial.test


def scores_of(measure: Measure) -> OfCounts:
    """Return a measure's function from counts to scores, with the sign that makes larger scores better."""
    sign = measure.score(1.0)

    def scores(counts_xC: Numbers) -> Numbers:
        return sign * measure.of_counts(counts_xC)

    return scores


def _not_finite(value: float, seeds: int, split: Split) -> Estimate:
    """Return an estimate without an interval, since a score is NaN or infinite, which a user's function may report."""
    return Estimate(value=value, seeds=seeds, why=f"a score on {split} is no finite number")


def _over_calls(
    values: Mapping[int, float], replicates: Replicates, split: Split, scale: float | None = None
) -> Estimate:
    """Return the mean of ``values``, one for each call, with the interval that suits the trial's ``replicates``.

    Without replicates, the interval is over seeds. If the replicates are folds, it is over folds. Otherwise the calls
    with the same value of the replicates are averaged, and the interval is over these means. ``scale``: as in
    ``over_seeds``.
    """
    if not replicates.name:
        return over_seeds(tuple(values.values()), scale=scale)
    if replicates.folds:
        found = over_folds(tuple(values.values()), replicates.number, held_out=split == "dev", scale=scale)
        return replace(found, over=replicates.counted(len(values)))
    by_value: dict[Json, list[float]] = {}
    for call, value in values.items():
        by_value.setdefault(replicates.value(call), []).append(value)
    found = mean_over_corpora([over_seeds(each, scale=scale) for each in by_value.values()])
    return replace(found, over=replicates.counted(len(values)))


def _tables(
    trial: TrialRecord, reference: TrialRecord, counts: tuple[NDArray[np.float64], NDArray[np.float64]]
) -> tuple[Values, Values, bool]:
    """Return both trials' tables of pseudo-values, and whether these tables are by document.

    The tables are by document if both trials have the same documents, and by sentence otherwise.
    """
    known = trial.documents if trial.documents == reference.documents else ()
    (ours, documents), (theirs, _) = (_units(each, known) for each in counts)
    of_counts = scores_of(trial.measure)
    return pseudo_values(ours, of_counts), pseudo_values(theirs, of_counts), documents


def _units(counts_RSC: NDArray[np.float64], documents: Sequence[int]) -> tuple[NDArray[np.float64], bool]:
    """Return the counts of the units that are drawn independently, and whether these units are documents.

    ``documents``: the number of sentences of each document. If their sum is the number of all sentences, the units are
    documents. Otherwise the units are sentences.
    """
    if not documents or sum(documents) != counts_RSC.shape[1]:
        return counts_RSC, False
    starts = np.cumsum([0, *documents[:-1]])
    return np.add.reduceat(counts_RSC, starts, axis=1), True


def _of_sentences(estimate: Estimate, measure: Measure, counts_RSC: NDArray[np.float64], documents: bool) -> Estimate:
    """Return the estimate with the right numbers of sentences and documents, and without its interval if the test set
    has fewer spans than ``FEWEST_SPANS``.

    ``documents``: whether the units are documents, so that ``estimate.sentences`` is the number of documents.
    """
    if documents:
        estimate = replace(estimate, sentences=counts_RSC.shape[1], documents=estimate.sentences)
    if SPANS not in measure.counted:
        return estimate
    spans = int(counts_RSC[..., measure.counted.index(SPANS)].sum(axis=1).min())
    return estimate if spans >= FEWEST_SPANS else described(estimate, f"{counted(spans, 'span')} in the test set {FEW}")


def _on_shared_seeds(
    trial: TrialRecord, reference: TrialRecord
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return the counts of both trials on the same test sentences, with the seeds that both have; None without any."""
    shared = tuple(seed for seed in trial.seeds if seed in reference.seeds)
    return _paired_counts(trial, reference, "test", (shared, shared)) if shared else None


def _paired_counts(
    trial: TrialRecord,
    reference: TrialRecord,
    split: Split,
    seeds: tuple[Sequence[int], Sequence[int]],
    same_sentences: bool = False,
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return the counts of both trials on the same sentences.

    Returns None if a trial has no counts, or if the sentences may differ. ``seeds``: the seeds of each trial.
    ``same_sentences``: as in ``difference``.
    """
    one, other = _counts(trial, split, seeds[0]), _counts(reference, split, seeds[1])
    if one is None or other is None or one.shape[1] != other.shape[1]:
        return None
    same = same_sentences or _corpus(trial) == _corpus(reference)
    return (one, other) if same else None


def _corpus(trial: TrialRecord) -> str:
    return identity(as_network(trial.config).data.corpus)


def _counts(trial: TrialRecord, split: Split, seeds: Sequence[int]) -> NDArray[np.float64] | None:
    """Return counts_RSC of these seeds; None on dev, for a single sentence, and for a trial without counts."""
    counts_RSC = trial.sentences if split == "test" else None
    if counts_RSC is None or counts_RSC.shape[1] < 2:
        return None
    return counts_RSC[[trial.seeds.index(seed) for seed in seeds]]


def _mean(scores: Mapping[int, float]) -> float:
    return mean(tuple(scores.values()))
