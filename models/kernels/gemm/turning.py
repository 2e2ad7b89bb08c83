"""Transposes square blocks of a matrix within vector registers."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from skipstack.models.kernels.gemm.tile import KINDS, WHOLE


@intrinsic  # type: ignore[untyped-decorator]
def turn_block(_: Any, like: Any, start: Any, row: Any, out: Any, out_row: Any) -> Any:
    """Transposes L x L numbers, where L is the count of numbers of ``like``'s type in a register.

    ``start`` and ``out`` are the addresses of the first numbers of the block and of its transpose. The next row is
    ``row`` numbers further in the block, and ``out_row`` numbers further in the transpose.

    Each pass interleaves vector i with vector i + L / 2, for each i < L / 2. Number c of row r, at position r L + c of
    all L^2, thereby moves to position 2 (r L + c), modulo L^2 - 1. After log2(L) passes it is at c L + r.
    """
    kind, address = KINDS[like.dtype], types.intp
    length = kind.length

    def generate(context: Any, builder: Any, _: Any, given: Any) -> Any:
        _, start, row, out, out_row = given
        vector = ir.VectorType(kind.factor, length)
        first, to = (builder.inttoptr(each, kind.factor.as_pointer()) for each in (start, out))

        def place(base: Any, line: int, step: Any) -> Any:
            number = builder.gep(base, [builder.mul(WHOLE(line), step)])
            return builder.bitcast(number, vector.as_pointer())

        lines = [builder.load(place(first, line, row), align=kind.size) for line in range(length)]
        for _ in range(length.bit_length() - 1):
            pairs = zip(lines[: length // 2], lines[length // 2 :], strict=True)
            lines = [_interleaved(builder, *pair, half) for pair in pairs for half in range(2)]
        for line, numbers in enumerate(lines):
            builder.store(numbers, place(to, line, out_row), align=kind.size)
        return context.get_dummy_value()

    return types.void(like, address, address, address, address), generate


def _interleaved(builder: Any, one: Any, other: Any, half: int) -> Any:
    """Generates a_0 b_0 a_1 b_1 ... from the first (``half`` 0) or second (1) halves of two vectors a and b."""
    length = one.type.count
    from_ = range(half * length // 2, (half + 1) * length // 2)
    places = ir.VectorType(ir.IntType(32), length)([place for each in from_ for place in (each, length + each)])
    return builder.shuffle_vector(one, other, places)
