"""How alike two corpora are, by what is known of them before anything is trained."""

import math
from collections.abc import Iterator
from typing import Final

from skipstack.data.health.health import Health

OTHER_DECISIONS: Final = 0.5
"""What similarity is multiplied by where only one of two corpora marks spans: other heads and another score count."""


def similarity(one: Health, other: Health) -> float:
    """exp(-mean_i |ln(a_i / b_i)|), a number above 0: 1 where nothing differs, a half where all differ twofold.

    a_i and b_i are the same six numbers of both: train's sentences, tokens of a sentence, different words and different
    tags; of dev's tokens, the share that train lacks; of dev's tags, the share that are not the commonest one. Each
    count has one added, so that none is 0. Where only one corpus marks spans, half of that.
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
