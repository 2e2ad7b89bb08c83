"""fANOVA: the share of the variance of a forest's scores that each axis explains alone.

After Hutter, Hoos and Leyton-Brown, "An Efficient Approach for Assessing Hyperparameter Importance", 2014.

Array legend: T trees; L and M boxes of a tree; D dimensions; 2 the lower and the upper bound. An axis of numbers or
ordinal values has one dimension; any other choice has one for each tried value (``places.py``).

Points are distributed uniformly in the space. Box l of a tree reaches from low_ld to high_ld in dimension d and has the
score v_l; size_d is the space's size in dimension d. The marginal of an axis with the set of dimensions S is the mean
score given the position x_S in these dimensions:

    a(x_S) = sum_l v_l r_l [x_S in box l],    r_l = product over d not in S of (high_ld - low_ld) / size_d

If v is taken relative to its mean, the variance of a is E[a^2]. Two boxes contribute by their overlap in S:

    sum_lm v_l r_l v_m r_m q_lm,    q_lm = product over d in S of |[low_ld, high_ld] and [low_md, high_md]| / size_d

where "and" is the intersection of the intervals. The share of an axis is this sum relative to the variance of v,
averaged over all trees whose v varies.
"""

from collections.abc import Sequence

import numpy as np

from skipstack.search.analysis.exploration.forest import Array, Boxes


def explained(forest: Boxes, bounds_D2: Array, axes: Sequence[Sequence[int]]) -> list[float]:
    """Return the share of each axis; all are 0 if the scores of no tree vary.

    ``forest``: the boxes of the trees. ``bounds_D2``: the bounds of each dimension. ``axes``: each axis's dimensions.
    """
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
