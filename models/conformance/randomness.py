"""Checks that a user's component neither reads nor changes the global random states of Python and numpy."""

import random
from collections.abc import Callable

import numpy as np

from skipstack.models.conformance.pieces import Failure

SEEDS = (1, 2)


def check_randomness(answer: Callable[[], object]) -> None:
    """Raise Failure if the function ``answer`` changes a global random state, or returns different values in different
    global states. Afterwards the global states are restored.
    """
    before, found = (random.getstate(), np.random.get_state()), []  # noqa: NPY002 (the global state is what is watched)
    try:
        for seed in SEEDS:
            random.seed(seed)
            np.random.seed(seed)  # noqa: NPY002
            states = _as_text()
            found.append(answer())
            if _as_text() != states:
                raise Failure("it changes a global random state (allowed: the generator that it is given)")
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])  # noqa: NPY002
    if found[0] != found[1]:
        raise Failure("it depends on a global random state (allowed: the generator that it is given)")


def _as_text() -> str:
    numpy = np.random.get_state(legacy=False)  # noqa: NPY002
    return f"{random.getstate()} {numpy['state']['key'].tolist()} {numpy['state']['pos']}"
