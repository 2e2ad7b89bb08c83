"""Matrix products within compiled loops, on one thread: four functions, whatever the CPU.

The second factor is packed first, and then serves any number of products: those of all time steps share one. Tiles in
registers (``tiled.py``) are faster, since they make use of that; BLAS (``blas.py``) multiplies on every other CPU.
"""

from skipstack.models.kernels.gemm.registers import REGISTERS

if REGISTERS is not None:
    from skipstack.models.kernels.gemm.tiled import multiply, pack, pack_transposed, panels_for
else:
    from skipstack.models.kernels.gemm.blas import multiply, pack, pack_transposed, panels_for

__all__ = ["multiply", "pack", "pack_transposed", "panels_for"]
