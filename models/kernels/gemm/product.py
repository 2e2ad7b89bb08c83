"""Matrix products within compiled loops, on one thread: the same four functions on every CPU.

The second factor is packed once for any number of products, such as those of all time steps. On CPUs whose registers we
know, tiles in registers (``tiled.py``) multiply, which is faster; on other CPUs, BLAS (``blas.py``).
"""

from skipstack.models.kernels.gemm.registers import REGISTERS

if REGISTERS is not None:
    from skipstack.models.kernels.gemm.tiled import multiply, pack, pack_transposed, panels_for
else:
    from skipstack.models.kernels.gemm.blas import multiply, pack, pack_transposed, panels_for

__all__ = ["multiply", "pack", "pack_transposed", "panels_for"]
