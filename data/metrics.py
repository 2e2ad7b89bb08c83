"""What trials are ranked by, and token accuracy.

Array legend: R lanes, T time, B sentence in the batch. Where the truth has one lane, it holds for all lanes.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Measure = Literal["accuracy", "f1"]
"""The share of right tokens, or the F1 of spans (``data.spans.SpanCounts``)."""

Ids = NDArray[np.int64]


def correct_tokens(predicted_RTB: Ids, tags_RTB: Ids, lengths_RB: Ids) -> Ids:
    """How many tokens of each lane got their tag.

    Padding counts for nothing, whatever is predicted there. A token whose tag is -1 (train does not have it) is
    wrong, even where -1 is predicted.
    """
    inside_RTB = np.arange(tags_RTB.shape[1])[:, None] < lengths_RB[:, None, :]
    right_RTB = inside_RTB & (tags_RTB >= 0) & (predicted_RTB == tags_RTB)
    correct_R: Ids = right_RTB.sum(axis=(1, 2), dtype=np.int64)
    return correct_R


def accuracy(correct: int, tokens: int) -> float:
    """The share of ``tokens`` that are ``correct``, in [0, 1]. Raises ValueError where there are no tokens."""
    if tokens <= 0:
        raise ValueError(f"accuracy needs tokens: got {tokens}, allowed 1 or more")
    return correct / tokens
