"""Gives each seed of a trial its own state of the process's global random generators (Python's, numpy's, torch's)."""

import base64
import random
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

NUMPY_SEEDS: Final = 1 << 32
"""Number of different seeds that numpy's global generator accepts."""


class GlobalRandomState:
    """Keeps the state of the global random generators for one seed, while other seeds run. The first state is derived
    from ``seed``. torch's generators are included as soon as other code has imported torch.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._states: dict[str, Any] = {}

    @contextmanager
    def own(self) -> Iterator[None]:
        """Give the generators this seed's state during the block, and their previous state afterwards."""
        before = _states()
        self._begin()
        _restore(self._states)
        try:
            yield
        finally:
            self._states = _states()
            _restore(before)

    def _begin(self) -> None:
        """Seed the generators that have no state yet."""
        if not self._states:
            random.seed(self._seed)
            np.random.seed(self._seed % NUMPY_SEEDS)  # noqa: NPY002 (users' functions may use it)
        if (torch := sys.modules.get("torch")) is not None and "torch" not in self._states:
            torch.manual_seed(self._seed)


def written_states() -> dict[str, Any]:
    """The present states of the global random generators, as values that JSON can hold."""
    states = _states()
    kind, words, place, has_gauss, gauss = states["numpy"]
    version, own, next_gauss = states["random"]
    return {
        "random": [version, list(own), next_gauss],
        "numpy": [kind, words.tolist(), place, has_gauss, gauss],
        **({"torch": _text(states["torch"])} if "torch" in states else {}),
        **({"cuda": [_text(each) for each in states["cuda"]]} if "cuda" in states else {}),
    }


def restore_written(written: Mapping[str, Any]) -> None:
    """Set the global random generators to states from ``written_states``. The states of GPUs that this machine lacks
    are ignored. torch's generators are set only if torch is imported already.
    """
    version, own, next_gauss = written["random"]
    states: dict[str, Any] = {"random": (version, tuple(own), next_gauss), "numpy": tuple(written["numpy"])}
    if "torch" in written and (torch := sys.modules.get("torch")) is not None:
        states["torch"] = _tensor(torch, written["torch"])
        if torch.cuda.is_available():
            states["cuda"] = [_tensor(torch, each) for each in written.get("cuda", ())[: torch.cuda.device_count()]]
    _restore(states)


def _text(state: Any) -> str:
    return base64.b64encode(state.numpy().tobytes()).decode()


def _tensor(torch: Any, text: str) -> Any:
    return torch.frombuffer(bytearray(base64.b64decode(text)), dtype=torch.uint8)


def _states() -> dict[str, Any]:
    states = {"random": random.getstate(), "numpy": np.random.get_state()}  # noqa: NPY002
    if (torch := sys.modules.get("torch")) is not None:
        states["torch"] = torch.get_rng_state()
        if torch.cuda.is_initialized():
            states["cuda"] = torch.cuda.get_rng_state_all()
    return states


def _restore(states: dict[str, Any]) -> None:
    """Set the generators named in ``states``."""
    setters: dict[str, Callable[[Any], object]] = {"random": random.setstate}
    setters["numpy"] = np.random.set_state
    if (torch := sys.modules.get("torch")) is not None:
        setters |= {"torch": torch.set_rng_state, "cuda": torch.cuda.set_rng_state_all}
    for name, state in states.items():
        if name in setters:
            setters[name](state)
