"""Estimates with confidence intervals over seeds, folds, test sentences or corpora.

Array legend: R seeds, S sentences.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from skipstack.search.statistics.chance import (
    VarianceComponent,
    chance,
    chance_of_folds,
    error,
    half_width,
    half_width_at,
    p_value,
)
from skipstack.search.statistics.pseudo_values import Values
from skipstack.search.statistics.rounding import is_rounding

COVERED = 0.95
"""The confidence level of intervals."""

ONE_SEED = "one seed does not show how far seeds lie apart"
ONE_CORPUS = "one corpus does not show how far corpora lie apart"
SAME_ON_ALL_CORPORA = "the effect is the same on every corpus, so nothing shows how far chance reaches"
ONE_FOLD = "one fold does not show how far folds lie apart"
NO_CHANCE_OF_FOLDS = "every fold says the same, so nothing shows how far chance reaches"
NO_CHANCE = "every seed and sentence says the same, so nothing shows how far chance reaches"


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """A score, or a difference of scores, with its 95 % confidence interval.

    ``value``: the score or difference.
    ``seeds``: the number of seeds; for a mean over corpora, the smallest number of seeds on a corpus.
    ``sentences``: the number of sentences, if the interval includes the variation of sentences. None if the counts by
    sentence are unknown: then the interval includes the variation of seeds only.
    ``documents``: the number of documents, if the interval includes the variation of documents, each drawn as a whole.
    ``corpora``: the number of corpora of which ``value`` is the mean; if several, the interval is over corpora.
    ``over``: the calls over which the interval is taken, in words such as ``5 folds``; empty if they are plain seeds.
    ``error``, ``degrees``: the standard error and its effective degrees of freedom.
    ``low``, ``high``: the ends of the interval: value -+ t(0.975; degrees) error.
    ``p``: an upper bound of the probability of a value at least as far from 0 by chance.
    ``why``: the reason why there is no interval; then ``error``, ``degrees``, ``low``, ``high`` and ``p`` are None.
    ``parts``: the components of the variance; empty if there is no interval.
    """

    value: float
    seeds: int
    sentences: int | None = None
    documents: int | None = None
    corpora: int = 1
    over: str = ""
    error: float | None = None
    degrees: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    why: str = ""
    parts: tuple[VarianceComponent, ...] = field(default=(), repr=False, compare=False)

    @property
    def half(self) -> float | None:
        """Half the width of the interval, as printed after ±; None if there is no interval."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2

    def interval(self, level: float) -> tuple[float, float] | None:
        """Return the range of true values that a test at ``level`` does not reject; None if there is no interval."""
        if not self.parts:
            return None
        half = float(half_width_at(self.parts, level))
        return self.value - half, self.value + half


def over_seeds(values_R: Sequence[float], *, scale: float | None = None) -> Estimate:
    """Return the mean over seeds with Student's interval, which ignores the variation of sentences.

    ``values_R``: a value for each seed. ``scale``: the size of the scores that were subtracted, if the values are
    differences; None means that the values are scores themselves. There is no interval if the spread of the values is
    only rounding error for scores of this size.
    """
    values = np.asarray(values_R, dtype=np.float64)
    seeds = len(values)
    plain = Estimate(value=float(values.mean()), seeds=seeds, why=ONE_SEED)
    size = float(np.abs(values).max()) if scale is None else scale
    return (
        plain
        if seeds < 2
        else with_interval(plain, [VarianceComponent(values.var(ddof=1) / seeds, seeds - 1)], scale=size)
    )


def over_folds(values_C: Sequence[float], folds: int, *, held_out: bool, scale: float | None = None) -> Estimate:
    """Return the mean over the calls of a cross-validation, with its interval from ``chance_of_folds``.

    ``values_C``: a value for each call, which trains on all folds of a data set but one. ``folds``, ``held_out``: as in
    ``chance_of_folds``. ``scale``: as in ``over_seeds``.
    """
    values = np.asarray(values_C, dtype=np.float64)
    plain = Estimate(value=float(values.mean()), seeds=len(values), why=ONE_FOLD)
    if len(values) < 2:
        return plain
    size = float(np.abs(values).max()) if scale is None else scale
    found = with_interval(plain, chance_of_folds(values, folds, held_out=held_out), scale=size)
    return replace(found, why=found.why and NO_CHANCE_OF_FOLDS)


def over_sentences_too(value: float, *tables_RS: Values, scale: float | None = None) -> Estimate:
    """Return ``value`` with its interval over seeds and sentences; without an interval if there is a single seed.

    ``tables_RS``: one table of pseudo-values, or the tables of two networks (see ``chance``). ``scale``: as in
    ``over_seeds``; None means the size of ``value``.
    """
    seeds = min(len(table) for table in tables_RS)
    plain = Estimate(value=value, seeds=seeds, sentences=tables_RS[0].shape[1], why=ONE_SEED)
    size = abs(value) if scale is None else scale
    return plain if seeds < 2 else with_interval(plain, chance(*tables_RS), scale=size)


def mean_over_corpora(estimates: Sequence[Estimate]) -> Estimate:
    """Return the unweighted mean of the effects on several corpora, with Student's interval over the corpora.

    The true effects may differ between corpora, and the errors of their estimates may be unequal: the spread of the
    estimates includes both. The interval has at least its nominal coverage, however unequal the errors are (Ibragimov
    and Müller 2010). Hartung, Knapp, Sidik and Jonkman compute the same interval with weights from the
    estimated errors. If there are few seeds, intervals at 95 % with such weights cover the true mean in as few as 88 %
    of cases. Their modified interval, which is never narrower than the interval without their correction, covers the
    true mean in all cases, so it is too wide.
    """
    over = over_seeds([each.value for each in estimates])
    why = over.why and (SAME_ON_ALL_CORPORA if len(estimates) > 1 else ONE_CORPUS)
    return replace(over, seeds=min(each.seeds for each in estimates), corpora=len(estimates), why=why)


def with_interval(plain: Estimate, parts: Sequence[VarianceComponent], *, scale: float) -> Estimate:
    """Return ``plain`` with the interval that follows from the components ``parts`` of its variance.

    If the standard error is only rounding error for numbers of size ``scale``, the estimate gets no interval.
    """
    from scipy.special import stdtridf

    deviation, half = float(error(parts)), float(half_width(parts, COVERED))
    if is_rounding(deviation, scale):
        return replace(plain, why=NO_CHANCE)
    return replace(
        plain,
        error=deviation,
        degrees=float(stdtridf((1 + COVERED) / 2, half / deviation)),
        low=plain.value - half,
        high=plain.value + half,
        p=float(p_value(np.asarray(plain.value), parts)),
        why="",
        parts=tuple(parts),
    )
