"""Ax: what its client chooses by default, a Gaussian process of BoTorch."""

from typing import Any

from ax.api.client import Client
from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig

from tests.benchmarks.field.rivals.child import Rival, serve_rival


class Ax(Rival):
    """The only method: ``GP``."""

    def start(self, method: str) -> None:
        self._client = Client(random_seed=self.seed)
        self._client.configure_experiment([parameter(name, *axis) for name, axis in self.axes.items()])
        self._client.configure_optimization("score")
        self._trials: dict[int, int] = {}

    def ask(self, number: int) -> dict[str, Any]:
        ((self._trials[number], point),) = self._client.get_next_trials(1).items()
        return point

    def end(self, number: int, scores: list[float], *, stopped: bool) -> None:
        self._client.complete_trial(self._trials.pop(number), {"score": max(scores)})


def parameter(name: str, kind: str, low: Any, high: Any) -> Any:
    match kind:
        case "choice":
            return ChoiceParameterConfig(name, list(range(low)), "int", is_ordered=False)
        case "integer":
            return RangeParameterConfig(name, (low, high), "int")
    return RangeParameterConfig(name, (low, high), "float", scaling="log" if kind == "log" else "linear")


if __name__ == "__main__":
    serve_rival(Ax)
