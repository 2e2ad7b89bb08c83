"""Which code runs, for a test that says so: whatever the environment of the tests asks for."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from skipstack.models.ground.kernel_names import Kernels
from skipstack.models.kernels import abilities, choice


@contextmanager
def chosen(kernels: Kernels | None) -> Iterator[None]:
    """As if the environment had asked for it; None: for nothing."""
    with _decided_anew() as patch:
        patch.setattr(choice, "override", lambda: kernels)
        yield


@contextmanager
def without(ability: str) -> Iterator[None]:
    """On a machine that has not got it, and whose environment asks for nothing."""
    with chosen(None), _decided_anew() as patch:
        patch.setattr(abilities, f"no_{ability}", lambda: f"no {ability}")
        yield


@contextmanager
def _decided_anew() -> Iterator[pytest.MonkeyPatch]:
    try:
        with pytest.MonkeyPatch.context() as patch:
            choice.decided.cache_clear()
            yield patch
    finally:
        choice.decided.cache_clear()
