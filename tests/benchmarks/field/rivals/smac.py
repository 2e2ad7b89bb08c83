"""SMAC's facade for hyperparameters, a random forest with expected improvement.

``deterministic``: otherwise it spends evaluations on the same points again.
"""

from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from ConfigSpace import Categorical, ConfigurationSpace, Float, Integer
from smac import HyperparameterOptimizationFacade, Scenario
from smac.runhistory import TrialInfo, TrialValue

from tests.benchmarks.field.rivals.child import Rival, serve_rival


class Smac(Rival):
    """The only method: ``random forest``."""

    def start(self, method: str) -> None:
        self._space = ConfigurationSpace(seed=self.seed)
        self._space.add([parameter(name, *axis) for name, axis in self.axes.items()])
        scenario = Scenario(
            self._space,
            deterministic=True,
            n_trials=self.trials,
            seed=self.seed,
            output_directory=Path(mkdtemp(prefix="field-smac-")),
        )
        self._facade = HyperparameterOptimizationFacade(scenario, logging_level=False, overwrite=True)
        self._trials: dict[int, TrialInfo] = {}

    def ask(self, number: int) -> dict[str, Any]:
        self._trials[number] = self._facade.ask()
        return dict(self._trials[number].config)

    def end(self, number: int, scores: list[float], *, stopped: bool) -> None:
        self._facade.tell(self._trials.pop(number), TrialValue(cost=-max(scores), time=1.0), save=False)


def parameter(name: str, kind: str, low: Any, high: Any) -> Any:
    match kind:
        case "choice":
            return Categorical(name, list(range(low)))
        case "integer":
            return Integer(name, (low, high))
    return Float(name, (low, high), log=kind == "log")


if __name__ == "__main__":
    serve_rival(Smac)
