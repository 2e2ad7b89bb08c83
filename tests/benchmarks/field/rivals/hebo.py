"""HEBO, at its defaults."""

from typing import Any

import numpy as np
import pandas as pd
from hebo.design_space.design_space import DesignSpace
from hebo.optimizers.hebo import HEBO

from tests.benchmarks.field.rivals.child import Rival, serve_rival


class Hebo(Rival):
    """The only method: ``GP``."""

    def start(self, method: str) -> None:
        space = DesignSpace().parse([parameter(name, *axis) for name, axis in self.axes.items()])
        self._optimiser = HEBO(space, scramble_seed=self.seed)
        self._points: dict[int, pd.DataFrame] = {}

    def ask(self, number: int) -> dict[str, Any]:
        self._points[number] = self._optimiser.suggest(n_suggestions=1)
        return self._points[number].iloc[0].to_dict()

    def end(self, number: int, scores: list[float], *, stopped: bool) -> None:
        self._optimiser.observe(self._points.pop(number), np.array([[-max(scores)]]))


def parameter(name: str, kind: str, low: Any, high: Any) -> dict[str, Any]:
    match kind:
        case "choice":
            return {"name": name, "type": "cat", "categories": list(range(low))}
        case "integer":
            return {"name": name, "type": "int", "lb": low, "ub": high}
    return {"name": name, "type": "pow" if kind == "log" else "num", "lb": low, "ub": high}


if __name__ == "__main__":
    serve_rival(Hebo)
