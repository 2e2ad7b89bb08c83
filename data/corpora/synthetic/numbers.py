"""Number prediction: a text of digits whose last digits point to its label (gui2019, "Number Prediction").

With T numbers x[0] ... x[T-1] from 0 to 9, one jump is the label x[x[T-1]] at T = 11, two jumps x[x[x[T-1]]] with
x[x[T-1]] < x[T-1], so that jumps go backwards. At T = 21 ten more numbers come before those that can be pointed at:
places count from T - 11, whose number 10 is the last one, so that ten states back reach them all (``a = x[T-1]``, ``b =
x[T-11+a] < a``, label ``x[T-11+b]``).

Array legend: S texts, T numbers of a text.
"""

import numpy as np

from skipstack.data.basis.seeding import generator
from skipstack.data.formats.sentences import Sentence

EDITION = 1
"""The edition; increase it whenever a seed gives different numbers, so that stored ones are not mistaken for them."""

DIGITS = 10
REACH = 11
"""The number of relevant numbers: ten that can be pointed at, and the last one."""


def sentences(seed: int, split: str, count: int, *, length: int, jumps: int) -> list[Sentence]:
    """``count`` texts, each tagged with its label: all texts that follow the rule are equally likely."""
    assert length >= REACH, "0 to 9 are places"
    random = generator(seed, "numbers", split)
    found: list[Sentence] = []
    while len(found) < count:
        x_ST = random.integers(0, DIGITS, size=(count, length))
        text_S, first_S = np.arange(count), length - REACH
        place_S = x_ST[:, -1]
        follows_S = np.ones(count, dtype=bool)
        for _ in range(jumps - 1):
            further_S = x_ST[text_S, first_S + place_S]
            follows_S &= further_S < place_S
            place_S = further_S
        label_S = x_ST[text_S, first_S + place_S]
        for x_T, label in zip(x_ST[follows_S].tolist(), label_S[follows_S].tolist(), strict=True):
            found.append(Sentence(tuple(map(str, x_T)), (str(label),)))
    return found[:count]
