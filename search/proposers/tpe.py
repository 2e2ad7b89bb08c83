"""The tree-structured Parzen estimator."""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Final, final

import numpy as np
import optuna
from optuna.distributions import BaseDistribution
from optuna.exceptions import ExperimentalWarning
from optuna.samplers._tpe.parzen_estimator import _ParzenEstimator
from optuna.samplers._tpe.sampler import _split_trials, default_gamma, default_gamma_multiobjective
from optuna.search_space.group_decomposed import _GroupDecomposedSearchSpace, _SearchSpaceGroup
from optuna.trial import FrozenTrial, TrialState

from skipstack.search.ledger.events import Reason
from skipstack.search.objectives.pareto import Vector
from skipstack.search.proposers.costs import Charged
from skipstack.search.proposers.proposer import Curve
from skipstack.search.proposers.sampled import Outcome, Sampled

BETTER: Final = 0.1
"""Optuna's maximum share of trials in l(x)."""


@final
class Tpe(Sampled):
    """Multivariate TPE (Bergstra et al., 2011; Falkner et al., 2018), asynchronous, by Optuna's sampler.

    24 points are drawn from the density l(x) of the better trials, and the one with the largest l(x) / g(x) is taken,
    g being the density of the other trials; the first ten trials are random. Axes that are active together are modelled
    together. A running trial counts among the others ("constant liar"), so that parallel trials differ. A completed
    trial counts with the best score of its curve; stopped ones rank behind the completed ones, by their number of
    epochs and last score; trials that diverged or failed are ignored. The values of a choice are categories without an
    order. A trial that is paused at a rung counts as stopped there, and once more when it ends after a promotion: its
    earlier entry then counts for g, and l(x) / g(x) orders points in the same way whether g is the density of the
    others or of all.

    With several objectives the better trials are those of the lower non-dominated ranks, the last of these cut by
    hypervolume (Ozaki et al., 2022). Optuna has no intermediate values then: all stopped trials share the rank behind
    the completed ones.

    If costs count, the one of the 24 points with the largest expected improvement per second is taken: the expected
    improvement is proportional to 1 / (y + (1 - y) g(x) / l(x)), y being the share of the better trials (Bergstra et
    al., 2011, equation 15). Where l(x) is far above g(x) it is constant, and the cost decides.
    """

    stream: ClassVar[str] = "tpe"
    tries: ClassVar[int] = 5

    def _samplers(self, charged: Charged | None) -> Callable[[int], optuna.samplers.TPESampler]:
        densities = _Densities()
        kind = _Shared if charged is None else partial(_PerSecond, charged)

        def sampler(seed: int) -> optuna.samplers.TPESampler:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ExperimentalWarning)  # group, in Optuna since 2.8
                return kind(densities, seed=seed, multivariate=True, group=True, constant_liar=True)

        return sampler

    def _scored(self, reason: Reason, curve: Curve, further: Vector) -> Outcome:
        intermediate = dict(curve) if self._objectives == 1 else {}
        if reason == "stopped":
            return Outcome(TrialState.PRUNED, None, intermediate)
        return Outcome(TrialState.COMPLETE, [max(score for _, score in curve), *further], intermediate)


@final
class _Groups(_GroupDecomposedSearchSpace):
    """Optuna's groups of axes, which are active together; trials with the axes of an earlier one add nothing."""

    def __init__(self) -> None:
        super().__init__(include_pruned=True)
        self._found = False

    def calculate(self, study: optuna.Study, use_cache: bool = False) -> _SearchSpaceGroup:
        """The groups after all trials that were over at the first call."""
        if not self._found:
            self._found = True
            seen = set[frozenset[str]]()
            states = (TrialState.COMPLETE, TrialState.PRUNED)
            for trial in study._get_trials(deepcopy=False, states=states, use_cache=use_cache):
                if (axes := frozenset(trial.distributions)) not in seen:
                    seen.add(axes)
                    self._search_space.add_distributions(trial.distributions)
        return self._search_space


@dataclass(slots=True)
class _Densities:
    """What the samplers of one ask learn from their history, which is the same for all: the groups of axes, the better
    trials and the others, and l(x) and g(x) of each group.
    """

    groups: _Groups = field(default_factory=_Groups)
    split: tuple[list[FrozenTrial], list[FrozenTrial]] | None = None
    of: dict[frozenset[str], tuple[_ParzenEstimator, _ParzenEstimator]] = field(default_factory=dict)


class _Shared(optuna.samplers.TPESampler):
    """Optuna's sampler of one point: the same one in less time.

    It samples each group of axes by itself; Optuna's splits all trials into the better and the others again for each,
    and finds the groups from all trials, although one with the axes of another adds nothing. What it learns it shares
    with the other samplers of its ask. It overrides private methods of Optuna; a test compares the points.
    """

    def __init__(self, densities: _Densities, **options: Any) -> None:
        super().__init__(**options)
        self._densities = densities
        self._group_decomposed_search_space = densities.groups

    def _sample(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        axes = frozenset(search_space)
        if axes not in self._densities.of:
            self._densities.of[axes] = self._learnt(study, trial, search_space)
        below, above = self._densities.of[axes]
        samples = below.sample(self._rng.rng, self._n_ei_candidates)
        found = self._compare(samples, self._compute_acquisition_func(samples, below, above))
        return {path: domain.to_external_repr(found[path]) for path, domain in search_space.items()}

    def _learnt(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> tuple[_ParzenEstimator, _ParzenEstimator]:
        """l(x) and g(x) of a group of axes."""
        if self._densities.split is None:
            states = [TrialState.COMPLETE, TrialState.PRUNED, TrialState.RUNNING]
            known = study._get_trials(deepcopy=False, states=states, use_cache=False)
            known = [each for each in known if each.number != trial.number]
            over = sum(each.state != TrialState.RUNNING for each in known)
            share = default_gamma if len(study.directions) == 1 else default_gamma_multiobjective
            self._densities.split = _split_trials(study, known, share(over))
        better, others = self._densities.split
        return (
            self._build_parzen_estimator(study, search_space, better, handle_below=True),
            self._build_parzen_estimator(study, search_space, others, handle_below=False),
        )


@final
class _PerSecond(_Shared):
    """The same with another acquisition function. It overrides a private method of Optuna; a test checks that it is
    called.
    """

    def __init__(self, charged: Charged, densities: _Densities, **options: Any) -> None:
        super().__init__(densities, **options)
        self._charged = charged

    def _compute_acquisition_func(self, samples: Any, mpe_below: Any, mpe_above: Any) -> Any:
        ratio = super()._compute_acquisition_func(samples, mpe_below, mpe_above)
        improvement = -np.logaddexp(math.log(BETTER), math.log(1 - BETTER) - ratio)
        return improvement - self._charged.of(samples)
