"""Matrix products within compiled loops, on one thread: the same four functions on every CPU.

The second factor is packed once for any number of products, such as those of all time steps. If we know the CPU's
registers, tiles in registers compute products (``tiled.py``). On other CPUs, BLAS computes products, which is slower
(``blas.py``).
"""

from skipstack.models.kernels.gemm.registers import REGISTERS

if REGISTERS is not None:
    from skipstack.models.kernels.gemm.tiled import multiply, pack, pack_transposed, panels_for
else:
    from skipstack.models.kernels.gemm.blas import multiply, pack, pack_transposed, panels_for

__all__ = ["multiply", "pack", "pack_transposed", "panels_for"]
