"""Scores that a user's function reports. All that is known is whether larger or smaller scores are better.

Array legend: R lanes (a lane is one seed's copy of the network), S sentences of a split, C counts (none here), x any
axes.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

import numpy as np
from numpy.typing import NDArray

from skipstack.data.basis.arrays import Numbers
from skipstack.data.tasks.measure import Counts, Measure, Predicted

if TYPE_CHECKING:
    from skipstack.data.store.stored import StoredCorpus


SCORE: Final = "score"
"""The name of a score to which the user gave no other name."""


@final
@dataclass(frozen=True)
class ReportedScore(Measure):
    """The measure of a score that a user's function reports. ``label``: the name of the score.

    There are no counts per sentence, so the variance of the score is known only from a comparison of seeds.
    """

    name = SCORE
    label: str = SCORE
    unit: str = SCORE
    factor: float = 1
    """1 if larger scores are better, -1 if smaller ones are."""
    counted = ()

    def written(self, score: float, sign: str = "") -> str:
        """Format a score with four significant digits, since its magnitude is unknown."""
        return f"{self.factor * score + 0.0:{sign}.4g}"

    def sentences(self, predicted: Predicted, corpus: "StoredCorpus", split: str) -> Numbers:
        """Return an array without counts: counts_RSC with C = 0."""
        return np.empty((len(predicted.tags_RL), len(corpus.splits[split].lengths_S), 0))

    def counts(self, predicted: Predicted, counts_RC: Numbers) -> tuple[Counts, ...]:
        """Return an empty tuple: nothing is counted."""
        return ()

    def of_counts(self, counts_xC: Numbers) -> NDArray[np.float64]:
        """NaN for each entry: value_x. The measure has no counts."""
        return np.full(np.shape(counts_xC)[:-1], np.nan)

    def error(self, value: float) -> float:
        """The negative of the score for ``value``, so that smaller is better."""
        return -self.score(value)


HIGHER: Final = ReportedScore()
"""The measure of scores to maximise."""

LOWER: Final = ReportedScore(factor=-1)
"""The measure of scores to minimise."""


def reported_score(label: str, *, larger_is_better: bool) -> Measure:
    """Create the measure of a user's scores, which messages call ``label``."""
    return ReportedScore(label, unit=label, factor=1 if larger_is_better else -1)
