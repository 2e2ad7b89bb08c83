"""What trials are ranked by, and accuracy.

Array legend: R lanes, U tags of a sentence, B sentence in the batch. Where the truth has one lane, it holds for all.
"""

from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Measure = Literal["accuracy", "f1", "las", "perplexity"]
"""The share of right tags, the F1 of spans (``data.labels.spans.SpanCounts``), the labelled attachment score of trees
(``data.tasks.attachment.AttachmentCounts``), or the exponential of the mean loss of a word (nats)."""

MEASURES: Mapping[Measure, str] = {"accuracy": "accuracy", "f1": "F1", "las": "LAS", "perplexity": "perplexity"}
"""How people write them."""

FACTORS: Mapping[Measure, float] = {"accuracy": 100, "f1": 100, "las": 100, "perplexity": -1}
"""What people see is a score times this. Of scores the larger one is better: a perplexity is its negative."""

Ids = NDArray[np.int64]


def correct_tags(predicted_RUB: Ids, tags_RUB: Ids, counts_RB: Ids) -> Ids:
    """How many tags of each lane are right, of the ``counts_RB`` first ones of each sentence.

    Padding counts for nothing, whatever is predicted there. A tag that is -1 (train does not have it) is not got
    right, even where -1 is predicted.
    """
    inside_RUB = np.arange(tags_RUB.shape[1])[:, None] < counts_RB[:, None, :]
    right_RUB = inside_RUB & (tags_RUB >= 0) & (predicted_RUB == tags_RUB)
    correct_R: Ids = right_RUB.sum(axis=(1, 2), dtype=np.int64)
    return correct_R


def accuracy(correct: int, total: int) -> float:
    """The share of ``total`` that is ``correct``, in [0, 1]. Raises ValueError where there is nothing."""
    if total <= 0:
        raise ValueError(f"accuracy needs tags: got {total}, allowed 1 or more")
    return correct / total
