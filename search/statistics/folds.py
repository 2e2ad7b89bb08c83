"""The sampling error of a mean over the folds of one data set: the calls share most of their training data.

Array legend: C calls, one for each fold of each partition of the data set; x any leading axes.
"""

import numpy as np

from skipstack.search.statistics.chance import VarianceComponent
from skipstack.search.statistics.pseudo_values import Values


def chance_of_folds(values_xC: Values, folds: int, *, held_out: bool) -> tuple[VarianceComponent, ...]:
    """Estimate the variance of the mean of a cross-validation: Nadeau and Bengio's corrected resampled variance.

    ``values_xC``: a value for each call, which trains on all folds but one. ``folds``: the number k of folds of a
    partition. ``held_out``: True if each value is measured on the fold that its call held out; False if all calls are
    measured on the same further examples. With C calls and s^2 the sample variance of their values, the result is

        s^2 (1 / C + rho / (1 - rho)),    C - 1 degrees of freedom

    where rho is the correlation of two calls. If ``held_out``, rho is taken to be 1 / k, the share of the examples that
    a call holds out (Nadeau and Bengio 2003; for several partitions Bouckaert and Frank 2004):
    rho / (1 - rho) = n_test / n_train = 1 / (k - 1).

    If not, rho is the average share of training examples that two calls have in common. This share is
    (k - 2) / (k - 1) for two calls of the same partition, and (k - 1) / k for calls of different partitions. For one
    partition the result equals the jackknife variance with one fold left out at a time: (k - 1)^2 / k s^2.
    """
    calls = values_xC.shape[-1]
    rho = 1 / folds if held_out else _in_common(folds, max(calls / folds, 1.0))
    variance = np.asarray(values_xC.var(axis=-1, ddof=1)) * (1 / calls + rho / (1 - rho))
    return (VarianceComponent(variance, calls - 1),)


def _in_common(folds: int, partitions: float) -> float:
    """Return the share of training examples that two calls have in common, averaged over all pairs of calls."""
    others = (partitions - 1) * folds
    return ((folds - 2) + others * (folds - 1) / folds) / (folds - 1 + others)
