"""How parts of networks are compiled for CPUs, and where what was compiled is kept.

What elsewhere takes many operations of torch, a layer a few at each step, is here one call. Small networks spend most
of their time in calls; large ones save what is written to memory and read again between two operations. What is
written in operations of torch defines what is compiled, and runs on every other device.
"""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar

from llvmlite import binding
from numba import cfunc, config, njit
from numba.extending import register_jitable
from numba.np import linalg
from platformdirs import user_cache_path

P = ParamSpec("P")
R = TypeVar("R")
Function = TypeVar("Function", bound=Callable[..., object])


OPTIONS: Final[dict[str, Any]] = {"error_model": "numpy", "fastmath": {"contract"}}
"""A product and a sum may be made without rounding in between; nothing is computed in another order than written."""


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Machine code for this CPU, made when ``function`` is first called with arguments of some types.

    It is kept in the user's cache (``NUMBA_CACHE_DIR`` names another place), and found there by later processes. numba
    knows for which CPU and which version of the function it was made, but not what else the function calls: so the
    place is named by all that is written in this folder.
    """
    dispatcher = njit(nogil=True, **OPTIONS)(function)
    with _kept() as kept:
        if kept:
            dispatcher.enable_caching()
    machine_code: Callable[P, R] = dispatcher
    return machine_code


def named(name: str, signature: Any, function: Callable[..., None]) -> None:
    """Compile ``function`` for these arguments, now, once for all: the others call it by its ``name``, and have none of
    its machine code in theirs.
    """
    with _kept() as kept:
        machine_code = cfunc(signature, cache=kept, **OPTIONS)(function)
    binding.add_symbol(name, machine_code.address)
    _NAMED.append(machine_code)


_NAMED: Final[list[Any]] = []
"""Machine code lives as long as the process."""


def inlined(function: Function) -> Function:
    """A part of what is compiled, compiled with it; called from elsewhere, it is plain Python."""
    part: Function = register_jitable(function)
    return part


@contextmanager
def _kept() -> Iterator[bool]:
    """Within, numba keeps machine code where ours is kept; whether it is."""
    place, chosen = _place(), config.CACHE_DIR
    config.CACHE_DIR = chosen if place is None else str(place)
    try:
        yield place is not None
    finally:
        config.CACHE_DIR = chosen


def _leave_scipy() -> None:
    """Numba imports scipy's linear algebra, for a fifth of a second, to see whether it is there, which it is.

    What is compiled here has its own products (``products/``); what asks numba for them still loads it.
    """
    kept, linalg.ensure_blas = linalg.ensure_blas, lambda: None
    try:
        import numba.np.arraymath  # noqa: F401
    finally:
        linalg.ensure_blas = kept


_leave_scipy()


@cache
def _place() -> Path | None:
    """Where all machine code is kept, for the life of the process. Where nothing can be, as in a container without a
    home, each process compiles anew: numba itself would go on to keep it by the function's own file alone.
    """
    place = place_of(Path(__file__).parent, config.CACHE_DIR)
    return place if writable(place) else None


def place_of(sources: Path, chosen: str) -> Path:
    """Where the machine code of what is written in this folder is kept: under what the user chose, or in the cache."""
    digest = hashlib.sha256()
    for file in sorted(sources.rglob("*.py")):
        digest.update(file.read_bytes())
    kept = Path(chosen) if chosen else user_cache_path("skipstack", appauthor=False) / "compiled"
    return kept / digest.hexdigest()[:16]


def writable(folder: Path) -> bool:
    """Whether files may be kept there, in a folder that is made if need be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)
