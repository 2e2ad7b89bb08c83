"""NePS: its Bayesian optimisation, by its ``AskAndTell``."""

from typing import Any

import neps
import torch

from tests.benchmarks.field.rivals.child import Rival, serve_rival


class NePS(Rival):
    """The only method: ``GP``."""

    def start(self, method: str) -> None:
        torch.manual_seed(self.seed)
        axes = {name: parameter(*axis) for name, axis in self.axes.items()}
        space = type("Axes", (neps.PipelineSpace,), axes)()
        self._optimiser = neps.AskAndTell(neps.algorithms.bayesian_optimization(space))
        self._trials: dict[int, Any] = {}

    def ask(self, number: int) -> dict[str, Any]:
        self._trials[number] = self._optimiser.ask()
        return self._trials[number].config

    def end(self, number: int, scores: list[float], *, stopped: bool) -> None:
        self._optimiser.tell(self._trials.pop(number), -max(scores))


def parameter(kind: str, low: Any, high: Any) -> Any:
    match kind:
        case "choice":
            return neps.Categorical(list(range(low)))
        case "integer":
            return neps.Integer(low, high)
    return neps.Float(low, high, log=kind == "log")


if __name__ == "__main__":
    serve_rival(NePS)
