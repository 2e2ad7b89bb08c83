"""Measures the similarity of two corpora from facts known before training."""

import math
from collections.abc import Iterator
from typing import Final

from skipstack.data.health.health import Health

OTHER_DECISIONS: Final = 0.5
"""The similarity is multiplied by this if only one of the corpora has spans, since output layers and measures then
differ."""


def similarity(one: Health, other: Health) -> float:
    """Compute the similarity of two corpora, exp(-mean_i |ln(a_i / b_i)|), a number above 0 and at most 1.

    ``one`` has six numbers a_i, and ``other`` six numbers b_i. Four are of train: its sentences, its tokens per
    sentence, its distinct words and its distinct tags. Two are of dev: the share of tokens whose word is not in train,
    and the share of tags that are not dev's most frequent tag. If all six differ by a factor of two, the similarity is
    0.5. One is added to each count, and two to the total of each share, so that no number is 0. If only one corpus has
    spans, the similarity is halved.
    """
    logarithms = [abs(math.log(a / b)) for a, b in zip(_numbers(one), _numbers(other), strict=True)]
    alike = math.exp(-math.fsum(logarithms) / len(logarithms))
    return alike if _marks_spans(one) == _marks_spans(other) else OTHER_DECISIONS * alike


def _numbers(health: Health) -> Iterator[float]:
    train, dev = health.splits["train"], health.splits["dev"]
    yield train.sentences + 1
    yield (train.tokens + 1) / (train.sentences + 1)
    yield train.words + 1
    yield train.different_tags + 1
    yield (dev.unknown_tokens + 1) / (dev.tokens + 2)
    yield (dev.tags - dev.commonest_tags + 1) / (dev.tags + 2)


def _marks_spans(health: Health) -> bool:
    return health.splits["train"].spans is not None
