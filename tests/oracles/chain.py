"""A linear chain by enumeration of all taggings: one lane, one sentence, in chen2017's letters (eqs 3 and 17-21)."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Tagging = tuple[int, ...]


@dataclass(frozen=True)
class Scores:
    """p: a row a token. A: from, to. A score of -inf forbids."""

    p: Array
    start: Array
    A: Array
    end: Array

    def r(self, t: Sequence[int]) -> float:
        ends = self.start[t[0]] + self.end[t[-1]]
        return float(
            sum(self.A[a, b] for a, b in pairwise(t)) + sum(row[k] for row, k in zip(self.p, t, strict=True)) + ends
        )

    def taggings(self, observed: Sequence[int] | None = None) -> Iterator[Tagging]:
        """All of them, or those that have the observed tags; -1 is open. Forbidden ones too."""
        tags = range(len(self.start))
        for t in product(tags, repeat=len(self.p)):
            if observed is None or all(o in (-1, k) for o, k in zip(observed, t, strict=True)):
                yield t


def log_partition(scores: Scores, observed: Sequence[int] | None = None) -> float:
    values = [scores.r(t) for t in scores.taggings(observed)]
    top = max(values)
    return top + math.log(math.fsum(math.exp(v - top) for v in values)) if math.isfinite(top) else top


def best(scores: Scores) -> tuple[float, Tagging]:
    """Of those that are allowed; of equal ones that with the smaller tags."""
    allowed = [(r, t) for t in scores.taggings() if math.isfinite(r := scores.r(t))]
    return min(allowed, key=lambda pair: (-pair[0], pair[1]))


def marginals(scores: Scores) -> tuple[Array, Array]:
    """P(t_i = k), and the expected number of moves from one tag to another."""
    log_z, node, edge = log_partition(scores), np.zeros_like(scores.p), np.zeros_like(scores.A)
    for t in scores.taggings():
        probability = math.exp(scores.r(t) - log_z)
        for i, k in enumerate(t):
            node[i, k] += probability
        for a, b in pairwise(t):
            edge[a, b] += probability
    return node, edge


def softmax_loss(scores: Scores, gold: Sequence[int]) -> float:
    return math.fsum(float(np.log(np.exp(row).sum()) - row[k]) for row, k in zip(scores.p, gold, strict=True) if k >= 0)


def crf_loss(scores: Scores, gold: Sequence[int]) -> float:
    """-log of the probability of the observed tags."""
    return log_partition(scores) - log_partition(scores, gold)


def margin_loss(scores: Scores, gold: Sequence[int], eta: float) -> float:
    """Eqs 19 and 21; where a gold tag is open, the best tagging that has the others is gold."""

    def delta(t: Tagging) -> float:
        return sum(eta for k, g in zip(t, gold, strict=True) if g not in (-1, k))

    return max(scores.r(t) + delta(t) for t in scores.taggings()) - max(scores.r(t) for t in scores.taggings(gold))


HEADS: Mapping[str, Callable[[Scores, Sequence[int]], float]] = {
    "softmax": softmax_loss,
    "crf": crf_loss,
    "margin": lambda scores, gold: margin_loss(scores, gold, eta=0.2),
}
"""The loss of each head by its kind, with the config's defaults."""
