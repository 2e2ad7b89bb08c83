"""The tree-structured Parzen estimator (TPE), a proposer that models the densities of better and of other trials."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from skipstack.data.basis.seeding import generator
from skipstack.search.ledger.events import Reason
from skipstack.search.strategy.objectives.pareto import Vector
from skipstack.search.strategy.proposers.costs import Charged
from skipstack.search.strategy.proposers.encoding import Numbers
from skipstack.search.strategy.proposers.parzen import Parzen, Uniform
from skipstack.search.strategy.proposers.proposer import Curve, ModelBased
from skipstack.search.strategy.proposers.ranks import Rank, leading
from skipstack.spaces.space import Point, Space

RANDOM: Final = 10
"""Points are drawn at random until this many trials have a score."""
BETTER: Final = 0.1
"""The fraction of the ended and paused trials that count as the better ones, whose density is l(x)."""
MOST: Final = 25
"""The maximum number of trials in l(x) with one objective, and the number of latest trials with full weight in g(x),
the density of the other trials.
"""
CANDIDATES: Final = 24
"""The number of candidates drawn from l(x), the density of the better trials."""
TRIES: Final = 5
"""The maximum number of attempts to find a new, allowed point before a point is drawn at random."""


@dataclass(slots=True)
class _Trial:
    """A trial to learn from. ``row``: its point (``Encoding.row``). ``rank``: its rank key (``ranks.py``); None
    while it runs.
    """

    row: Numbers
    rank: Rank | None = None


@final
class Tpe(ModelBased):
    """Multivariate TPE (Bergstra et al., 2011; Falkner et al., 2018), asynchronous, as in Optuna 5.

    Points are random until ten trials have a score. For each further point, 24 candidates are drawn from the density
    l(x) of the better trials. The candidate with the largest l(x) / g(x) is taken. g(x) is the density of the other
    trials, in which earlier trials weigh less. Axes that are active together are modelled together. The values of a
    choice are categories without an order; an ordinal is a number in equal steps. A running trial counts among the
    other trials ("constant liar"), so that parallel trials differ.

    Trials are ordered by ``ranks.py``: stopped trials rank behind the completed ones, by their number of epochs and
    last score. With several objectives, trials are ordered by their non-dominated ranks and, within a rank, by the
    epsilon-net. Trials that diverged or failed are ignored. A trial that is paused at a rung counts as stopped. If it
    is promoted, it gets a second entry. The first entry stays, so the trial can count for both densities. This does
    little harm: the order of points by l(x) / g(x) stays the same if g is the density of all trials.

    ``cooled``: None means that the time of a trial does not count. Otherwise the candidate with the largest expected
    improvement per second is taken. The expected improvement is proportional to 1 / (y + (1 - y) g(x) / l(x)) (Bergstra
    et al., 2011, equation 15). y is the fraction of the better trials. This improvement is nearly constant where l(x)
    is far above g(x), so the time decides there. For trial number n, the expected improvement is divided by the time of
    an epoch to the power of 1 - n / ``cooled``. So the time counts less with each trial (cost cooling: Lee et al.,
    2020). The time is predicted from this study's epochs (``costs.py``).

    A point that breaks the study's own rules is replaced by a near point that satisfies them (``Space.repaired``). If
    the point is still not allowed, or was proposed before, candidates are drawn again; after ``TRIES`` attempts the
    point is drawn at random.

    Departures from Optuna: with several objectives, Optuna cuts a rank by hypervolume and does not order stopped
    trials. An axis that was active in no ended or paused trial yet is drawn as its domain says.
    """

    def __init__(self, space: Space, seed: int, objectives: int = 1, cooled: int | None = None) -> None:
        super().__init__(space, seed, objectives, cooled)
        self._trials: list[_Trial] = []
        """The trials that run or have a score, in the order of their starts; a promoted trial has two entries."""
        self._running: dict[int, _Trial] = {}
        by_path = sorted(enumerate(space.domains.items()), key=lambda each: each[1][0])
        varied = {axis: domain for axis, (_, domain) in by_path if not domain.finite or len(domain.values) > 1}
        self._varied = dict(sorted(varied.items(), key=lambda each: each[1].ordered))
        """The domain of each axis with more than one value, by the axis's number; choices come first."""

    def ask(self, number: int) -> Point | None:
        """The most promising candidate for trial ``number``, or a random point. None if the space is exhausted."""
        source = generator(self._seed, "tpe", number)
        over = [trial.rank for trial in self._trials if trial.rank is not None]
        if len(over) >= RANDOM:
            groups, charged = self._learnt(over), self._costs.charged(number, self._cooled)
            for _ in range(TRIES):
                row = np.full(len(self._space.domains), np.nan)
                for group in groups:
                    row[group.axes] = group.best(source, charged)
                if (unknown := np.isnan(row)).any():
                    row[unknown] = self._encoding.random(source, 1)[0, unknown]
                point = self._space.repaired(self._encoding.point(row), source)
                if point not in self._seen and self._space.allowed(point):
                    return point
        return self._seen.unseen(source)

    def promoted(self, number: int, point: Point) -> None:
        """Record that trial ``number`` runs at ``point``, which makes points near it less likely. A trial that was
        paused gets a second entry at the same point.
        """
        self._running[number] = _Trial(self._encoding.row(point))
        self._trials.append(self._running[number])

    def ended(self, number: int, reason: Reason, curve: Curve, further: Vector = ()) -> None:
        """Learn from the reports of trial ``number``, unless it ends while paused: its reports were used already."""
        if (trial := self._running.pop(number, None)) is not None:
            trial.rank = Rank.of_measured(reason, curve, further)
            if trial.rank is None:
                self._trials = [each for each in self._trials if each is not trial]

    def observed(self, point: Point, reason: Reason, curve: Curve, further: Vector = ()) -> None:
        """Learn from a trial of an earlier study."""
        if (rank := Rank.of_measured(reason, curve, further)) is not None:
            self._trials.append(_Trial(self._encoding.row(point), rank))

    def _learnt(self, over: Sequence[Rank]) -> list["_Group"]:
        """Estimate the densities l(x) of the better and g(x) of the other trials for each group of axes. ``over``: the
        rank keys of ended and paused trials.
        """
        rows_ND = np.array([trial.row for trial in self._trials])
        over_N = np.array([trial.rank is not None for trial in self._trials])
        count = math.ceil(BETTER * len(over))
        better_N = np.zeros(len(rows_ND), dtype=bool)
        better_N[np.nonzero(over_N)[0][leading(over, min(count, MOST) if self._objectives == 1 else count)]] = True
        groups = self._groups(~np.isnan(rows_ND[over_N]))
        return [
            _Group(axes, self._density(axes, rows_ND[better_N], ramp=False), self._density(axes, rows_ND[~better_N]))
            for axes in groups
        ]

    def _groups(self, active_ND: NDArray[np.bool_]) -> list[list[int]]:
        """Group the axes with more than one value that were active in the same trials (``active_ND``)."""
        found: list[set[int]] = []
        for active_D in dict.fromkeys(map(tuple, active_ND.tolist())):
            axes = {axis for axis in self._varied if active_D[axis]}
            parts = [part for each in found for part in (each & axes, each - axes)]
            found = [part for part in (*parts, axes.difference(*found)) if part]
        return [[axis for axis in self._varied if axis in each] for each in found]

    def _density(self, axes: Sequence[int], rows_ND: Numbers, *, ramp: bool = True) -> Parzen:
        """Estimate the density of the trials in which all of ``axes`` are active. ``rows_ND``: the trials, ordered by
        their starts. ``ramp``: whether earlier trials weigh less: the latest ``MOST`` trials have weight 1, and the
        weights of the earlier ones rise linearly to 1.
        """
        rows_NA = rows_ND[:, axes]
        rows_NA = rows_NA[~np.isnan(rows_NA).any(axis=1)]
        count, weights_N = len(rows_NA), np.ones(len(rows_NA))
        if ramp and count > MOST:
            weights_N[:-MOST] = np.linspace(1 / count, 1.0, count - MOST)
        return Parzen([self._varied[axis] for axis in axes], rows_NA, weights_N)


@final
@dataclass(frozen=True, slots=True)
class _Group:
    """A group of axes modelled together. ``better``: their density l(x). ``others``: their density g(x)."""

    axes: list[int]
    better: Parzen
    others: Parzen

    def best(self, source: Uniform, charged: Charged | None) -> Numbers:
        """Draw ``CANDIDATES`` rows from l(x), and return the most promising one. ``charged``: the time penalty."""
        rows_MA = self.better.drawn(source, CANDIDATES)
        value_M = self.better.log(rows_MA) - self.others.log(rows_MA)
        if charged is not None:
            value_M = -np.logaddexp(math.log(BETTER), math.log(1 - BETTER) - value_M)
            value_M -= sum(charged.of(axis, x_M) for axis, x_M in zip(self.axes, rows_MA.T, strict=True))
        best: Numbers = rows_MA[np.argmax(value_M)]
        return best
