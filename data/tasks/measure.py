"""Measures, by which trials are ranked. A measure is computed from counts, for each lane.

Array legend: R lanes (a lane is one seed's copy of the network), S sentences of a split, L tags of a split, N tokens of
a split, C counts, x any axes.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import copysign
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from skipstack.data.basis.arrays import Ids, Numbers

if TYPE_CHECKING:  # code that reads ledgers needs measures, but not Arrow
    from skipstack.data.store.stored import StoredCorpus


@dataclass(frozen=True, kw_only=True, slots=True)
class Predicted:
    """The predictions of all lanes on a split.

    ``tags_RL``: the predicted tags, in the order of the split. ``loss``: the mean loss per tag of each lane.
    ``heads_RN``: the predicted heads, for parsing only. ``nats_RL``: the loss of each tag, for running text only.
    """

    tags_RL: Ids
    loss: tuple[float, ...] = ()
    heads_RN: Ids | None = None
    nats_RL: Numbers | None = None


class Counts(ABC):
    """The counts of one lane's predictions on a split, from which a measure is computed."""

    @property
    @abstractmethod
    def value(self) -> float:
        """The value of the measure."""

    @abstractmethod
    def curves(self) -> dict[str, float]:
        """The metrics to record for an epoch, by name. They include ``value``, under the name of its measure."""

    @abstractmethod
    def recorded(self) -> dict[str, int | float]:
        """The numbers to add to a bundle's metrics. The numbers of correct tags and of all tags are always there."""


class Measure(ABC):
    """A measure by which trials are ranked. It measures predictions on corpora (``data.tasks.measures``), or scores
    that a user's function reports (``data.tasks.reported``).
    """

    name: ClassVar[str]
    """The name of the measure in ledgers and curves."""
    label: str
    """The name of the measure in messages and charts."""
    factor: float = 100
    """The factor from a score to the displayed value. If smaller values are better, the factor is negative: the score
    is then the negative of the value, so that larger scores are always better."""
    unit: str
    """The suffix of a split's name in headings, such as ``LAS`` or ``%``."""
    counted: ClassVar[tuple[str, ...]]
    """The names of the numbers that are counted for each sentence. Their sums over all sentences determine the measure.
    """

    @abstractmethod
    def sentences(self, predicted: Predicted, corpus: "StoredCorpus", split: str) -> Numbers:
        """Compute the numbers that ``counted`` lists, for each sentence of a split: counts_RSC.

        In classification, a whole text is one sentence. In running text, a line with its end token is one sentence.
        """

    counts_of_lane: ClassVar[Callable[..., Counts]]
    """The class of the counts of a lane. Its arguments are the numbers that ``counted`` lists."""

    def counts(self, predicted: Predicted, counts_RC: Numbers) -> tuple[Counts, ...]:
        """The counts of each lane. ``counts_RC``: the result of ``sentences``, summed over the sentences."""
        return tuple(self.counts_of_lane(*counts) for counts in counts_RC.tolist())

    @abstractmethod
    def of_counts(self, counts_xC: Numbers) -> NDArray[np.float64]:
        """Compute the measure, value_x, from the numbers that ``counted`` lists, which may be summed over sentences."""

    scale: ClassVar[Literal["linear", "log"]] = "linear"
    """The scale of the measure's axis in charts."""

    def written(self, score: float, sign: str = "") -> str:
        """Format a score or a score difference: two decimals, never -0.00. ``sign``: ``+`` also signs positives."""
        return f"{round(self.factor * score, 2) + 0.0:{sign}.2f}"

    def gained(self, gain: float) -> str:
        """Format a gain, the score with a change minus the score without it, with its sign. It is positive where the
        change helps, also for perplexities, which then fall.
        """
        return self.written(copysign(1, self.factor) * gain, "+")

    def score(self, value: float) -> float:
        """The score for a ``value`` of the measure; larger scores are better."""
        return copysign(1, self.factor) * value

    def error(self, value: float) -> float:
        """The error for a ``value``, by default 1 - ``value``. Learning rate schedules compare the errors of epochs."""
        return 1 - value

    @property
    def in_points(self) -> bool:
        """Whether values are displayed in percent, and their differences in points."""
        return self.factor == 100

    def described(self, metrics: Mapping[str, float]) -> str:
        """A phrase about the results on a split. ``metrics``: a bundle's metrics of the split."""
        return right(metrics, "tokens")


def by_sentence(values_RL: Numbers, starts_S: Ids) -> Numbers:
    """Sum values over each sentence: sums_RS. ``starts_S``: the index of each sentence's first value. Call this only if
    no sentence is empty.
    """
    return np.add.reduceat(values_RL, starts_S, axis=1)


def share(part_x: Numbers, whole_x: Numbers) -> NDArray[np.float64]:
    """Divide ``part_x`` by ``whole_x``; the result is 0 if the whole is 0."""
    value_x = np.zeros(np.shape(whole_x))
    np.divide(part_x, whole_x, out=value_x, where=np.asarray(whole_x) != 0)
    return value_x


def right(metrics: Mapping[str, float], what: str) -> str:
    """The number and the share of correct tags, in words. ``what``: the noun for the tags."""
    correct, total = metrics["correct"], metrics["total"]
    return f"{correct} of {total} {what} right ({correct / total:.2%})"
