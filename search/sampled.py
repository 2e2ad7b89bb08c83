"""Proposers whose answers come from a sampler of Optuna's, over our space, by ask and tell.

Optuna's study lives in memory and holds the history alone. Each ask has a sampler of its own, seeded
by the study's seed and the trial's number, and what it samples is thrown away: the trial enters the
history by ``proposed``, with the values that were recorded. So a replay samples nothing.
"""

import math
from abc import abstractmethod
from typing import ClassVar, final

import numpy as np
import optuna
from optuna.trial import TrialState

from data.frozen import canonical_json
from data.seeding import derive, generator
from search.events import Reason
from search.pareto import Vector
from search.proposer import Curve, Proposer, Seen
from spaces.domains import Choice, Domain, Integer, Json, Log, Real
from spaces.space import Point, Space

OPTUNA_SEEDS = 2**32
"""Optuna's samplers take seeds below this."""


class Sampled(Proposer):
    """What proposers of Optuna's share: the history as its study, and points that are allowed and new.

    A point that is not allowed or was proposed before is sampled anew, up to ``tries`` times in all; then an
    unseen point is drawn at random. ``objectives``: how many there are, all of them maximised.
    """

    stream: ClassVar[str]
    """Which of the seed's random streams it draws from."""
    tries: ClassVar[int]

    def __init__(self, space: Space, seed: int, objectives: int = 1) -> None:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._space = space
        self._seed = seed
        self._objectives = objectives
        self._seen = Seen(space)
        self._axes = {path: _Axis(path, domain) for path, domain in space.domains.items()}
        self._recorder = optuna.samplers.RandomSampler(seed=0)  # never asked: recorded trials have their values
        self._study = optuna.create_study(directions=["maximize"] * objectives, sampler=self._recorder)
        self._running: dict[int, optuna.Trial] = {}

    @abstractmethod
    def _sampler(self, seed: int) -> optuna.samplers.BaseSampler:
        """A fresh sampler."""

    @abstractmethod
    def _tell(self, trial: optuna.Trial, reason: Reason, curve: Curve, further: Vector) -> None:
        """Tell Optuna how a trial that has a score ended: completed or stopped."""

    def _instead(self, point: Point, source: np.random.Generator) -> Point | None:
        """What is proposed in place of the last point that was sampled; None where the space is exhausted."""
        return self._seen.unseen(source)

    def _recorded(self, point: Point) -> Point:
        """What Optuna is told of a point: the values of its active axes."""
        return point

    @final
    def ask(self, number: int) -> Point | None:
        """What the sampler proposes; None where the space is exhausted."""
        for attempt in range(self.tries):
            point = self._sampled(derive(self._seed, self.stream, number, attempt) % OPTUNA_SEEDS)
            if point not in self._seen and self._space.allowed(point):
                return point
        return self._instead(point, generator(self._seed, self.stream, number))

    @final
    def proposed(self, number: int, point: Point) -> None:
        """Trial ``number`` runs at ``point``, and the next asks keep apart from it."""
        self._seen.add(point)
        self._running[number] = self._entered(point)

    @final
    def ended(self, number: int, reason: Reason, curve: Curve, further: Vector = ()) -> None:
        """Learn from what trial ``number`` reported; failed and diverged ones, and any that lack an objective, teach
        nothing."""
        self._learn(self._running.pop(number), reason, curve, further)

    @final
    def observed(self, point: Point, reason: Reason, curve: Curve, further: Vector = ()) -> None:
        """Learn from what an earlier study reported."""
        self._learn(self._entered(point), reason, curve, further)

    def _learn(self, trial: optuna.Trial, reason: Reason, curve: Curve, further: Vector) -> None:
        if reason in ("completed", "stopped") and curve and all(map(math.isfinite, further)):
            self._tell(trial, reason, curve, further)
        else:
            self._study.tell(trial, state=TrialState.FAIL)

    def _entered(self, point: Point) -> optuna.Trial:
        """A running trial at ``point``, without asking a sampler for anything."""
        recorded = self._recorded(point)
        self._study.enqueue_trial({path: self._axes[path].label(value) for path, value in recorded.items()})
        trial = self._study.ask()
        for path in recorded:
            self._axes[path].suggest(trial)
        return trial

    def _sampled(self, seed: int) -> Point:
        """What a fresh sampler proposes. The trial it needs is told as failed: samplers pass those over."""
        self._study.sampler = self._sampler(seed)
        trial = self._study.ask()
        try:
            return self._space.compose(lambda path, _: self._axes[path].suggest(trial))
        finally:
            self._study.tell(trial, state=TrialState.FAIL)
            self._study.sampler = self._recorder


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

    def label(self, value: Json) -> Json:
        return canonical_json(value) if isinstance(self._domain, Choice) else value
