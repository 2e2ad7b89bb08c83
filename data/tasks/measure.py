"""Measures, by which trials are ranked, and their counts on the predictions of each lane.

Array legend: R lanes, S sentences of a split, L its tags, N its tokens, C counts, x any axes.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from math import copysign
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from skipstack.data.basis.arrays import Ids, Numbers

if TYPE_CHECKING:  # ledgers name measures, and are read without Arrow
    from skipstack.data.store.stored import StoredCorpus


@dataclass(frozen=True, kw_only=True, slots=True)
class Predicted:
    """The predictions of the lanes on a split, with the right tags of ``total`` and the mean loss per tag.

    ``tags_RL``: in the order of the split. ``heads_RN``: for parsing. ``nats_RL``: for running text, the loss of each
    tag.
    """

    correct: tuple[int, ...]
    total: int
    tags_RL: Ids
    loss: tuple[float, ...] = ()
    heads_RN: Ids | None = None
    nats_RL: Numbers | None = None


class Counts(ABC):
    """The result of one lane on a split by one measure."""

    @property
    @abstractmethod
    def value(self) -> float:
        """The value of the measure."""

    @abstractmethod
    def curves(self) -> dict[str, float]:
        """The metrics recorded for an epoch, by name: ``value`` under the measure's own."""

    @abstractmethod
    def recorded(self) -> dict[str, int | float]:
        """The counts in a bundle's metrics, beside right tags and all tags."""


class Measure(ABC):
    """A measure by which trials are ranked. One module holds one measure, and ``data.tasks.measures.MEASURES`` has all
    for corpora; scores that a function reports have measures of their own (``data/tasks/reported.py``).
    """

    name: ClassVar[str]
    """The name in ledgers and curves."""
    label: str
    """The name for people, and with ``article`` before it."""
    article: str = "an"
    factor: ClassVar[float] = 100
    """The factor from scores to displayed values. Larger scores are better: if the factor is negative, the score is the
    negative of the measure."""
    unit: str
    """The suffix of a split's name in headings."""
    baseline: ClassVar[str] = "most frequent tag of each word"
    """The baseline for comparison, in words."""
    keys: ClassVar[tuple[str, ...]] = ()
    """The names of the counts in ``Counts.recorded``."""
    counted: ClassVar[tuple[str, ...]]
    """The names of the counts per sentence. Their sums over all sentences determine the measure."""

    @abstractmethod
    def sentences(self, predicted: Predicted, corpus: "StoredCorpus", split: str) -> Numbers:
        """The ``counted`` numbers of each sentence of a split, in order: counts_RSC.

        A text to classify is a sentence; so is a line of running text with its end.
        """

    @abstractmethod
    def counts(self, predicted: Predicted, counts_RC: Numbers) -> tuple[Counts, ...]:
        """The counts of each lane, given the sums ``counts_RC`` over its sentences."""

    @abstractmethod
    def of_counts(self, counts_xC: Numbers) -> NDArray[np.float64]:
        """The measure from ``counted`` numbers: values_x, of one sentence or of the sum over many."""

    scale: ClassVar[Literal["linear", "log"]] = "linear"
    """The scale of a chart's axis."""

    def written(self, score: float, sign: str = "") -> str:
        """A score, or a difference or deviation of scores, as displayed: with two decimals, and never -0.00.

        ``sign``: ``+`` shows the sign of positive numbers, too.
        """
        return f"{round(self.factor * score, 2) + 0.0:{sign}.2f}"

    def score(self, value: float) -> float:
        """The score for a ``value`` of the measure; larger scores are better."""
        return copysign(1, self.factor) * value

    def error(self, value: float) -> float:
        """The error for a ``value`` of the measure, which schedules compare between epochs: for a share, 1 minus it."""
        return 1 - value

    @property
    def in_points(self) -> bool:
        """Whether the measure is displayed in percent, with differences in points."""
        return self.factor == 100

    def described(self, metrics: Mapping[str, float]) -> str:
        """A sentence about a split, from a bundle's metrics of it."""
        return right(metrics, "tokens")


def by_sentence(values_RL: Numbers, starts_S: Ids) -> Numbers:
    """The sums over each sentence, which start at ``starts_S``; no sentence is empty: sums_RS."""
    return np.add.reduceat(values_RL, starts_S, axis=1)


def share(part_x: Numbers, whole_x: Numbers) -> NDArray[np.float64]:
    """``part_x`` / ``whole_x``; 0 if the whole is 0."""
    value_x = np.zeros(np.shape(whole_x))
    np.divide(part_x, whole_x, out=value_x, where=np.asarray(whole_x) != 0)
    return value_x


def right(metrics: Mapping[str, float], what: str) -> str:
    """The number of right tags, called ``what``, in words."""
    correct, total = metrics["correct"], metrics["total"]
    return f"{correct} of {total} {what} right ({correct / total:.2%})"
