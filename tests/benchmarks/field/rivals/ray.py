"""Ray Tune: its ASHA, with random points or those of Optuna's TPE by Ray's own ``OptunaSearch``.

No cluster runs: the methods of scheduler and searcher are called as Ray's loop calls them.
"""

from typing import Any

import numpy as np
from ray import tune
from ray.tune.experiment import Trial
from ray.tune.schedulers import ASHAScheduler, TrialScheduler
from ray.tune.search.optuna import OptunaSearch

from tests.benchmarks.field.rivals.child import Rival, serve_rival


class RayTune(Rival):
    """Methods: ``random, ASHA`` and ``Optuna, ASHA``."""

    def start(self, method: str) -> None:
        self._space = {name: domain(*axis) for name, axis in self.axes.items()}
        self._scheduler = ASHAScheduler(metric="score", mode="max", max_t=self.epochs)
        self._trials: dict[int, Trial] = {}
        self._source = np.random.RandomState(self.seed)
        self._searcher = None
        if method.startswith("Optuna"):
            self._searcher = OptunaSearch(self._space, metric="score", mode="max", seed=self.seed)

    def ask(self, number: int) -> dict[str, Any]:
        trial = self._trials[number] = Trial("recorded", trial_id=f"{number:05d}", stub=True)
        self._scheduler.on_trial_add(None, trial)
        if self._searcher is not None:
            return self._searcher.suggest(trial.trial_id)
        return {name: each.sample(random_state=self._source) for name, each in self._space.items()}

    def goes_on(self, number: int, epoch: int, score: float) -> bool:
        trial, result = self._trials[number], {"training_iteration": epoch, "score": score}
        answer = self._scheduler.on_trial_result(None, trial, result)
        if answer == TrialScheduler.CONTINUE and self._searcher is not None:
            self._searcher.on_trial_result(trial.trial_id, result)
        return answer == TrialScheduler.CONTINUE

    def end(self, number: int, scores: list[float], *, stopped: bool) -> None:
        trial, result = self._trials.pop(number), {"training_iteration": len(scores), "score": scores[-1]}
        if not stopped:
            self._scheduler.on_trial_result(None, trial, result)
        if self._searcher is not None:
            self._searcher.on_trial_complete(trial.trial_id, result)


def domain(kind: str, low: Any, high: Any) -> Any:
    match kind:
        case "choice":
            return tune.choice(list(range(low)))
        case "integer":
            return tune.randint(low, high + 1)
        case "log":
            return tune.loguniform(low, high)
    return tune.uniform(low, high)


if __name__ == "__main__":
    serve_rival(RayTune)
