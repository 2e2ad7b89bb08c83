"""How parts of networks are compiled for CPUs.

What elsewhere takes many operations of torch, a layer a few at each step, is here one call. Small networks spend most
of their time in calls; large ones save what is written to memory and read again between two operations. What is
written in operations of torch defines what is compiled, and runs on every other device.
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
"""A product and a sum may be made without rounding in between; nothing is computed in another order than written."""


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Machine code for this CPU, made when ``function`` is first called with arguments of some types.

    It is kept in the user's cache (``NUMBA_CACHE_DIR`` names another place), and found there by later processes.
    """
    dispatcher = njit(nogil=True, **OPTIONS)(function)
    if keep is not None:
        keep(dispatcher, function)
    machine_code: Callable[P, R] = dispatcher
    return machine_code


def named(name: str, signature: Any, function: Callable[..., None]) -> None:
    """Compile ``function`` for these arguments, now, once for all: the others call it by its ``name``, and have none of
    its machine code in theirs.
    """
    machine_code: Any
    if keep is None:
        machine_code = cfunc(signature, **OPTIONS)(function)
    else:  # ``cfunc`` compiles before it could be told where code is kept
        machine_code = CFunc(function, (signature.args, signature.return_type), locals={}, options=OPTIONS)
        keep(machine_code, function)
        machine_code.compile()
    binding.add_symbol(name, machine_code.address)
    _NAMED.append(machine_code)


_NAMED: Final[list[Any]] = []
"""Machine code lives as long as the process."""


def inlined(function: Function) -> Function:
    """A part of what is compiled, compiled with it; called from elsewhere, it is plain Python."""
    part: Function = register_jitable(function)
    return part


def _leave_scipy() -> None:
    """Numba imports scipy's linear algebra, for a fifth of a second, to see whether it is there, which it is.

    What is compiled here has its own products (``gemm/``); what asks numba for them still loads it.
    """
    with suppress(ImportError, AttributeError):  # numba is free to move these: it is then only slower to load
        from numba.np import linalg

        kept, linalg.ensure_blas = linalg.ensure_blas, lambda: None
        try:
            import numba.np.arraymath  # noqa: F401
        finally:
            linalg.ensure_blas = kept


_leave_scipy()
