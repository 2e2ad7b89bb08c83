"""Optuna's own search over recorded curves: its TPE, which chooses the trials, and a pruner, which stops them.

Both are as Optuna's documentation makes them: ``create_study`` with a sampler and a pruner, ``report`` and
``should_prune`` after each epoch. What the sampler asks for is not recorded, so it is told of the nearest recorded
trial instead: the trial that asked is marked as failed, which samplers and pruners pass over, and another one has the
recorded values.
"""

import json
from typing import Final

import optuna
from optuna.trial import TrialState

from skipstack.data.basis.frozen import canonical_json
from skipstack.search.api.simulation.recordings import RecordedSpace
from skipstack.spaces.domains import Choice, Domain, Integer, Json, Log, Real
from skipstack.spaces.space import Point
from tests.benchmarks.rivals.replayed import Rival

PRUNERS: Final = {
    "median pruner": optuna.pruners.MedianPruner,
    "successive halving": optuna.pruners.SuccessiveHalvingPruner,
}
"""Each with what it has by default: the median pruner lets five trials end first and then compares after each epoch;
successive halving has its rungs after 1 and 4 epochs, where one in four goes on."""


class OptunaSearch(Rival):
    """TPE and a pruner, the best score of a trial being its value."""

    def __init__(self, pruner: str, seed: int) -> None:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._study = optuna.create_study(
            direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed), pruner=PRUNERS[pruner]()
        )
        self._trials: dict[int, optuna.Trial] = {}

    def begin(self, number: int, space: RecordedSpace) -> Point:
        """What the sampler asks for, as far as it was recorded."""
        asked = self._study.ask()
        point = space.compose(lambda path, domain: _suggested(asked, path, domain))
        self._study.tell(asked, state=TrialState.FAIL)
        self._study.enqueue_trial({path: _label(space.domains[path], value) for path, value in point.items()})
        trial = self._trials[number] = self._study.ask()
        for path in point:
            _suggested(trial, path, space.domains[path])
        return point

    def goes_on(self, number: int, epoch: int, score: float) -> bool:
        """Unless the pruner prunes."""
        self._trials[number].report(score, epoch)
        return not self._trials[number].should_prune()

    def end(self, number: int, scores: list[float], *, stopped: bool) -> None:
        """A whole trial returns its best score."""
        trial = self._trials.pop(number)
        if stopped:
            self._study.tell(trial, state=TrialState.PRUNED)
        else:
            trial.report(scores[-1], len(scores))
            self._study.tell(trial, max(scores))


def _suggested(trial: optuna.Trial, path: str, domain: Domain) -> Json:
    match domain:
        case Choice(values):
            value: Json = json.loads(trial.suggest_categorical(path, [canonical_json(value) for value in values]))
            return value
        case Integer(low, high):
            return trial.suggest_int(path, low, high)
        case Real(low, high):
            return trial.suggest_float(path, low, high)
        case Log(low, high):
            return trial.suggest_float(path, low, high, log=True)


def _label(domain: Domain, value: Json) -> Json:
    return canonical_json(value) if isinstance(domain, Choice) else value
