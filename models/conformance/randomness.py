"""Checks that a user's component neither reads nor changes the global random states of Python and numpy."""
# ruff: noqa: NPY002 (numpy's global state is what is watched)

import random
from collections.abc import Callable

import numpy as np

from skipstack.models.conformance.pieces import Failure

SEEDS = (1, 2)


def check_randomness(answer: Callable[[], object]) -> None:
    """Raise Failure if the function ``answer`` changes a global random state, or returns different values in different
    global states. Afterwards the global states are restored.
    """
    before, found = (random.getstate(), np.random.get_state()), []
    try:
        for seed in SEEDS:
            random.seed(seed)
            np.random.seed(seed)
            states = _as_text()
            found.append(answer())
            if _as_text() != states:
                raise Failure("it changes a global random state (allowed: the generator that it is given)")
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])
    if found[0] != found[1]:
        raise Failure("it depends on a global random state (allowed: the generator that it is given)")


def _as_text() -> str:
    numpy = np.random.get_state(legacy=False)
    return f"{random.getstate()} {numpy['state']['key'].tolist()} {numpy['state']['pos']}"
