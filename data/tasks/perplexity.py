"""Perplexity: the exponential of the mean loss per word, in nats.

Array legend: R lanes (a lane is one seed's copy of the network), L words of a split, S lines of a split, C counts, x
any axes.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import NDArray

from skipstack.data.basis.arrays import Numbers
from skipstack.data.formats.running_text import END
from skipstack.data.tasks.measure import Counts, Measure, Predicted, by_sentence, right

if TYPE_CHECKING:
    from skipstack.data.store.stored import StoredCorpus

LARGEST_LOSS = 700.0
"""The mean loss per word, in nats, from which the perplexity counts as infinite. (exp overflows at about 709.)"""


@dataclass(frozen=True, slots=True)
class MeanLoss(Counts):
    """The mean ``loss`` per word, in nats."""

    loss: float

    @property
    def value(self) -> float:
        """The perplexity. It is infinite if the loss is ``LARGEST_LOSS`` or more."""
        return math.exp(self.loss) if self.loss < LARGEST_LOSS else math.inf

    def curves(self) -> dict[str, float]:
        """The perplexity, by its name."""
        return {Perplexity.name: self.value}

    def recorded(self) -> dict[str, int | float]:
        """The perplexity if it is finite, otherwise nothing: JSON has no infinite numbers."""
        return {Perplexity.name: self.value} if math.isfinite(self.value) else {}


@final
@dataclass(frozen=True)
class Perplexity(Measure):
    """The measure of language models: the effective number of words from which a model chooses."""

    name = "perplexity"
    label = "perplexity"
    factor = -1
    unit = "perplexity"
    scale = "log"
    counted = ("nats", "words")

    def sentences(self, predicted: Predicted, corpus: "StoredCorpus", split: str) -> Numbers:
        """Sum the losses of each line's words, including its end token, and count these words: counts_RSC.

        The sums are rounded to the 24 bits of a float32, which halves their size in a ledger.
        """
        assert predicted.nats_RL is not None, "a perplexity is that of running text"
        ends_S = np.flatnonzero(corpus.splits[split].tags_L == corpus.tags.index(END))
        words_S = np.diff(ends_S, prepend=-1)
        nats_RS = by_sentence(predicted.nats_RL, ends_S + 1 - words_S)
        with np.errstate(over="ignore"):
            nats_RS = nats_RS.astype(np.float32).astype(np.float64)
        return np.stack(np.broadcast_arrays(nats_RS, words_S), axis=-1)

    def counts(self, predicted: Predicted, counts_RC: Numbers) -> tuple[Counts, ...]:
        """The mean loss of each lane, from ``predicted.loss``, since the losses in ``counts_RC`` are rounded."""
        return tuple(map(MeanLoss, predicted.loss))

    def of_counts(self, counts_xC: Numbers) -> NDArray[np.float64]:
        """The perplexity exp(nats / words): value_x. It is infinite if nats / words is ``LARGEST_LOSS`` or more."""
        loss_x = counts_xC[..., 0] / counts_xC[..., 1]
        value_x = np.full(np.shape(loss_x), math.inf)
        np.exp(loss_x, out=value_x, where=loss_x < LARGEST_LOSS)
        return value_x

    def error(self, value: float) -> float:
        """The perplexity itself. It is not a share, so 1 - ``value`` would make no sense."""
        return value

    def described(self, metrics: Mapping[str, float]) -> str:
        """The perplexity, and the number of next words that were predicted correctly, in words. A perplexity that was
        not recorded is infinite.
        """
        return f"perplexity {metrics.get(self.name, math.inf):.2f}, {right(metrics, 'next words')}"
