"""The biaffine parser of Dozat and Manning (2017), word by word: one lane, one sentence, no dropout."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tests.oracles.trees import Heads

Array = NDArray[np.float64]
Weights = Mapping[str, Array]


def roles(
    weights: Weights, x: Array, sizes: tuple[int, int]
) -> tuple[list[Array], list[Array], list[Array], list[Array]]:
    """Of every place, the root first: dependents and heads of arcs, dependents and heads of relations."""
    arc, relation = sizes
    read: tuple[list[Array], ...] = ([], [], [], [])
    for place in [weights["root.table"][0], *x]:
        z = weights["weight"].T @ place + weights["bias"][0]
        z = np.array([each if each > 0 else 0.1 * each for each in z])
        ends = np.cumsum([arc, arc, relation, relation])
        for role, part in zip(read, np.split(z, ends[:-1]), strict=True):
            role.append(part)
    return read  # type: ignore[return-value]


def arc_scores(weights: Weights, x: Array, sizes: tuple[int, int]) -> Array:
    """A row a word, a column a place; -inf for itself."""
    dependents, heads, _, _ = roles(weights, x, sizes)
    U, u = weights["arcs.bilinear"], weights["arcs.bias"][0]
    scores = np.full((len(x), len(x) + 1), -np.inf)
    for word in range(1, len(x) + 1):
        for place in range(len(x) + 1):
            if place != word:
                # Ours keeps U as (dependent, head).
                scores[word - 1, place] = heads[place] @ U.T @ dependents[word] + heads[place] @ u
    return scores


def relation_scores(weights: Weights, x: Array, sizes: tuple[int, int], word: int, head: int) -> Array:
    _, _, dependents, heads = roles(weights, x, sizes)
    d, h = dependents[word], heads[head]
    relations = weights["relations.weight"].shape[1]
    scores = []
    for k in range(relations):
        U_k = weights["relations.bilinear"][:, k * sizes[1] : (k + 1) * sizes[1]].T  # (head, dependent)
        linear = np.concatenate([h, d]) @ weights["relations.weight"][:, k]
        scores.append(h @ U_k @ d + linear + weights["relations.bias"][0, k])
    return np.array(scores)


def log_softmax(scores: Array, chosen: int) -> float:
    top = scores.max()
    return float(scores[chosen] - top - math.log(math.fsum(math.exp(each - top) for each in scores)))


def loss(weights: Weights, x: Array, sizes: tuple[int, int], heads: Heads, relations: Sequence[int]) -> float:
    arcs = arc_scores(weights, x, sizes)
    total = 0.0
    for word, (head, relation) in enumerate(zip(heads, relations, strict=True), start=1):
        total -= log_softmax(arcs[word - 1], head)
        if relation >= 0:
            total -= log_softmax(relation_scores(weights, x, sizes, word, head), relation)
    return total
