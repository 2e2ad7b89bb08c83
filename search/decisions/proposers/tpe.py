"""The tree-structured Parzen estimator."""

import warnings
from typing import ClassVar, final

import optuna
from optuna.exceptions import ExperimentalWarning
from optuna.trial import TrialState

from skipstack.search.decisions.pareto import Vector
from skipstack.search.decisions.proposers.proposer import Curve
from skipstack.search.decisions.proposers.sampled import Outcome, Sampled
from skipstack.search.ledger.events import Reason


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
    """

    stream: ClassVar[str] = "tpe"
    tries: ClassVar[int] = 5

    def _sampler(self, seed: int) -> optuna.samplers.TPESampler:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExperimentalWarning)  # group, in Optuna since 2.8
            return optuna.samplers.TPESampler(seed=seed, multivariate=True, group=True, constant_liar=True)

    def _scored(self, reason: Reason, curve: Curve, further: Vector) -> Outcome:
        intermediate = dict(curve) if self._objectives == 1 else {}
        if reason == "stopped":
            return Outcome(TrialState.PRUNED, None, intermediate)
        return Outcome(TrialState.COMPLETE, [max(score for _, score in curve), *further], intermediate)
