"""The generators that a process has one of: Python's, numpy's and torch's. Seeds take turns, each with its own."""

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

NUMPY_SEEDS: Final = 1 << 32
"""How many seeds numpy's global generator has."""


class GlobalRandomState:
    """The state of these generators as one seed has it: drawn from its ``seed``, and kept while others run.

    torch is heeded where something has loaded it; it is not loaded here.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._states: dict[str, Any] = {}

    @contextmanager
    def own(self) -> Iterator[None]:
        """Within, the generators are this seed's; afterwards they are what they were before."""
        before = _states()
        self._begin()
        _restore(self._states)
        try:
            yield
        finally:
            self._states = _states()
            _restore(before)

    def _begin(self) -> None:
        """Seed what has no state yet."""
        if not self._states:
            random.seed(self._seed)
            np.random.seed(self._seed % NUMPY_SEEDS)  # noqa: NPY002 (functions of others use it)
        if (torch := sys.modules.get("torch")) is not None and "torch" not in self._states:
            torch.manual_seed(self._seed)


def _states() -> dict[str, Any]:
    states = {"random": random.getstate(), "numpy": np.random.get_state()}  # noqa: NPY002
    if (torch := sys.modules.get("torch")) is not None:
        states["torch"] = torch.get_rng_state()
        if torch.cuda.is_initialized():
            states["cuda"] = torch.cuda.get_rng_state_all()
    return states


def _restore(states: dict[str, Any]) -> None:
    """What is not among them stays as it is."""
    torch = sys.modules.get("torch")
    for name, state in states.items():
        match name:
            case "random":
                random.setstate(state)
            case "numpy":
                np.random.set_state(state)  # noqa: NPY002
            case "torch" if torch is not None:
                torch.set_rng_state(state)
            case "cuda" if torch is not None:
                torch.cuda.set_rng_state_all(state)
            case _:
                pass
