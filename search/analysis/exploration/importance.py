"""The importance of each axis by fANOVA, beside the importance that it has by chance alone.

After Hutter, Hoos and Leyton-Brown, "An Efficient Approach for Assessing Hyperparameter Importance", 2014.

PED-ANOVA is not used. It compares the values of the best trials with those of all trials. But a proposer that learns
draws its later, better trials from the regions that it favours. In eleven of twelve studies by TPE, PED-ANOVA ranked an
axis first that explains 11 % of the variance.

Optuna's fANOVA evaluator gives the same shares (``tests/search/analysis/exploration/test_forest.py``) but grows one
tree at a time: for twenty small searches, Optuna takes 2 seconds, and this module 0.2.

Array legend: N trials; T trees; L and M boxes of a tree; D dimensions; 2 the lower and the upper bound. An axis of
numbers or ordinal values has one dimension; any other choice has one for each tried value (``places.py``).
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

import numpy as np
import pandas as pd

from skipstack.data.basis.seeding import generator
from skipstack.search.analysis.exploration.forest import Array, Boxes, drawn, grow
from skipstack.search.analysis.exploration.levels import Domains
from skipstack.search.analysis.exploration.places import places
from skipstack.search.analysis.exploration.shuffled import Shuffled

COLUMNS: Final = ("axis", "trials", "fanova", "by_chance", "stands_out")

TREES: Final = 32
DEPTH: Final = 5
"""The number of trees of the forest of fANOVA (``TREES``), and their depth.

Both are small, since the time grows with the number of boxes. Larger forests change shares by about 0.02.
"""

MOST: Final = 200
"""The maximum number of trials for a forest. A larger search is represented by evenly spaced trials, to save time."""


def importances(
    expected: "pd.Series[float]",
    points: pd.DataFrame,
    domains: Domains,
    shuffled: Callable[[str], Sequence[Shuffled]],
    apart: Collection[str],
) -> pd.DataFrame:
    """Return a frame with a row for each axis with more than one tried value, the most important axis first.

    The frame is empty if fewer than three trials have an expected final score.

    ``expected``: the final score by trial (``additive_model.Fit``). ``points``: the value of each trial on each axis.
    ``shuffled``: a function from an axis to copies of the search in which this axis does not matter
    (``shuffled.shuffled``). ``apart``: the axes whose values differ significantly in score (``standing_out.py``).

    The frame has these columns:

    ``trials``: the number of trials in ``expected`` in which the axis is active.
    ``fanova``: the share of the variance of all scores that the axis alone explains (Hutter et al., 2014), by a random
    forest. Trees need every axis in every trial. For a conditional axis, they are therefore grown only from the trials
    in which it is active, and only on axes that are active in all of these trials. The share of these trials' variance
    that the axis explains is multiplied by their share of the sum of squares of all scores. So the shares of all axes
    can be compared.
    ``by_chance``: the mean of this share over the copies of the search in which the axis is shuffled. For a numeric
    axis without effect, this mean is several times as large as for a choice with few values.
    ``stands_out``: whether the axis is in ``apart`` and its share exceeds ``by_chance``.
    """
    tried = {axis: domain for axis, domain in domains.items() if points.loc[expected.index, axis].nunique() > 1}
    if len(expected) <= 2:
        return pd.DataFrame(columns=list(COLUMNS))
    active = points.loc[expected.index, list(tried)].notna()
    groups: dict[frozenset[int], list[str]] = {}
    for axis in tried:
        groups.setdefault(frozenset(active.index[active[axis]]), []).append(axis)
    rows = []
    for trials, axes in groups.items():
        group = sorted(trials)
        common = {axis: domain for axis, domain in tried.items() if active.loc[group, axis].all()}
        part = _squares(expected[group]) / (_squares(expected) or 1.0)
        shares = _fanova(expected, points.loc[group], common)
        for axis in axes:
            copies = shuffled(axis) if axis in shares else []
            usual = [_fanova(each.model.expected, each.points.loc[group], common)[axis] for each in copies]
            share, by_chance = (part * each for each in (shares.get(axis, np.nan), np.mean(usual or [np.nan])))
            rows.append(
                {
                    "axis": axis,
                    "trials": len(group),
                    "fanova": float(share),
                    "by_chance": float(by_chance),
                    "stands_out": bool(axis in apart and share > by_chance),
                }
            )
    found = pd.DataFrame(rows, columns=list(COLUMNS))
    return found.sort_values("fanova", ascending=False, kind="stable", ignore_index=True)


def _squares(scores: "pd.Series[float]") -> float:
    """Return the sum of squared differences of scores from their mean."""
    return float(((scores - scores.mean()) ** 2).sum())


def _fanova(expected: "pd.Series[float]", points: pd.DataFrame, axes: Domains) -> Mapping[str, float]:
    """Return the share of each axis that has several values in ``points``; empty for fewer than three points. Call
    this only with ``axes`` that are active in all points.
    """
    axes = {axis: domain for axis, domain in axes.items() if points[axis].nunique() > 1}
    if len(points) <= 2 or not axes:
        return {}
    used = points.iloc[np.unique(np.linspace(0, len(points) - 1, min(len(points), MOST)).astype(int))]
    scores = expected[used.index]
    if scores.nunique() < 2:
        return dict.fromkeys(axes, 0.0)
    of_axes = [places(used[axis], domain) for axis, domain in axes.items()]
    ends = np.cumsum([place_ND.shape[1] for place_ND, _ in of_axes]).tolist()
    bounds_D2, source = np.vstack([own_D2 for _, own_D2 in of_axes]), generator(0, "forest")
    forest = grow(
        np.hstack([place_ND for place_ND, _ in of_axes]),
        scores.to_numpy(float),
        bounds_D2,
        drawn(len(used), TREES, source),
        DEPTH,
        source,
    )
    dimensions = [range(start, end) for start, end in zip([0, *ends], ends, strict=False)]
    return dict(zip(axes, explained(forest, bounds_D2, dimensions), strict=True))


def explained(forest: Boxes, bounds_D2: Array, axes: Sequence[Sequence[int]]) -> list[float]:
    """Return the share of the variance of a forest's scores that each axis explains alone, by fANOVA (Hutter et al.,
    2014). All shares are 0 if the scores of no tree vary.

    ``forest``: the boxes of the trees. ``bounds_D2``: the bounds of each dimension. ``axes``: each axis's dimensions.

    Points are distributed uniformly in the space. Box l of a tree reaches from low_ld to high_ld in dimension d and has
    the score v_l; size_d is the space's size in dimension d. The marginal of an axis with the set of dimensions S is
    the mean score given the position x_S in these dimensions:

        a(x_S) = sum_l v_l r_l [x_S in box l],    r_l = product over d not in S of (high_ld - low_ld) / size_d

    If v is taken relative to its mean, the variance of a is E[a^2]. Two boxes contribute by their overlap in S:

        sum_lm v_l r_l v_m r_m q_lm,    q_lm = product over d in S of |[low_ld, high_ld] and [low_md, high_md]| / size_d

    where "and" is the intersection of the intervals. The share of an axis is this sum relative to the variance of v,
    averaged over all trees whose v varies.
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
