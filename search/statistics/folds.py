"""The sampling error of a mean over the folds of one data set, whose calls share most of their training data.

Array legend: C calls: each fold of each partition; ``...`` any leading axes.
"""

import numpy as np

from skipstack.search.statistics.chance import VarianceComponent
from skipstack.search.statistics.pseudo_values import Values


def chance_of_folds(values_xC: Values, folds: int, *, held_out: bool) -> tuple[VarianceComponent, ...]:
    """The variance of a mean over calls, each of which trains on all but one of so many ``folds`` of a data set.

    ``held_out``: each value is measured on the examples that its call held out; else all calls are measured on the same
    further examples. With C calls and s^2 their sample variance:

        s^2 (1 / C + rho / (1 - rho)),    C - 1 degrees of freedom

    rho: the correlation of two calls. Held out, it is taken to be 1 / k for k folds, the share of the examples that a
    call holds out (Nadeau and Bengio 2003; for several partitions Bouckaert and Frank 2004): rho / (1 - rho) =
    n_test / n_train = 1 / (k - 1). On the same further examples it is the share of training examples that two calls
    have in common, on average: (k - 2) / (k - 1) in a partition, (k - 1) / k in two. For one partition that is the
    jackknife that leaves out a fold at a time: (k - 1)^2 / k s^2.
    """
    calls = values_xC.shape[-1]
    rho = 1 / folds if held_out else _in_common(folds, max(calls / folds, 1.0))
    variance = np.asarray(values_xC.var(axis=-1, ddof=1)) * (1 / calls + rho / (1 - rho))
    return (VarianceComponent(variance, calls - 1),)


def _in_common(folds: int, partitions: float) -> float:
    """The share of training examples that two calls have in common, over all pairs of calls."""
    others = (partitions - 1) * folds
    return ((folds - 2) + others * (folds - 1) / folds) / (folds - 1 + others)
