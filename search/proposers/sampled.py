"""Proposers whose answers come from a sampler of Optuna's, over our space, by ask and tell.

Optuna's study lives in memory and holds the history alone. Each ask has a sampler of its own, seeded
by the study's seed and the trial's number, and what it samples is thrown away: the trial enters the
history with the values that were recorded. So a replay samples nothing. Trials are entered when it is next asked,
of those that are over by then in one step each, so that a long ledger is soon replayed.
"""

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
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
    """How a trial ended, in Optuna's words."""

    state: TrialState
    values: Sequence[float] | None = None
    intermediate: Mapping[int, float] = field(default_factory=dict)


NOTHING_LEARNT = Outcome(TrialState.FAIL)


@dataclass(slots=True)
class _Pending:
    """Trial ``number`` runs at ``point``; ``outcome``: how it ended, or paused, if it did."""

    number: int
    point: Point
    outcome: Outcome | None = None


class Sampled(Proposer):
    """What proposers of Optuna's share: the history as its study, and points that are allowed and new.

    A point that is not allowed or was proposed before is sampled anew, up to ``tries`` times in all; then an
    unseen point is drawn at random. ``objectives``: how many there are, all of them maximised.

    ``cooled``: what a point promises is divided by what an epoch takes there to the power of 1 - n / ``cooled``, n
    being the number of the trial: the fewer of so many trials are left, the less its cost counts (cost cooling: Lee et
    al., 2020). None: it does not count. What epochs take is learnt from those of this study (``costs.py``).
    """

    stream: ClassVar[str]
    """Which of the seed's random streams it draws from."""
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
        """Trials that run, that are not yet entered into Optuna's study."""
        self._running: dict[int, optuna.Trial] = {}
        """Those of which it has."""

    @abstractmethod
    def _sampler(self, seed: int, charged: Charged | None) -> optuna.samplers.BaseSampler:
        """A fresh sampler, which subtracts from the logarithm of what it maximises what is ``charged``."""

    @abstractmethod
    def _scored(self, reason: Reason, curve: Curve, further: Vector) -> Outcome:
        """What Optuna learns of a trial that completed or was stopped."""

    def _instead(self, point: Point, source: np.random.Generator) -> Point | None:
        """What is proposed in place of the last point that was sampled; None where the space is exhausted."""
        return self._seen.unseen(source)

    def _history(self) -> optuna.Study:
        """What a sampler is asked for a point in the light of: all that was entered."""
        return self._study

    def _recorded(self, point: Point) -> Point:
        """What Optuna learns of a point: the values of its active axes."""
        return point

    @final
    def ask(self, number: int) -> Point | None:
        """What the sampler proposes; None where the space is exhausted."""
        self._tell_optuna()
        charged = self._charged(number)
        for attempt in range(self.tries):
            point = self._sampled(derive(self._seed, self.stream, number, attempt) % OPTUNA_SEEDS, charged)
            if point not in self._seen and self._space.allowed(point):
                return point
        return self._instead(point, generator(self._seed, self.stream, number))

    @final
    def took(self, number: int, seconds: float) -> None:
        """Learn what an epoch costs."""
        if self._cooled is not None:
            self._costs.took(number, seconds)

    @final
    def proposed(self, number: int, point: Point) -> None:
        """Trial ``number`` runs at ``point``, and the next asks keep apart from it."""
        self._seen.add(point)
        if self._cooled is not None:
            self._costs.proposed(number, self._recorded(point))
        self._run(number, point)

    @final
    def promoted(self, number: int, point: Point) -> None:
        """Trial ``number`` runs again: what becomes of it is another trial at the same point."""
        self._run(number, point)

    @final
    def paused(self, number: int, curve: Curve, further: Vector = ()) -> None:
        """Learn from what trial ``number`` reported so far, as if it were over."""
        self.ended(number, "stopped", curve, further)

    @final
    def ended(self, number: int, reason: Reason, curve: Curve, further: Vector = ()) -> None:
        """Learn from what trial ``number`` reported; those that diverged, that a fault ended, and that lack an
        objective teach nothing, and from one that ends where it was paused there is nothing new.
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
        """What axes are charged for their costs, in the light of all that was reported; None where they are not."""
        weight = 0.0 if self._cooled is None else max(1 - number / self._cooled, 0.0)
        return Charged(self._costs.by_axis(), weight) if weight else None

    def _sampled(self, seed: int, charged: Charged | None) -> Point:
        """What a fresh sampler proposes. The trial it needs is entered as failed: samplers pass those over."""
        study = self._history()
        study.sampler = self._sampler(seed, charged)
        trial = study.ask()
        try:
            return self._space.compose(lambda path, _: self._axes[path].suggest(trial))
        finally:
            study.tell(trial, state=TrialState.FAIL)
            study.sampler = self._recorder


class _Axis:
    """An axis as Optuna has it: a choice is among texts, the JSON of its values."""

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
