"""Optuna: its samplers and pruners, everything at its defaults but for ``constant_liar`` beside other workers, which
its documentation advises.
"""

from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState

from tests.benchmarks.field.rivals.child import Axis, Rival, serve_rival


class Optuna(Rival):
    """Methods: ``TPE``, ``GP``, ``TPE, median`` and ``TPE, Hyperband``."""

    def start(self, method: str) -> None:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        sampler, _, pruner = method.partition(", ")
        self._study = optuna.create_study(
            study_name=f"field {self.seed}",  # Hyperband draws a trial's bracket from it, and by default it is random
            direction="maximize",
            sampler=optuna.samplers.GPSampler(seed=self.seed)
            if sampler == "GP"
            else optuna.samplers.TPESampler(seed=self.seed, constant_liar=self.workers > 1),
            pruner={
                "": optuna.pruners.NopPruner(),
                "median": optuna.pruners.MedianPruner(),
                "Hyperband": optuna.pruners.HyperbandPruner(max_resource=self.epochs),
            }[pruner],
        )
        self._space = {name: distribution(axis) for name, axis in self.axes.items()}
        self._trials: dict[int, optuna.Trial] = {}

    def ask(self, number: int) -> dict[str, Any]:
        self._trials[number] = self._study.ask(self._space)
        return self._trials[number].params

    def begin(self, number: int, point: dict[str, Any]) -> None:
        """The trial that asked fails, which samplers pass over, and another one has the point."""
        asked = self._trials[number]
        self._study.tell(asked, state=TrialState.FAIL)
        self._study.enqueue_trial({**asked.params, **point})
        self._trials[number] = self._study.ask(self._space)

    def goes_on(self, number: int, epoch: int, score: float) -> bool:
        self._trials[number].report(score, epoch)
        return not self._trials[number].should_prune()

    def end(self, number: int, scores: list[float], *, stopped: bool) -> None:
        trial = self._trials.pop(number)
        if stopped:
            self._study.tell(trial, state=TrialState.PRUNED)
        else:
            self._study.tell(trial, max(scores))


def distribution(axis: Axis) -> BaseDistribution:
    match axis:
        case "choice", count, _:
            return CategoricalDistribution(range(count))
        case "integer", low, high:
            return IntDistribution(low, high)
        case kind, low, high:
            return FloatDistribution(low, high, log=kind == "log")


if __name__ == "__main__":
    serve_rival(Optuna)
