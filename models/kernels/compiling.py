"""Compilation of parts of networks for CPUs.

A compiled operation is one call in place of many operations of torch, of which a layer has a few at each step. Small
networks spend most of their time in calls of torch. Large networks save the time to write intermediate results to
memory and to read them again. The version in torch's operations defines what a compiled version computes, and runs
where nothing is compiled.
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
"""The options of numba. ``contract`` allows a product and a sum without rounding in between. Nothing is computed in
another order than written.
"""


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compiles ``function`` to machine code for this CPU whenever it is called with a new combination of types of its
    arguments.

    The machine code is stored in the user's cache (``NUMBA_CACHE_DIR`` names another folder), where later processes
    find it, unless this version of numba does not allow that (``keep`` is None).
    """
    dispatcher = njit(nogil=True, **OPTIONS)(function)
    if keep is not None:
        keep(dispatcher, function)
    machine_code: Callable[P, R] = dispatcher
    return machine_code


def named(name: str, signature: Any, function: Callable[..., None]) -> None:
    """Compiles ``function`` at once, for arguments of the types in ``signature``. Other compiled functions call it by
    ``name``, so that they do not contain its machine code.
    """
    machine_code: Any
    if keep is None:
        machine_code = cfunc(signature, **OPTIONS)(function)
    else:  # ``cfunc`` would compile at once, before ``keep`` sets the cache
        machine_code = CFunc(function, (signature.args, signature.return_type), locals={}, options=OPTIONS)
        keep(machine_code, function)
        machine_code.compile()
    binding.add_symbol(name, machine_code.address)
    _NAMED.append(machine_code)


_NAMED: Final[list[Any]] = []
"""The functions that ``named`` compiled. The list keeps their machine code alive as long as the process."""


def inlined(function: Function) -> Function:
    """Decorates a part of compiled functions: each function that calls the part compiles it anew, as its own code.
    Called from Python, the part is plain Python.
    """
    part: Function = register_jitable(function)
    return part


def _leave_scipy() -> None:
    """Keeps numba from importing scipy's linear algebra, which takes a fifth of a second, just to see that it is
    installed.

    Our compiled code has its own products (``gemm/``). Code that asks numba for products still loads scipy's.
    """
    with suppress(ImportError, AttributeError):  # numba may move these names: it then only loads more slowly
        from numba.np import linalg

        kept, linalg.ensure_blas = linalg.ensure_blas, lambda: None
        try:
            import numba.np.arraymath  # noqa: F401
        finally:
            linalg.ensure_blas = kept


_leave_scipy()
