"""A child process that answers lines of JSON: this end of ``remote.py``. It imports nothing of skipstack."""

import json
import os
import random
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from time import process_time
from typing import Any

Axis = tuple[str, Any, Any]
"""``("choice", n, None)``: the values 0 to n - 1, without an order; ``("integer", low, high)``, ``("real", low, high)``
or ``("log", low, high)``, both ends included."""


class Rival(ABC):
    """Another library's search. Scores are better if they are higher.

    ``epochs``: those of a whole training. ``trials``, ``workers``: those of the race.
    """

    def __init__(
        self, method: str, axes: Mapping[str, Axis], *, seed: int, epochs: int, trials: int, workers: int
    ) -> None:
        self.axes, self.seed, self.epochs, self.trials, self.workers = axes, seed, epochs, trials, workers
        self.start(method)

    @abstractmethod
    def start(self, method: str) -> None:
        """Make the library's objects."""

    @abstractmethod
    def ask(self, number: int) -> dict[str, Any] | None:
        """The point of trial ``number``."""

    def begin(self, number: int, point: dict[str, Any]) -> None:  # noqa: B027 (most cannot be told)
        """Trial ``number`` begins at another point than the one that was asked for, which is not recorded. A library
        that cannot be told so takes the results for those of its own point.
        """

    def goes_on(self, number: int, epoch: int, score: float) -> bool:
        """Whether a trial trains on after a report that is not its last."""
        return True

    @abstractmethod
    def end(self, number: int, scores: list[float], *, stopped: bool) -> None:
        """The trial is over. ``scores``: all its reports."""


def serve(answer: Callable[..., Any]) -> None:
    """Answer each line ``[kind, ...]`` of the standard input by a line: the answer, and the processor seconds that it
    took. What libraries print goes to the standard error.
    """
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        began = process_time()
        said = answer(*json.loads(line)), process_time() - began
        out.write(json.dumps(said, default=lambda number: number.item()) + "\n")  # numbers of NumPy
        out.flush()


def serve_rival(rival: type[Rival]) -> None:
    """Answer for a search; each ``start`` begins another one."""
    import numpy as np

    racing: list[Rival] = []
    scores: dict[int, list[float]] = {}

    def answer(kind: str, *given: Any) -> Any:
        if kind == "start":
            method, axes, options = given
            random.seed(options["seed"])
            np.random.seed(options["seed"])  # noqa: NPY002 (libraries draw from it)
            scores.clear()
            racing[:] = [rival(method, axes, **options)]
            return None
        if kind == "ask":
            return racing[0].ask(*given)
        if kind == "begin":
            return racing[0].begin(*given)
        number, epoch, score = given
        scores.setdefault(number, []).append(score)
        whole = epoch == racing[0].epochs
        goes_on = not whole and racing[0].goes_on(number, epoch, score)
        if not goes_on:
            racing[0].end(number, scores.pop(number), stopped=not whole)
        return goes_on

    serve(answer)
