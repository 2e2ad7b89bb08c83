"""Syne Tune: ASHA with random points, with CQR and with BORE; and CQR and BORE where nothing is stopped."""

from datetime import datetime
from typing import Any

from syne_tune import config_space
from syne_tune.backend.trial_status import Trial
from syne_tune.optimizer.baselines import ASHA, ASHABORE, ASHACQR, BORE, CQR
from syne_tune.optimizer.scheduler import SchedulerDecision

from tests.benchmarks.field.rivals.child import Rival, serve_rival

SINGLE = {"CQR": CQR, "BORE": BORE}
STOPPING = {"random, ASHA": ASHA, "CQR, ASHA": ASHACQR, "BORE, ASHA": ASHABORE}


class SyneTune(Rival):
    """Methods: those of ``SINGLE`` and ``STOPPING``."""

    def start(self, method: str) -> None:
        options: dict[str, Any] = {"metric": "score", "do_minimize": False, "random_seed": self.seed}
        self._space = {name: domain(*axis) for name, axis in self.axes.items()}
        if method in STOPPING:
            options |= {"time_attr": "epoch", "max_t": self.epochs}
        self._scheduler = {**SINGLE, **STOPPING}[method](self._space, **options)
        self._trials: dict[int, Trial] = {}

    def ask(self, number: int) -> dict[str, Any] | None:
        asked = self._scheduler.suggest()
        if asked is None:
            return None
        self._trials[number] = Trial(number, asked.config, datetime.now())
        self._scheduler.on_trial_add(self._trials[number])
        return asked.config

    def begin(self, number: int, point: dict[str, Any]) -> None:
        own = self._trials[number]
        self._trials[number] = Trial(number, {**own.config, **point}, own.creation_time)

    def goes_on(self, number: int, epoch: int, score: float) -> bool:
        answer = self._scheduler.on_trial_result(self._trials[number], {"score": score, "epoch": epoch})
        return answer == SchedulerDecision.CONTINUE

    def end(self, number: int, scores: list[float], *, stopped: bool) -> None:
        trial = self._trials.pop(number)
        if not stopped:
            self._scheduler.on_trial_complete(trial, {"score": scores[-1], "epoch": len(scores)})


def domain(kind: str, low: Any, high: Any) -> Any:
    match kind:
        case "choice":
            return config_space.choice(list(range(low)))
        case "integer":
            return config_space.randint(low, high)
        case "log":
            return config_space.loguniform(low, high)
    return config_space.uniform(low, high)


if __name__ == "__main__":
    serve_rival(SyneTune)
