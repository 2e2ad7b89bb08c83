"""The tree-structured Parzen estimator."""

import math
import warnings
from functools import partial
from typing import Any, ClassVar, Final, final

import numpy as np
import optuna
from optuna.exceptions import ExperimentalWarning
from optuna.trial import TrialState

from skipstack.search.ledger.events import Reason
from skipstack.search.objectives.pareto import Vector
from skipstack.search.proposers.costs import Charged
from skipstack.search.proposers.proposer import Curve
from skipstack.search.proposers.sampled import Outcome, Sampled

BETTER: Final = 0.1
"""The share of trials that l(x) is the density of, at most: Optuna's."""


@final
class Tpe(Sampled):
    """Multivariate TPE (Bergstra et al., 2011; Falkner et al., 2018), asynchronous, by Optuna's sampler.

    Points are drawn from the density l(x) of the better trials, and the one of 24 with the largest
    l(x) / g(x) is taken, g being the density of the others; the first ten trials are random. Axes that are
    active together are modelled together. A running trial counts among the others ("constant liar"), so
    that trials in parallel keep apart. A completed trial counts with the best score of its curve; a stopped
    one ranks behind the completed ones, by how far it came and its last score; those that diverged or that a
    fault ended teach nothing. The values of a choice are categories without an order. A trial that is paused at a rung
    counts as stopped there, and, if it is promoted, once more as what becomes of it: its earlier entry falls among the
    others of l(x) / g(x), whose order by x is the same whether g is the density of the others or of all.

    With several objectives the better trials are those of the lower non-dominated ranks, the last of these cut
    by hypervolume (Ozaki et al., 2022). Optuna has no intermediate values then: stopped trials rank behind the
    completed ones, alike.

    Where costs count, the one of the 24 is taken that promises most per second: the expected improvement is
    proportional to 1 / (y + (1 - y) g(x) / l(x)), y being the share of the better trials (Bergstra et al., 2011,
    equation 15). Where l(x) is far above g(x) it is the same, and the cost decides.
    """

    stream: ClassVar[str] = "tpe"
    tries: ClassVar[int] = 5

    def _sampler(self, seed: int, charged: Charged | None) -> optuna.samplers.TPESampler:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExperimentalWarning)  # group, in Optuna since 2.8
            kind = optuna.samplers.TPESampler if charged is None else partial(_PerSecond, charged)
            return kind(seed=seed, multivariate=True, group=True, constant_liar=True)

    def _scored(self, reason: Reason, curve: Curve, further: Vector) -> Outcome:
        intermediate = dict(curve) if self._objectives == 1 else {}
        if reason == "stopped":
            return Outcome(TrialState.PRUNED, None, intermediate)
        return Outcome(TrialState.COMPLETE, [max(score for _, score in curve), *further], intermediate)


@final
class _PerSecond(optuna.samplers.TPESampler):
    """Optuna's sampler with another value of its candidates. It calls a method of its own for that, of which it makes
    no promise: a test sees that it still does.
    """

    def __init__(self, charged: Charged, **options: Any) -> None:
        super().__init__(**options)
        self._charged = charged

    def _compute_acquisition_func(self, samples: Any, mpe_below: Any, mpe_above: Any) -> Any:
        ratio = super()._compute_acquisition_func(samples, mpe_below, mpe_above)
        improvement = -np.logaddexp(math.log(BETTER), math.log(1 - BETTER) - ratio)
        return improvement - self._charged.of(samples)
