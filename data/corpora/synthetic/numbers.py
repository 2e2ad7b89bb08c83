"""Number prediction: texts of digits whose last digits point to their label (gui2019, "Number Prediction").

A text has T numbers x[0] ... x[T-1], each from 0 to 9. With one jump, the label is x[x[T-1]] at T = 11. The paper's
formula for two jumps, at T = 21, is lost. The paper's networks read ``K = 10`` states back, so no jump may be longer
than 10. Two reconstructions are consistent with this:

``start``: a digit counts from the first of the last eleven numbers, as in the paper's example for T = 11,
``x[x[x[T-1]]]``. Jumps go backwards: ``a = x[T-1]``, ``b = x[T-11+a] < a``, label ``x[T-11+b]``.

``window``: a digit points to one of the ten numbers before it, so T = 10 + 10 + 1 for two jumps: ``p = T-11 + x[T-1]``,
``q = p-10 + x[p]``, label ``x[q]``. The score of the paper's LSTM (26.4 %) fits this rule. Under ``start``, always
answering the first of the eleven numbers is already right in 28 % of texts. One jump is the same under both.

Array legend: S texts, T numbers of a text.
"""

from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PositiveInt, model_validator

from skipstack.data.basis.frozen import UNSAID
from skipstack.data.basis.seeding import generator
from skipstack.data.corpora.synthetic.generated import GeneratedCorpus
from skipstack.data.formats.format import TaskOfLayer
from skipstack.data.formats.sentences import Sentence

EDITION = 1
DIGITS = 10
REACH = 11
"""The number of relevant numbers at the end of a text with one jump: the last, and ten that it can point to."""

MOST_JUMPS = 7
"""The maximum number of jumps counted from the start. Each goes to a lower digit than the one before, so of random
texts a share of C(10, n) / 10^n follows n jumps: 12 in a million for 7, 0.45 for 8, none for 11."""


CountedFrom = Literal["start", "window"]


class NumbersCorpus(GeneratedCorpus):
    """Texts of digits whose label is found by jumps between digits (``data/corpora/synthetic/numbers.py``; gui2019)."""

    edition = EDITION

    kind: Literal["numbers"] = "numbers"
    seed: Annotated[int, Field(ge=0)] = 0
    """The seed of the texts."""
    length: Annotated[int, Field(ge=REACH)] = REACH
    """The length T of a text, in numbers."""
    jumps: PositiveInt = 1
    """The number of jumps from number to number that lead to the label; at most 7 if counted from ``start``."""
    counted_from: Annotated[CountedFrom, UNSAID] = "start"
    """The number from which a digit counts. ``start``: the first of the last eleven numbers. ``window``: the first of
    the ten numbers before the digit, which needs a length of at least 1 + 10 * ``jumps``. Both are reconstructions of
    gui2019."""
    train: PositiveInt = 100_000
    """The number of texts in train. ``dev`` and ``test`` are the numbers in those splits."""
    dev: PositiveInt = 10_000
    test: PositiveInt = 10_000

    @model_validator(mode="after")
    def _is_long_enough(self) -> Self:
        if self.length < (least := shortest(self.jumps, self.counted_from)):
            raise ValueError(
                f"got length {self.length} (allowed for {self.jumps} jumps counted from {self.counted_from}: "
                f"at least {least})"
            )
        if self.counted_from == "start" and self.jumps > MOST_JUMPS:
            raise ValueError(
                f"got {self.jumps} jumps counted from start (allowed: 1 to {MOST_JUMPS}, or counted_from: window, "
                "since hardly a random text has so many digits that each point further back)"
            )
        return self

    @property
    def task(self) -> TaskOfLayer:
        """Classification, the only task of this corpus."""
        return "classification"

    def sentences(self, split: str, size: int) -> list[Sentence]:
        """The first ``size`` texts of a split, with their labels."""
        return sentences(self.seed, split, size, length=self.length, jumps=self.jumps, counted_from=self.counted_from)


def sentences(
    seed: int, split: str, count: int, *, length: int, jumps: int, counted_from: CountedFrom = "start"
) -> list[Sentence]:
    """Draw ``count`` texts, each tagged with its label. All texts that follow the rule are equally likely.

    Each split is an independent random stream under ``seed``. ``length``: T. ``jumps``, ``counted_from``: the rule.
    """
    assert length >= shortest(jumps, counted_from), "every digit points at a number of the text"
    random = generator(seed, "numbers", split)
    found: list[Sentence] = []
    while len(found) < count:
        x_ST = random.integers(0, DIGITS, size=(count, length))
        place_S, follows_S = (_in_windows if counted_from == "window" else _from_start)(x_ST, jumps)
        label_S = x_ST[np.arange(count), place_S]
        for x_T, label in zip(x_ST[follows_S].tolist(), label_S[follows_S].tolist(), strict=True):
            found.append(Sentence(tuple(map(str, x_T)), (str(label),)))
    return found[:count]


def shortest(jumps: int, counted_from: CountedFrom) -> int:
    """The minimum length of a text."""
    return 1 + DIGITS * jumps if counted_from == "window" else REACH


def _from_start(x_ST: NDArray[np.int64], jumps: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Follow the jumps of ``start``. Returns each label's position, and whether jumps after the first go backwards."""
    text_S, first = np.arange(len(x_ST)), x_ST.shape[1] - REACH
    place_S, follows_S = x_ST[:, -1], np.ones(len(x_ST), dtype=bool)
    for _ in range(jumps - 1):
        further_S = x_ST[text_S, first + place_S]
        follows_S &= further_S < place_S
        place_S = further_S
    return first + place_S, follows_S


def _in_windows(x_ST: NDArray[np.int64], jumps: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Follow the jumps of ``window``. Returns each label's position, and True, since all jumps go backwards."""
    text_S, length = np.arange(len(x_ST)), x_ST.shape[1]
    place_S = np.full(len(x_ST), length - 1)
    for _ in range(jumps):
        place_S = place_S - DIGITS + x_ST[text_S, place_S]
    return place_S, np.ones(len(x_ST), dtype=bool)
