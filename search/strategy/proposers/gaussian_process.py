"""Bayesian optimisation with a Gaussian process."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from skipstack.data.basis.seeding import generator
from skipstack.search.ledger.events import Reason
from skipstack.search.strategy.objectives.pareto import Vector, best
from skipstack.search.strategy.proposers.ascent import Promises
from skipstack.search.strategy.proposers.encoding import Numbers
from skipstack.search.strategy.proposers.improvement import HypervolumeImprovement, Improvement
from skipstack.search.strategy.proposers.proposer import Curve, ModelBased
from skipstack.search.strategy.proposers.ranks import Rank
from skipstack.search.strategy.proposers.regression import Kernel, Process, fitted
from skipstack.spaces.space import Point, Space

CONDITIONED, RUNNING = 100, 32
"""The maximum number of ended trials, and of running trials, that the process is conditioned on."""

CASES, CASES_OF_SEVERAL = 16, 6
"""The number of draws of the unknown values of running trials, with one objective and with several."""

AGAIN: Final = 8
"""Kernels are fitted again whenever the number of trials with a score has grown by a fraction of 1 / ``AGAIN``."""

ITERATIONS: Final = 12
"""The maximum number of iterations of a fit."""

NEAR: Final = 5
"""The number of best rows that are mutated into candidates."""


@dataclass(frozen=True, slots=True)
class _Scored:
    """A trial with a score. ``row``: its point (``Encoding.row``). ``values``: its values in all objectives."""

    row: Numbers
    values: Vector


@final
class GaussianProcess(ModelBased):
    """Bayesian optimisation: proposes the point with the highest expected improvement under a Gaussian process (Matern
    5/2, one length scale for each axis).

    The logarithm of the expected improvement is maximised. With several objectives, the improvement is the growth of
    the hypervolume that the Pareto front dominates (Ament et al., 2023; Yang et al., 2019). The unknown values of
    running trials are drawn from the process several times, and the improvement is averaged over these draws. Points
    are random until ``random_trials`` trials have a score.

    A completed trial counts with the best score of its curve. A stopped trial counts with its last score, although it
    could have reached more. Unlike proposers that use ranks, a Gaussian process cannot rank it behind the completed
    trials. A paused trial counts like a stopped one, and is added once more when it ends after a promotion. Trials that
    diverged or failed are ignored.

    The process needs a value on every axis. An inactive choice is equally far from each of its values. An inactive
    number is set to the middle of its range. The search for a point does not vary inactive axes. The most promising
    points are repaired if they break the study's own rules (``Space.repaired``), and the first that is allowed and new
    is proposed. If there is none, a new neighbour of the most promising point is proposed. If there is no such
    neighbour, a random point is proposed.

    A fit takes O(N³) time, and the study waits for it. So kernels are fitted again only when the number of scores has
    grown by about 12 %: at 10, 11, ... 16, 18, 20, ... scores. Each fit starts from the previous kernels, so a replay
    finds the same kernels. If more than ``CONDITIONED`` trials have a score, the process is conditioned on
    ``CONDITIONED`` of them. Half of these are the best trials, and half are the latest of the others. Of the running
    trials, the latest ``RUNNING`` are used.

    ``cooled``: None means that the time of a trial does not count. Otherwise the expected improvement of trial number n
    is divided by t to the power of 1 - n / ``cooled``, where t is the predicted time of an epoch (expected improvement
    per second: Snoek et al., 2012).
    """

    def __init__(
        self, space: Space, seed: int, objectives: int = 1, cooled: int | None = None, *, random_trials: int = 10
    ) -> None:
        super().__init__(space, seed, objectives, cooled)
        self._random_trials = max(random_trials, 2)
        self._scored: list[_Scored] = []
        """The trials with a score, in the order in which they ended or paused."""
        self._running: dict[int, Numbers] = {}
        self._kernels: list[list[Kernel]] = []
        """The kernels of each fit so far (``_fits``), one for each objective."""

    def ask(self, number: int) -> Point | None:
        """The point for trial ``number``: the new, allowed point with the highest expected improvement found. If none
        is found, it is a new neighbour of the most promising point or else random. At the beginning it is random. None
        if the space is exhausted.
        """
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

    def promoted(self, number: int, point: Point) -> None:
        """Record that trial ``number`` runs at ``point``. Until it ends, its values are drawn from the process."""
        self._running[number] = self._encoding.row(point)

    def ended(self, number: int, reason: Reason, curve: Curve, further: Vector = ()) -> None:
        """Learn from the reports of trial ``number``, unless it ends while paused: its reports were used already."""
        if number in self._running:
            self._learn(self._running.pop(number), reason, curve, further)

    def observed(self, point: Point, reason: Reason, curve: Curve, further: Vector = ()) -> None:
        """Learn from a trial of an earlier study."""
        self._learn(self._encoding.row(point), reason, curve, further)

    def _learn(self, row: Numbers, reason: Reason, curve: Curve, further: Vector) -> None:
        if (rank := Rank.of_measured(reason, curve, further)) is not None:
            self._scored.append(_Scored(row, rank.objectives))

    def _promising(self, number: int, source: np.random.Generator) -> Numbers:
        """The rows with the highest expected improvement found, the best first."""
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
        """The latest kernel of each objective, after all fits that are due (``_fits``)."""
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
    """The numbers of scores at which kernels are fitted, ascending: ``first``, and further numbers up to ``count``."""
    found = [first]
    while (further := found[-1] + max(1, found[-1] // AGAIN)) <= count:
        found.append(further)
    return found


def _known(scored: Sequence[_Scored]) -> list[_Scored]:
    """The trials that the process is conditioned on: the best and the latest ones, at most ``CONDITIONED``."""
    if len(scored) <= CONDITIONED:
        return list(scored)
    ahead = set(best([each.values for each in scored], CONDITIONED // 2))
    others = [place for place in range(len(scored)) if place not in ahead]
    return [scored[place] for place in sorted([*ahead, *others[-(CONDITIONED - len(ahead)) :]])]


def _arrays(known: Sequence[_Scored]) -> tuple[Numbers, Numbers]:
    """The rows and values of trials. Values are scaled to mean 0 and variance 1 in each objective."""
    values_NK = np.array([each.values for each in known])
    values_NK = (values_NK - values_NK.mean(axis=0)) / np.maximum(values_NK.std(axis=0), 1e-10)
    return np.array([each.row for each in known]), values_NK
