"""Bayesian optimisation with a Gaussian process."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from skipstack.data.basis.seeding import generator
from skipstack.search.ledger.events import Reason
from skipstack.search.strategy.objectives.pareto import Vector, best
from skipstack.search.strategy.proposers.ascent import Promises
from skipstack.search.strategy.proposers.costs import Costs
from skipstack.search.strategy.proposers.encoding import Encoding, Numbers
from skipstack.search.strategy.proposers.improvement import HypervolumeImprovement, Improvement
from skipstack.search.strategy.proposers.proposer import Curve, ProposedPoints, Proposer
from skipstack.search.strategy.proposers.regression import Kernel, Process, fitted
from skipstack.spaces.space import Point, Space

CONDITIONED, RUNNING = 100, 32
"""Maximum numbers of ended and of running trials that the process is conditioned on."""

CASES, CASES_OF_SEVERAL = 16, 6
"""Numbers of cases drawn for the values of running trials, with one objective and with several."""

AGAIN: Final = 8
"""A kernel is fitted again once the number of scored trials has grown by one in this many."""

ITERATIONS: Final = 12
"""The maximum number of iterations of a fit; the next one goes on where it ended."""

NEAR: Final = 5
"""Number of the best rows that are mutated into candidates."""


@dataclass(frozen=True, slots=True)
class _Scored:
    """The row of a trial that has a score, and its values in the objectives."""

    row: Numbers
    values: Vector


@final
class GaussianProcess(Proposer):
    """A Gaussian process (Matern 5/2, one length scale an axis) and its expected improvement.

    Each point maximises the logarithm of the expected improvement, with several objectives that of the hypervolume
    (Ament et al., 2023; Yang et al., 2019), given the running trials: their values are drawn from the process in
    several cases, and the improvement is the mean over these. Points are random until ``random_trials`` trials have a
    score. A completed trial counts with the best score of its curve; a stopped one with its last, which underestimates
    it, as a process has no way to rank it. A paused one counts like a stopped one, and once more when it ends after a
    promotion. Trials that diverged or failed are ignored.

    A process needs values on all axes: an inactive choice is as near to each of its values as to any other, an inactive
    number is in the middle of its range, and neither is varied in the search for a point. The most promising points are
    changed where they break the study's own rules (``Space.repaired``), and the first of them that is allowed and new
    is taken; if there is none, a neighbour of the best.

    Fitting takes O(N³) time, and the study waits for it. So kernels are fitted each time that there are 12 % more
    scores, each fit from where the one before ended: after 10, 11, ... 16, 18, 20, ... scores, so a replay finds the
    same. If more than ``CONDITIONED`` trials have a score, the process is conditioned on the best half of so many and
    on the latest of the others; of the running ones, on the latest ``RUNNING``.

    If costs count, the expected improvement per second is maximised (Snoek et al., 2012), or that of the hypervolume:
    it is divided by the time of an epoch to the power of 1 - n / ``cooled``, n being the trial's number.
    """

    def __init__(
        self, space: Space, seed: int, objectives: int = 1, cooled: int | None = None, *, random_trials: int = 10
    ) -> None:
        self._space = space
        self._seed = seed
        self._objectives = objectives
        self._cooled = cooled
        self._random_trials = max(random_trials, 2)
        self._costs = Costs(space)
        self._seen = ProposedPoints(space)
        self._encoding = Encoding(space)
        self._scored: list[_Scored] = []
        """The trials with a score, in the order in which they ended."""
        self._running: dict[int, Numbers] = {}
        self._kernels: list[list[Kernel]] = []
        """The kernels fitted so far: for each number of ``_fits``, one for each objective."""

    def ask(self, number: int) -> Point | None:
        """The point that promises most; None if the space is exhausted."""
        source = generator(self._seed, "gp", number)
        if len(self._scored) < self._random_trials:
            return self._seen.unseen(source)
        tried: list[Point] = []
        for row in self._promising(number, source):
            tried.append(self._space.repaired(self._encoding.point(row), source))
            if tried[-1] not in self._seen and self._space.allowed(tried[-1]):
                return tried[-1]
        near = (point for point in self._space.neighbours(tried[0], source) if point not in self._seen)
        return next(near, None) or self._seen.unseen(source)

    def took(self, number: int, seconds: float) -> None:
        """Learn the time of an epoch."""
        if self._cooled is not None:
            self._costs.took(number, seconds)

    def proposed(self, number: int, point: Point) -> None:
        """Trial ``number`` runs at ``point``; the next asks avoid its neighbourhood."""
        self._seen.add(point)
        if self._cooled is not None:
            self._costs.proposed(number, point)
        self._running[number] = self._encoding.row(point)

    def promoted(self, number: int, point: Point) -> None:
        """Trial ``number`` runs again."""
        self._running[number] = self._encoding.row(point)

    def paused(self, number: int, curve: Curve, further: Vector = ()) -> None:
        """Learn from the reports of trial ``number`` so far, as if it were stopped."""
        self.ended(number, "stopped", curve, further)

    def ended(self, number: int, reason: Reason, curve: Curve, further: Vector = ()) -> None:
        """Learn from the reports of trial ``number``, unless it ends while paused: then they were learnt before."""
        if number in self._running:
            self._learn(self._running.pop(number), reason, curve, further)

    def observed(self, point: Point, reason: Reason, curve: Curve, further: Vector = ()) -> None:
        """Learn from a trial of an earlier study."""
        self._learn(self._encoding.row(point), reason, curve, further)

    def _learn(self, row: Numbers, reason: Reason, curve: Curve, further: Vector) -> None:
        if reason in ("completed", "stopped") and curve and all(map(math.isfinite, further)):
            scores = [score for _, score in curve]
            self._scored.append(_Scored(row, (max(scores) if reason == "completed" else scores[-1], *further)))

    def _promising(self, number: int, source: np.random.Generator) -> Numbers:
        """The rows that promise most, the best first."""
        known = _known(self._scored)
        rows_ND, values_NK = _arrays(known)
        running = list(self._running.values())[-RUNNING:]
        running_RD = np.array(running).reshape(-1, rows_ND.shape[1])
        cases = 1 if not running else CASES if self._objectives == 1 else CASES_OF_SEVERAL
        spread_NE, running_RE = self._encoding.spread(rows_ND), self._encoding.spread(running_RD)
        processes = []
        for kernel, values_N in zip(self._fitted(), values_NK.T, strict=True):
            scale_E = np.sqrt(kernel.weights_D[self._encoding.axes])
            drawn_SR = source.standard_normal((cases, len(running)))
            processes.append(Process(kernel, spread_NE * scale_E, values_N, running_RE * scale_E, drawn_SR))
        cases_SPK = np.stack([process.cases_SR for process in processes], axis=2)
        every_SPK = np.concatenate([np.broadcast_to(values_NK, (cases, *values_NK.shape)), cases_SPK], axis=1)
        improvement: Improvement | HypervolumeImprovement
        if self._objectives == 1:
            improvement = Improvement(every_SPK[..., 0].max(axis=1))
        else:
            least_K = values_NK.min(axis=0)
            improvement = HypervolumeImprovement(every_SPK, least_K - 0.1 * np.abs(least_K))
        ahead = best([each.values for each in known], NEAR)
        charged = self._costs.charged(number, self._cooled)
        promises = Promises(self._encoding, processes, improvement.of, charged and charged.of)
        return promises.climbed(source, rows_ND[ahead])

    def _fitted(self) -> list[Kernel]:
        """The kernel of each objective, fitted to the scores of the last number of ``_fits``."""
        kernels = [Kernel.plain(len(self._space.domains))] * self._objectives
        for place, count in enumerate(_fits(self._random_trials, len(self._scored))):
            if place == len(self._kernels):
                rows_ND, values_NK = _arrays(_known(self._scored[:count]))
                spread_NE = self._encoding.spread(rows_ND)
                self._kernels.append(
                    [
                        fitted(spread_NE, self._encoding.starts, values_N, kernel, ITERATIONS)
                        for kernel, values_N in zip(kernels, values_NK.T, strict=True)
                    ]
                )
            kernels = self._kernels[place]
        return kernels


def _fits(first: int, count: int) -> list[int]:
    """The numbers of scores, up to ``count``, after which kernels are fitted."""
    found = [first]
    while (further := found[-1] + max(1, found[-1] // AGAIN)) <= count:
        found.append(further)
    return found


def _known(scored: Sequence[_Scored]) -> list[_Scored]:
    """The trials that the process is conditioned on: all, or the best and the latest of the others."""
    if len(scored) <= CONDITIONED:
        return list(scored)
    ahead = set(best([each.values for each in scored], CONDITIONED // 2))
    others = [place for place in range(len(scored)) if place not in ahead]
    return [scored[place] for place in sorted([*ahead, *others[-(CONDITIONED - len(ahead)) :]])]


def _arrays(known: Sequence[_Scored]) -> tuple[Numbers, Numbers]:
    """The rows of trials, and their values with mean 0 and variance 1."""
    values_NK = np.array([each.values for each in known])
    values_NK = (values_NK - values_NK.mean(axis=0)) / np.maximum(values_NK.std(axis=0), 1e-10)
    return np.array([each.row for each in known]), values_NK
