"""The share of the variance of a forest's scores that each axis explains alone (Hutter, Hoos and Leyton-Brown, "An
Efficient Approach for Assessing Hyperparameter Importance", 2014).

Array legend: T trees, L and M boxes of a tree, D dimensions. An axis has one dimension, a choice one for each value.

A point is uniform in the space. The marginal of an axis with the dimensions S is the mean score given its place in S:

    a(x_S) = sum_l v_l r_l [x_S in box l],    r_l = product over d not in S of (high_ld - low_ld) / size_d

With v relative to its mean the variance of a is E[a^2], in which two boxes count by what they share of S:

    sum_lm v_l r_l v_m r_m q_lm,    q_lm = product over d in S of |[low_ld, high_ld] and [low_md, high_md]| / size_d

A share is this relative to the variance of v, the mean over all trees that have any.
"""

from collections.abc import Sequence

import numpy as np

from skipstack.search.analysis.exploration.forest import Array, Boxes


def explained(forest: Boxes, bounds_D2: Array, axes: Sequence[Sequence[int]]) -> list[float]:
    """The share of each of ``axes``, given by its dimensions; 0 if no tree has any variance."""
    used_L = (forest.high_TLD > forest.low_TLD).all(axis=2).any(axis=0)
    low_TLD, high_TLD, value_TL = forest.low_TLD[:, used_L], forest.high_TLD[:, used_L], forest.value_TL[:, used_L]
    size_D = bounds_D2[:, 1] - bounds_D2[:, 0]
    part_TLD = (high_TLD - low_TLD) / size_D
    volume_TL = part_TLD.prod(axis=2)
    value_TL = value_TL - (volume_TL * value_TL).sum(axis=1, keepdims=True)
    variance_T = (volume_TL * value_TL**2).sum(axis=1)
    varied_T = variance_T > 0
    if not varied_T.any():
        return [0.0] * len(axes)
    found = []
    for own in axes:
        others = [each for each in range(len(size_D)) if each not in own]
        marginal_TL = value_TL * part_TLD[:, :, others].prod(axis=2)
        shared_TLM = np.ones((*value_TL.shape, value_TL.shape[1]))
        for each in own:
            low_TL, high_TL = low_TLD[:, :, each], high_TLD[:, :, each]
            top_TLM = np.minimum(high_TL[:, :, None], high_TL[:, None])
            shared_TLM *= np.maximum(top_TLM - np.maximum(low_TL[:, :, None], low_TL[:, None]), 0) / size_D[each]
        explained_T = np.einsum("tl,tlm,tm->t", marginal_TL, shared_TLM, marginal_TL)
        found.append(float((np.maximum(explained_T, 0)[varied_T] / variance_T[varied_T]).mean()))
    return found
