"""Proposers that use a sampler of Optuna on our space, by ask and tell.

Optuna's study is in memory and holds only the history. Each ask uses a new sampler, seeded by the study's seed and the
trial's number, and its sampled trial is discarded: trials enter the history with their recorded values. So a replay
samples nothing. Trials are entered at the next ask, ended ones in one step each, so that a long ledger replays fast.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, final

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState, create_trial

from skipstack.data.basis.frozen import canonical_json
from skipstack.data.basis.seeding import derive, generator
from skipstack.search.ledger.events import Reason
from skipstack.search.objectives.pareto import Vector
from skipstack.search.proposers.costs import Charged, Costs
from skipstack.search.proposers.proposer import Curve, Proposer, Seen
from skipstack.spaces.domains import Choice, Domain, Integer, Json, Log, Real
from skipstack.spaces.space import Point, Space

OPTUNA_SEEDS = 2**32
"""Optuna's samplers take seeds below this."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a trial in Optuna's terms."""

    state: TrialState
    values: Sequence[float] | None = None
    intermediate: Mapping[int, float] = field(default_factory=dict)


NOTHING_LEARNT = Outcome(TrialState.FAIL)


@dataclass(slots=True)
class _Pending:
    """Trial ``number`` at ``point``, not yet in Optuna's study; ``outcome``: its end or pause, if any."""

    number: int
    point: Point
    outcome: Outcome | None = None


class Sampled(Proposer):
    """Base of the proposers that use Optuna: keeps the history as an Optuna study, and proposes allowed, new points.

    A point that breaks the study's own rules is replaced by one near it that keeps them (``Space.repaired``), since a
    sampler does not know them. A point that is still not allowed, or was proposed before, is sampled again, up to
    ``tries`` times in all; then a new point is drawn at random. ``objectives``: their number; all are maximised.

    ``cooled``: the promise of a point is divided by the time of an epoch there to the power of 1 - n / ``cooled``, n
    being the trial's number: the fewer trials are left, the less the time counts (cost cooling: Lee et al., 2020).
    None: the time does not count. The time is predicted from this study's epochs (``costs.py``).
    """

    stream: ClassVar[str]
    """The name of its random stream."""
    tries: ClassVar[int]

    def __init__(self, space: Space, seed: int, objectives: int = 1, cooled: int | None = None) -> None:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._space = space
        self._seed = seed
        self._objectives = objectives
        self._cooled = cooled
        self._costs = Costs(space)
        self._seen = Seen(space)
        self._axes = {path: _Axis(path, domain) for path, domain in space.domains.items()}
        self._recorder = optuna.samplers.RandomSampler(seed=0)  # never asked: recorded trials have their values
        self._study = optuna.create_study(directions=["maximize"] * objectives, sampler=self._recorder)
        self._pending: list[_Pending] = []
        self._open: dict[int, _Pending] = {}
        """Running trials that are not yet in Optuna's study."""
        self._running: dict[int, optuna.Trial] = {}
        """Running trials in Optuna's study."""

    @abstractmethod
    def _samplers(self, charged: Charged | None) -> Callable[[int], optuna.samplers.BaseSampler]:
        """Makes the samplers of one ask, by their seeds: all see the same history.

        They subtract the penalty ``charged`` from the logarithm of their acquisition function.
        """

    @abstractmethod
    def _scored(self, reason: Reason, curve: Curve, further: Vector) -> Outcome:
        """The outcome of a completed or stopped trial for Optuna."""

    def _instead(self, point: Point, source: np.random.Generator) -> Point | None:
        """The replacement of the last sampled point; None if the space is exhausted."""
        return self._seen.unseen(source)

    def _history(self) -> optuna.Study:
        """The study that the sampler sees: all entered trials."""
        return self._study

    def _recorded(self, point: Point) -> Point:
        """The values of a point for Optuna: those of its active axes."""
        return point

    @final
    def ask(self, number: int) -> Point | None:
        """A point from the sampler; None if the space is exhausted."""
        self._tell_optuna()
        sampler = self._samplers(self._charged(number))
        for attempt in range(self.tries):
            point = self._sampled(sampler(derive(self._seed, self.stream, number, attempt) % OPTUNA_SEEDS))
            point = self._space.repaired(point, generator(self._seed, self.stream, "repaired", number, attempt))
            if point not in self._seen and self._space.allowed(point):
                return point
        return self._instead(point, generator(self._seed, self.stream, number))

    @final
    def took(self, number: int, seconds: float) -> None:
        """Learn the time of an epoch."""
        if self._cooled is not None:
            self._costs.took(number, seconds)

    @final
    def proposed(self, number: int, point: Point) -> None:
        """Trial ``number`` runs at ``point``; the next asks avoid its neighbourhood."""
        self._seen.add(point)
        if self._cooled is not None:
            self._costs.proposed(number, self._recorded(point))
        self._run(number, point)

    @final
    def promoted(self, number: int, point: Point) -> None:
        """Trial ``number`` runs again; for Optuna it is another trial at the same point."""
        self._run(number, point)

    @final
    def paused(self, number: int, curve: Curve, further: Vector = ()) -> None:
        """Learn from the reports of trial ``number`` so far, as if it were stopped."""
        self.ended(number, "stopped", curve, further)

    @final
    def ended(self, number: int, reason: Reason, curve: Curve, further: Vector = ()) -> None:
        """Learn from the reports of trial ``number``.

        Trials that diverged, failed or lack an objective are ignored; one that ends while paused was learnt before.
        """
        outcome = self._outcome(reason, curve, further)
        if (pending := self._open.pop(number, None)) is not None:
            pending.outcome = outcome
        elif (trial := self._running.pop(number, None)) is not None:
            for epoch, score in outcome.intermediate.items():
                trial.report(score, epoch)
            self._study.tell(trial, outcome.values, outcome.state)

    @final
    def observed(self, point: Point, reason: Reason, curve: Curve, further: Vector = ()) -> None:
        """Learn from what an earlier study reported."""
        self._pending.append(_Pending(-1, point, self._outcome(reason, curve, further)))

    def _run(self, number: int, point: Point) -> None:
        self._open[number] = _Pending(number, point)
        self._pending.append(self._open[number])

    def _outcome(self, reason: Reason, curve: Curve, further: Vector) -> Outcome:
        scored = reason in ("completed", "stopped") and curve and all(map(math.isfinite, further))
        return self._scored(reason, curve, further) if scored else NOTHING_LEARNT

    def _tell_optuna(self) -> None:
        """Enter the pending trials, in the order of proposal; no sampler is asked for anything."""
        for pending in self._pending:
            recorded = self._recorded(pending.point)
            labels = {path: self._axes[path].label(value) for path, value in recorded.items()}
            if pending.outcome is None:
                self._study.enqueue_trial(labels)
                trial = self._running[pending.number] = self._study.ask()
                for path in recorded:
                    self._axes[path].suggest(trial)
            else:
                self._study.add_trial(
                    create_trial(
                        state=pending.outcome.state,
                        values=pending.outcome.values,
                        params=labels,
                        distributions={path: self._axes[path].distribution for path in recorded},
                        intermediate_values=dict(pending.outcome.intermediate),
                    )
                )
        self._pending.clear()
        self._open.clear()

    def _charged(self, number: int) -> Charged | None:
        """The penalty for the time of an epoch, from all reports so far; None if time does not count."""
        weight = 0.0 if self._cooled is None else max(1 - number / self._cooled, 0.0)
        return Charged(self._costs.by_axis(), weight) if weight else None

    def _sampled(self, sampler: optuna.samplers.BaseSampler) -> Point:
        """A point from a new sampler. The trial that it needs is entered as failed, which samplers ignore."""
        study = self._history()
        study.sampler = sampler
        trial = study.ask()
        try:
            return self._space.compose(lambda path, _: self._axes[path].suggest(trial))
        finally:
            study.tell(trial, state=TrialState.FAIL)
            study.sampler = self._recorder


class _Axis:
    """An axis in Optuna's terms; the categories of a choice are the JSON texts of its values."""

    def __init__(self, path: str, domain: Domain) -> None:
        self._path = path
        self._domain = domain
        self._values = {canonical_json(value): value for value in domain.values} if isinstance(domain, Choice) else {}

    def suggest(self, trial: optuna.Trial) -> Json:
        match self._domain:
            case Choice():
                return self._values[trial.suggest_categorical(self._path, tuple(self._values))]
            case Integer(low, high):
                return trial.suggest_int(self._path, low, high)
            case Real(low, high):
                return trial.suggest_float(self._path, low, high)
            case Log(low, high):
                return trial.suggest_float(self._path, low, high, log=True)

    @cached_property
    def distribution(self) -> BaseDistribution:
        match self._domain:
            case Choice():
                return CategoricalDistribution(tuple(self._values))
            case Integer(low, high):
                return IntDistribution(low, high)
            case Real(low, high):
                return FloatDistribution(low, high)
            case Log(low, high):
                return FloatDistribution(low, high, log=True)

    def label(self, value: Json) -> Json:
        return canonical_json(value) if isinstance(self._domain, Choice) else value
