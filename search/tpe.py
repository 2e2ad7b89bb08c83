"""The tree-structured Parzen estimator: Optuna's sampler over our space, by ask and tell.

Optuna's study lives in memory and holds the history alone. Each ask has a sampler of its own, seeded
by the study's seed and the trial's number, and what it samples is thrown away: the trial enters the
history by ``proposed``, with the values that were recorded. So a replay samples nothing; and Optuna hears
of trials when it is next asked, of those that are over by then in one step, so that a long ledger is soon replayed.
"""

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import final

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.exceptions import ExperimentalWarning
from optuna.trial import TrialState, create_trial

from data.frozen import canonical_json
from data.seeding import derive, generator
from search.events import Reason
from search.proposer import Curve, Proposer, Seen
from spaces.domains import Choice, Domain, Integer, Json, Log, Real
from spaces.space import Point, Space

TRIES = 5
"""How often the sampler is asked for an allowed, new point before one is drawn at random."""

OPTUNA_SEEDS = 2**32
"""Optuna's samplers take seeds below this."""


@final
class Tpe(Proposer):
    """Multivariate TPE (Bergstra et al., 2011; Falkner et al., 2018), asynchronous.

    Points are drawn from the density l(x) of the better trials, and the one of 24 with the largest
    l(x) / g(x) is taken, g being the density of the others; the first ten trials are random. Axes that are
    active together are modelled together. A running trial counts among the others ("constant liar"), so
    that trials in parallel keep apart. A completed trial counts with the best score of its curve; a stopped
    one ranks behind the completed ones, by how far it came and its last score; those that diverged or that a
    fault ended teach nothing. The values of a choice are categories without an order. A trial that is paused at a rung
    counts as stopped there, and, if it is promoted, once more as what becomes of it: its earlier entry falls among the
    others of l(x) / g(x), whose order by x is the same whether g is the density of the others or of all.

    A point that is not allowed or was proposed before is sampled anew, at most ``TRIES`` times; then an
    unseen point is drawn at random.
    """

    def __init__(self, space: Space, seed: int) -> None:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._space = space
        self._seed = seed
        self._seen = Seen(space)
        self._axes = {path: _Axis(path, domain) for path, domain in space.domains.items()}
        self._recorder = optuna.samplers.RandomSampler(seed=0)  # never asked: recorded trials have their values
        self._study = optuna.create_study(direction="maximize", sampler=self._recorder)
        self._unheard: list[_Told] = []
        self._open: dict[int, _Told | optuna.Trial] = {}

    def ask(self, number: int) -> Point | None:
        """The point with the largest expected improvement; None where the space is exhausted."""
        self._tell_optuna()
        for attempt in range(TRIES):
            point = self._sampled(derive(self._seed, "tpe", number, attempt) % OPTUNA_SEEDS)
            if point not in self._seen and self._space.allowed(point):
                return point
        return self._seen.unseen(generator(self._seed, "tpe", number))

    def proposed(self, number: int, point: Point) -> None:
        """Trial ``number`` runs at ``point``, and the next asks keep apart from it."""
        self._seen.add(point)
        self._run(number, point)

    def paused(self, number: int, curve: Curve) -> None:
        """Learn from what trial ``number`` reported so far, as if it were over."""
        self.ended(number, "stopped", curve)

    def promoted(self, number: int, point: Point) -> None:
        """Trial ``number`` runs again."""
        self._run(number, point)

    def _run(self, number: int, point: Point) -> None:
        self._open[number] = told = _Told(number, point)
        self._unheard.append(told)

    def ended(self, number: int, reason: Reason, curve: Curve) -> None:
        """Learn from what trial ``number`` reported; from one that ends where it was paused there is nothing new."""
        entry = self._open.pop(number, None)
        if entry is None:
            return
        if isinstance(entry, _Told):
            entry.reason, entry.curve = reason, curve
            return
        state, value = _outcome(reason, curve)
        if state != TrialState.FAIL:
            for epoch, score in curve:
                entry.report(score, epoch)
        self._study.tell(entry, value, state)

    def _tell_optuna(self) -> None:
        """Enter the trials that it has not heard of, in the order in which they began."""
        for told in self._unheard:
            labels = {path: self._axes[path].label(value) for path, value in told.point.items()}
            if told.reason is None:
                self._study.enqueue_trial(labels)
                trial = self._open[told.number] = self._study.ask()
                for path in told.point:
                    self._axes[path].suggest(trial)
            else:
                state, value = _outcome(told.reason, told.curve)
                self._study.add_trial(
                    create_trial(
                        state=state,
                        value=value,
                        params=labels,
                        distributions={path: self._axes[path].distribution for path in told.point},
                        intermediate_values=dict(told.curve) if state != TrialState.FAIL else {},
                    )
                )
        self._unheard.clear()

    def _sampled(self, seed: int) -> Point:
        """What a fresh sampler proposes. The trial it needs is told as failed: the estimator passes those over."""
        self._study.sampler = _sampler(seed)
        trial = self._study.ask()
        try:
            return self._space.compose(lambda path, _: self._axes[path].suggest(trial))
        finally:
            self._study.tell(trial, state=TrialState.FAIL)
            self._study.sampler = self._recorder


@dataclass(slots=True)
class _Told:
    """A trial that runs at ``point``, and how that ended, if it did."""

    number: int
    point: Point
    reason: Reason | None = None
    curve: Curve = ()


def _outcome(reason: Reason, curve: Curve) -> tuple[TrialState, float | None]:
    """How a trial ended, in Optuna's words."""
    match reason:
        case "completed":
            return TrialState.COMPLETE, max(score for _, score in curve)
        case "stopped":
            return TrialState.PRUNED, None
        case _:
            return TrialState.FAIL, None


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


def _sampler(seed: int) -> optuna.samplers.TPESampler:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)  # group, in Optuna since 2.8
        return optuna.samplers.TPESampler(seed=seed, multivariate=True, group=True, constant_liar=True)
