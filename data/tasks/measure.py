"""What trials are ranked by: a measure, and what it counts of the predictions of each lane.

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

if TYPE_CHECKING:  # a ledger names measures, and is read without Arrow
    from skipstack.data.store.stored import StoredCorpus


@dataclass(frozen=True, kw_only=True, slots=True)
class Predicted:
    """What the lanes predict on a split: right tags of ``total``, the mean loss a tag, and the predictions themselves.

    ``tags_RL``: in the order of the split. ``heads_RN``: where trees are predicted. ``nats_RL``: of running text, the
    loss of each tag.
    """

    correct: tuple[int, ...]
    total: int
    tags_RL: Ids
    loss: tuple[float, ...] = ()
    heads_RN: Ids | None = None
    nats_RL: Numbers | None = None


class Counts(ABC):
    """What one lane reaches on a split by one measure."""

    @property
    @abstractmethod
    def value(self) -> float:
        """The measure itself."""

    @abstractmethod
    def curves(self) -> dict[str, float]:
        """All that is recorded of an epoch, by name: ``value`` under the measure's own."""

    @abstractmethod
    def recorded(self) -> dict[str, int | float]:
        """What a bundle's metrics hold of it, beside right tags and all tags."""


class Measure(ABC):
    """A way to rank trials. One file holds one measure, and ``data.tasks.measures.MEASURES`` has all that corpora are
    scored by; what a function reports is measured by itself (``data/tasks/reported.py``).
    """

    name: ClassVar[str]
    """In ledgers and in the names of curves."""
    label: ClassVar[str]
    """How people write it, and with ``article`` before it."""
    article: ClassVar[str] = "an"
    factor: ClassVar[float] = 100
    """What people see is a score times this. Of scores the larger one is better: one whose factor is negative is the
    negative of the measure."""
    unit: ClassVar[str]
    """What stands in headings after the name of a split."""
    baseline: ClassVar[str] = "most frequent tag of each word"
    """What the baseline does that it is compared with."""
    keys: ClassVar[tuple[str, ...]] = ()
    """Of ``Counts.recorded``."""
    counted: ClassVar[tuple[str, ...]]
    """What is counted of each sentence, by name. The sums over all sentences are what the measure is made of."""

    @abstractmethod
    def sentences(self, predicted: Predicted, corpus: "StoredCorpus", split: str) -> Numbers:
        """What is ``counted`` of each sentence of a split, in its order: counts_RSC.

        A text that is classified is a sentence; so is a line of running text with its end.
        """

    @abstractmethod
    def counts(self, predicted: Predicted, counts_RC: Numbers) -> tuple[Counts, ...]:
        """Those of each lane, whose sentences have ``counts_RC`` together."""

    @abstractmethod
    def of_counts(self, counts_xC: Numbers) -> NDArray[np.float64]:
        """The measure where so much was ``counted``: values_x, of one sentence or of the sum over many."""

    scale: ClassVar[Literal["linear", "log"]] = "linear"
    """Of a chart's axis."""

    def written(self, score: float, sign: str = "") -> str:
        """A score, or a difference or deviation of scores, as people see it: in two decimals, and never -0.00.

        ``sign``: ``+`` shows that of what is positive, too.
        """
        return f"{round(self.factor * score, 2) + 0.0:{sign}.2f}"

    def score(self, value: float) -> float:
        """What trials are ranked by, where the measure is ``value``: of scores the larger one is better."""
        return copysign(1, self.factor) * value

    def error(self, value: float) -> float:
        """What a schedule compares from epoch to epoch, the measure being ``value``: of a share what it lacks to 1."""
        return 1 - value

    @property
    def in_points(self) -> bool:
        """Whether people see shares in percent, whose differences are points."""
        return self.factor == 100

    def described(self, metrics: Mapping[str, float]) -> str:
        """A sentence about a split, from a bundle's metrics of it."""
        return right(metrics, "tokens")


def by_sentence(values_RL: Numbers, starts_S: Ids) -> Numbers:
    """The sums over each sentence, the first value of which stands at ``starts_S``; none is empty: sums_RS."""
    return np.add.reduceat(values_RL, starts_S, axis=1)


def share(part_x: Numbers, whole_x: Numbers) -> NDArray[np.float64]:
    """``part_x`` / ``whole_x``; 0 where there is nothing."""
    value_x = np.zeros(np.shape(whole_x))
    np.divide(part_x, whole_x, out=value_x, where=np.asarray(whole_x) != 0)
    return value_x


def right(metrics: Mapping[str, float], what: str) -> str:
    """How many tags are right, which are those of ``what``."""
    correct, total = metrics["correct"], metrics["total"]
    return f"{correct} of {total} {what} right ({correct / total:.2%})"
