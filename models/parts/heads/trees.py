"""Decodes the head of each word from the scores of arcs.

Axes: T words; S = T + 1 positions, of which 0 is the root and w the w-th word; N words of a cycle; O positions outside
the cycle.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skipstack.data.labels.trees import ROOT, find_cycle

Scores = NDArray[np.floating]
Heads = NDArray[np.int64]


def greedy_heads(scores_TS: Scores) -> Heads:
    """Returns each word's best head independently: heads_T; ties go to the first. The heads need not form a tree.

    ``scores_TS[w - 1, h]`` is the score of head h for word w. A score of -inf forbids the head.
    """
    heads_T: Heads = scores_TS.argmax(axis=1)
    return heads_T


def best_tree(scores_TS: Scores, *, single_root: bool) -> Heads:
    """Finds the tree with the largest sum of scores (Chu and Liu, 1965; Edmonds, 1967):
    heads_T = argmax over all trees of sum_w (the score of head heads[w] for word w)

    ``scores_TS[w - 1, h]`` is the score of head h for word w. If the greedy heads form a tree, this tree is the best.
    Otherwise each cycle of heads is contracted to one position, until no cycle is left. The score of an arc into the
    contracted position is its gain over the arc of the cycle that it would replace. The score of an arc out of the
    position is the score of the best arc out of the cycle's words. Unfolding then breaks each cycle at the word that
    the tree's arc enters.

    ``single_root`` requires that exactly one word has the root as its head, as in Universal Dependencies. If the best
    tree has more such words, the scores of all arcs from the root are lowered by more than the scores of any two trees
    can differ. The search is then repeated, and finds the best of the trees with the fewest arcs from the root.

    A word is never its own head. Non-finite scores, such as those of a diverged network, count as 0.
    """
    square_SS = np.zeros((len(scores_TS) + 1, scores_TS.shape[1]))
    square_SS[1:] = np.where(np.isfinite(scores_TS), scores_TS, 0.0)
    np.fill_diagonal(square_SS, -np.inf)
    heads_S = _arborescence(square_SS)
    if single_root and (heads_S[1:] == ROOT).sum() > 1:
        finite = square_SS[np.isfinite(square_SS)]
        square_SS[:, ROOT] -= len(square_SS) * (finite.max() - finite.min()) + 1
        heads_S = _arborescence(square_SS)
    return heads_S[1:]


@dataclass(frozen=True, slots=True)
class _Contraction:
    """A cycle contracted to one position, the last of the contracted graph."""

    heads_S: Heads
    """The greedy heads, which contain the cycle."""
    outside_O: Heads
    """The positions outside the cycle; the root is the first."""
    entered_O: Heads
    """Maps each position outside the cycle to its best dependent in the cycle."""
    leaving_O: Heads
    """Maps each position outside the cycle to its best head in the cycle."""


def _arborescence(scores_SS: Scores) -> Heads:
    """Finds the heads of the best tree: heads_S. The root's head is arbitrary. ``scores_SS``: a row per dependent."""
    contractions = []
    while True:
        heads_S = greedy_heads(scores_SS)
        cycle_N = np.array(find_cycle(heads_S[1:].tolist()), dtype=np.int64)
        if not len(cycle_N):
            break
        contraction, scores_SS = _contract(scores_SS, heads_S, cycle_N)
        contractions.append(contraction)
    for contraction in reversed(contractions):
        heads_S = _unfold(heads_S, contraction)
    return heads_S


def _contract(scores_SS: Scores, heads_S: Heads, cycle_N: Heads) -> tuple[_Contraction, Scores]:
    outside_O = np.setdiff1d(np.arange(len(scores_SS)), cycle_N)
    gain_NO = scores_SS[np.ix_(cycle_N, outside_O)] - scores_SS[cycle_N, heads_S[cycle_N]][:, None]
    from_cycle_ON = scores_SS[np.ix_(outside_O, cycle_N)]
    smaller = np.full((len(outside_O) + 1,) * 2, -np.inf)
    smaller[:-1, :-1] = scores_SS[np.ix_(outside_O, outside_O)]
    smaller[-1, :-1] = gain_NO.max(axis=0)
    smaller[:-1, -1] = from_cycle_ON.max(axis=1)
    entered_O, leaving_O = cycle_N[gain_NO.argmax(axis=0)], cycle_N[from_cycle_ON.argmax(axis=1)]
    return _Contraction(heads_S, outside_O, entered_O, leaving_O), smaller


def _unfold(heads_S: Heads, contraction: _Contraction) -> Heads:
    """Converts the heads in the contracted graph, ``heads_S``, into heads in the graph before the contraction."""
    *others, entry = heads_S.tolist()
    heads = contraction.heads_S.copy()
    places = np.append(contraction.outside_O, -1)
    heads[contraction.outside_O] = np.where(
        np.array(others) == len(others), contraction.leaving_O, places[np.array(others)]
    )
    heads[contraction.entered_O[entry]] = contraction.outside_O[entry]
    return heads
