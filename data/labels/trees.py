"""Dependency trees. A tree is written as the head of each word: 0 is the root, w the w-th word of the sentence."""

from collections.abc import Sequence

TREES = "heads"
"""The name of the layer of dependency trees."""

ROOT = 0
"""The root of a tree. It is the head of the only word that depends on no other word."""


def find_cycle(heads: Sequence[int]) -> list[int]:
    """Find a cycle: a list of words in which each is the head of the word before it. Empty if there is no cycle.

    ``heads[w - 1]``: the head of word w, 0 to ``len(heads)``. The list begins with the word of the smallest number.
    """
    reached_from = [0] * (len(heads) + 1)  # by word, the start of the first path through it, or 0
    for start in range(1, len(heads) + 1):
        word = start
        while word != ROOT and reached_from[word] == 0:
            reached_from[word] = start
            word = heads[word - 1]
        if word != ROOT and reached_from[word] == start:
            cycle = [word]
            while heads[cycle[-1] - 1] != word:
                cycle.append(heads[cycle[-1] - 1])
            first = cycle.index(min(cycle))
            return cycle[first:] + cycle[:first]
    return []
