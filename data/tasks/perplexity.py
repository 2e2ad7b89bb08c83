"""Perplexity: the exponential of the mean loss of a word, in nats."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from skipstack.data.tasks.measure import Counts, Measure, Predicted, right

if TYPE_CHECKING:
    from skipstack.data.store.stored import StoredCorpus

LARGEST_LOSS = 700.0
"""Beyond it there is no floating point number for the perplexity."""


@dataclass(frozen=True, slots=True)
class MeanLoss(Counts):
    """The mean ``loss`` of a word."""

    loss: float

    @property
    def value(self) -> float:
        """The perplexity; infinite where no number holds it."""
        return math.exp(self.loss) if self.loss < LARGEST_LOSS else math.inf

    def curves(self) -> dict[str, float]:
        """The perplexity alone."""
        return {Perplexity.name: self.value}

    def recorded(self) -> dict[str, int | float]:
        """The perplexity, if it is finite: JSON has no other numbers."""
        return {Perplexity.name: self.value} if math.isfinite(self.value) else {}


@final
@dataclass(frozen=True)
class Perplexity(Measure):
    """How many words a model of the language chooses from, as it were."""

    name = "perplexity"
    label = "perplexity"
    article = "a"
    factor = -1
    unit = "perplexity"
    baseline = "frequency of each word"
    keys = ("perplexity",)

    def counts(self, predicted: Predicted, corpus: "StoredCorpus", split: str) -> tuple[Counts, ...]:
        """The losses."""
        return tuple(map(MeanLoss, predicted.loss))

    def error(self, value: float) -> float:
        """The perplexity: it is no share."""
        return value

    def described(self, metrics: Mapping[str, float]) -> str:
        """The perplexity, and right words."""
        return f"perplexity {metrics[self.name]:.2f}, {right(metrics, 'next words')}"
