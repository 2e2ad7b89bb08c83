"""Dependency trees by enumeration: heads of words 1 to n, 0 for the root."""

from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

Heads = tuple[int, ...]


def reaches_the_root(heads: Heads, word: int) -> bool:
    """In as many steps as there are words; who goes round never does."""
    for _ in heads:
        if word:
            word = heads[word - 1]
    return word == 0


@cache
def trees(words: int, *, single_root: bool) -> tuple[Heads, ...]:
    every = product(range(words + 1), repeat=words)
    found = [heads for heads in every if all(reaches_the_root(heads, word) for word in range(1, words + 1))]
    return tuple(heads for heads in found if not single_root or heads.count(0) == 1)


def score(scores_TS: NDArray[np.float64], heads: Heads) -> float:
    return float(sum(row[head] for row, head in zip(scores_TS, heads, strict=True)))


def best(scores_TS: NDArray[np.float64], *, single_root: bool) -> Heads:
    return max(trees(len(scores_TS), single_root=single_root), key=lambda heads: score(scores_TS, heads))
