"""Compilation of parts of networks for CPUs.

A compiled operation is one call instead of several calls of torch's operations at each step. In small networks these
calls take most of the time. In large networks, fewer intermediate results are written and reread. The version in
torch's operations defines the result of a compiled version, and runs if nothing is compiled.
"""

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, ParamSpec, TypeVar

from llvmlite import binding
from numba import cfunc, njit
from numba.extending import register_jitable

LOG: Final = logging.getLogger(__name__)

try:
    from numba.core.ccallback import CFunc

    from skipstack.models.kernels.machine_code import keep
except (ImportError, AttributeError) as error:
    CFunc = keep = None  # type: ignore[assignment, misc]
    LOG.warning("skipstack: this numba keeps no machine code for us, so each process compiles anew (%s)", error)

P = ParamSpec("P")
R = TypeVar("R")
Function = TypeVar("Function", bound=Callable[..., object])


OPTIONS: Final[dict[str, Any]] = {"error_model": "numpy", "fastmath": {"contract"}}
"""The options of numba. ``contract`` allows fused multiply-adds, which do not round the product. Nothing is reordered.
"""


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compiles ``function`` to machine code for this CPU at the first call with each combination of argument types.

    The machine code is cached for later processes, in the user's cache folder or in ``NUMBA_CACHE_DIR``, if this
    version of numba allows it (``keep`` is not None).
    """
    dispatcher = njit(nogil=True, **OPTIONS)(function)
    if keep is not None:
        keep(dispatcher, function)
    machine_code: Callable[P, R] = dispatcher
    return machine_code


def named(name: str, signature: Any, function: Callable[..., None]) -> None:
    """Compiles ``function`` immediately, for arguments of the types in ``signature``. Other compiled functions call
    ``function`` by ``name``, instead of containing its machine code.
    """
    machine_code: Any
    if keep is None:
        machine_code = cfunc(signature, **OPTIONS)(function)
    else:  # not ``cfunc``, which would compile before ``keep`` sets the cache
        machine_code = CFunc(function, (signature.args, signature.return_type), locals={}, options=OPTIONS)
        keep(machine_code, function)
        machine_code.compile()
    binding.add_symbol(name, machine_code.address)
    _NAMED.append(machine_code)


_NAMED: Final[list[Any]] = []
"""The functions that ``named`` compiled. The list keeps their machine code alive until the process ends."""


def inlined(function: Function) -> Function:
    """Marks a function to be compiled into each compiled function that calls it. Called from Python, it runs as is."""
    part: Function = register_jitable(function)
    return part


def _leave_scipy() -> None:
    """Keeps numba from importing scipy's linear algebra, which takes 0.2 s, just to see whether scipy is installed.

    Our compiled code has its own products (``gemm/``). Code that asks numba for products still loads scipy's.
    """
    with suppress(ImportError, AttributeError):  # if a version of numba lacks these names, it only loads more slowly
        from numba.np import linalg

        kept, linalg.ensure_blas = linalg.ensure_blas, lambda: None
        try:
            import numba.np.arraymath  # noqa: F401
        finally:
            linalg.ensure_blas = kept


_leave_scipy()
