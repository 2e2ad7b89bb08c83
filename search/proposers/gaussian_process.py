"""Bayesian optimisation with a Gaussian process."""

from functools import partial
from typing import Any, ClassVar, final

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
from optuna.trial import TrialState

from skipstack.data.basis.frozen import canonical_json
from skipstack.data.basis.seeding import generator
from skipstack.search.ledger.events import Reason
from skipstack.search.objectives.pareto import Vector, best
from skipstack.search.proposers.costs import Charged
from skipstack.search.proposers.proposer import Curve
from skipstack.search.proposers.sampled import Outcome, Sampled
from skipstack.spaces.space import Point, Space

CONDITIONED, RUNNING = 100, 32
"""Maximum numbers of ended and of running trials that the process is conditioned on."""


@final
class GaussianProcess(Sampled):
    """A Gaussian process (Matern 5/2, one length scale an axis) and its expected improvement, by Optuna's sampler.

    Each point maximises the logarithm of the expected improvement, with several objectives that of the hypervolume
    (Ament et al., 2023; Daulton et al., 2020), given the running trials; points are random until ``random_trials``
    trials have a score. A completed trial counts with the best score of its curve; a stopped one with its last, which
    underestimates it, as a process has no way to rank it. A paused one counts like a stopped one, and once more when it
    ends after a promotion. Trials that diverged or failed are ignored.

    A process needs values on all axes. Optuna leaves conditional axes out and draws them at random. Here all axes are
    modelled, and an inactive axis gets a random value, so that the process learns that it has no effect there. (With a
    constant value the process would keep expecting improvements from the other values.) A proposed point has the values
    of its active axes. The sampler would give the same point again; so instead of a point that is not allowed or was
    proposed before, a random neighbour of it is taken.

    Fitting takes O(N³) time, and the study waits for it. If more than ``CONDITIONED`` trials have a score, the process
    is conditioned on the best ``CONDITIONED`` / 2 of them and on the latest of the others; of the running ones, on the
    latest ``RUNNING``.

    If costs count, the expected improvement per second is maximised (Snoek et al., 2012), or that of the hypervolume.
    The costs cover all axes, too, with random values on inactive ones.
    """

    stream: ClassVar[str] = "gp"
    tries: ClassVar[int] = 1

    def __init__(
        self, space: Space, seed: int, objectives: int = 1, cooled: int | None = None, *, random_trials: int = 10
    ) -> None:
        super().__init__(space, seed, objectives, cooled)
        optuna.logging.set_verbosity(optuna.logging.ERROR)  # it warns of an optional package that would speed it up
        self._random_trials = random_trials

    def _sampler(self, seed: int, charged: Charged | None) -> optuna.samplers.GPSampler:
        kind = optuna.samplers.GPSampler if charged is None else partial(_PerSecond, charged)
        return kind(seed=seed, n_startup_trials=self._random_trials, warn_independent_sampling=False)

    def _history(self) -> optuna.Study:
        over = self._study.get_trials(deepcopy=False, states=[TrialState.COMPLETE])
        running = self._study.get_trials(deepcopy=False, states=[TrialState.RUNNING])
        if len(over) <= CONDITIONED and len(running) <= RUNNING:
            return self._study
        ahead = set(best([tuple(trial.values) for trial in over], CONDITIONED // 2))
        others = [place for place in range(len(over)) if place not in ahead]
        known = sorted([*ahead, *others[-(CONDITIONED - len(ahead)) :]])
        excerpt = optuna.create_study(directions=self._study.directions, sampler=self._recorder)
        excerpt.add_trials([*(over[place] for place in known), *running[-RUNNING:]])
        return excerpt

    def _instead(self, point: Point, source: np.random.Generator) -> Point | None:
        neighbours = self._space.neighbours(point, source)
        near = next((neighbour for neighbour in neighbours if neighbour not in self._seen), None)
        return self._seen.unseen(source) if near is None else near

    def _recorded(self, point: Point) -> Point:
        source = generator(self._seed, self.stream, "inactive", canonical_json(point))
        drawn = {path: domain.sample(source) for path, domain in self._space.domains.items()}
        return {**drawn, **point}

    def _scored(self, reason: Reason, curve: Curve, further: Vector) -> Outcome:
        scores = [score for _, score in curve]
        return Outcome(TrialState.COMPLETE, [max(scores) if reason == "completed" else scores[-1], *further])


@final
class _PerSecond(optuna.samplers.GPSampler):
    """Optuna's sampler with another acquisition function. It overrides a private method of Optuna; a test checks that
    Optuna still calls it.
    """

    def __init__(self, charged: Charged, **options: Any) -> None:
        super().__init__(**options)
        self._charged = charged

    def infer_relative_search_space(self, study: optuna.Study, trial: Any) -> dict[str, BaseDistribution]:
        """The search space of the base class; its order is that of the columns of the process."""
        self._axes = list(super().infer_relative_search_space(study, trial).items())
        return dict(self._axes)

    def _optimize_acqf(self, acqf: Any, best_params: Any) -> Any:
        improvement = acqf.eval_acqf
        acqf.eval_acqf = lambda x: improvement(x) - self._charge(x)
        return super()._optimize_acqf(acqf, best_params)

    def _charge(self, x: Any) -> Any:
        """The penalty for a tensor with the axes last: positions in their ranges, or indices of choices."""
        charge = x.new_zeros(x.shape[:-1])
        for column, (path, distribution) in enumerate(self._axes):
            cost, own = self._charged.costs.get(path), x[..., column]
            if cost is None:
                continue
            if isinstance(distribution, CategoricalDistribution):
                charge = charge + x.new_tensor(cost.effects)[own.detach().round().long()]
                continue
            if isinstance(distribution, IntDistribution):  # its range here is half a step longer at each end
                steps = distribution.high - distribution.low
                own = (own * (steps + 1) - 0.5) / (steps or 1)
            charge = charge + cost.at(own)
        return self._charged.weight * charge
