"""Tiles of a matrix product: as many sums as fit into registers, each kept in a register until it is complete.

A tile is out_RC = x_RK panel_KC, with R rows of C columns. At each k, the loop reads one vector of the panel, or two
side by side, and multiplies it by a number of each row. Nothing else accesses memory. So a core comes close to its peak
rate of products, even with few rows. The code is generated in LLVM's vectors, separately for each number of rows.
LLVM's optimiser does not produce this form from loops over numbers.
"""

from dataclasses import dataclass
from itertools import product
from typing import Any, Final

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from skipstack.models.kernels.gemm.registers import REGISTERS

VECTORS: Final = 2
"""The largest number of vectors side by side in a panel."""
ROWS: Final = REGISTERS.rows if REGISTERS is not None else 0
"""The largest number of rows of a tile; 0 if BLAS multiplies."""
SHARED: Final = 3
"""The number of rows whose addresses share a base, since a CPU has fewer registers for addresses than for vectors."""
WHOLE, SHORT = ir.IntType(64), ir.IntType(32)


@dataclass(frozen=True, slots=True)
class Kind:
    """The types of factors and of sums. ``size``: bytes of a factor. ``pairs``: whether a factor is two bfloat16."""

    factor: Any
    sum: Any
    size: int
    pairs: bool = False

    @property
    def length(self) -> int:
        """The number of factors in a vector register, which are multiplied at once."""
        assert REGISTERS is not None, "nothing that multiplies is compiled for other CPUs"
        return REGISTERS.size // self.size


KINDS: Final = {
    types.float32: Kind(ir.FloatType(), ir.FloatType(), 4),
    types.float64: Kind(ir.DoubleType(), ir.DoubleType(), 8),
    types.uint32: Kind(ir.IntType(32), ir.FloatType(), 4, pairs=True),
}
"""The ``Kind`` of a product, by numba's type of the factors."""


@intrinsic  # type: ignore[untyped-decorator]
def fill_tile(
    _: Any,
    x: Any,
    x_at: Any,
    x_row: Any,
    x_next: Any,
    panels: Any,
    panel_at: Any,
    depth: Any,
    out: Any,
    out_at: Any,
    out_row: Any,
    rows: Any,
    columns: Any,
    added: Any,
) -> Any:
    """Fills one tile. ``rows``: the tile's rows. ``columns``: the number of columns of ``out`` from the tile's first
    column on. The tile is never wider than a panel. ``added``: whether to add to the contents of ``out``. ``depth``:
    the number of products in each sum.

    ``x``, ``panels`` and ``out`` are addresses, and the tile begins ``x_at``, ``panel_at`` and ``out_at`` numbers after
    them. In x, the next row is ``x_row`` numbers further, and the next column ``x_next`` numbers further. In out, the
    next row is ``out_row`` numbers further.
    """
    kind, whole = KINDS[x.dtype], types.intp
    where = [x, whole, whole, whole, panels, whole, whole, out, whole, whole]
    signature = types.void(*where, whole, whole, types.boolean)

    def generate(context: Any, builder: Any, _: Any, given: Any) -> Any:
        x, x_at, x_row, x_next, panels, panel_at, depth, out, out_at, out_row, rows, columns, added = given
        x, panel, out = (builder.gep(each, [at]) for each, at in ((x, x_at), (panels, panel_at), (out, out_at)))
        narrow = builder.icmp_signed("<=", columns, WHOLE(kind.length))
        end = builder.append_basic_block("end")
        switch = builder.switch(builder.add(rows, builder.select(narrow, WHOLE(0), WHOLE(ROWS))), end)
        for case, (vectors, count) in enumerate(product(range(1, VECTORS + 1), range(1, ROWS + 1)), 1):
            block = builder.append_basic_block("tile")
            switch.add_case(WHOLE(case), block)
            builder.position_at_end(block)
            tile = _Tile(builder, kind, count, vectors)
            tile.store(tile.sums(x, x_row, x_next, panel, depth), out, out_row, columns, added)
            builder.branch(end)
        builder.position_at_end(end)
        return context.get_dummy_value()

    return signature, generate


@dataclass(frozen=True, slots=True)
class _Tile:
    """Generates, by ``builder``, the code of a tile with these numbers of rows and vectors."""

    builder: Any
    kind: Kind
    rows: int
    vectors: int

    def sums(self, x: Any, x_row: Any, x_next: Any, panel: Any, depth: Any) -> list[Any]:
        """Generates code that sums the products over k. Returns the sums, one for each vector of each row: all vectors
        of the first row, then those of the second row, and so on.
        """
        builder, length = self.builder, self.kind.length
        factors, sums = (ir.VectorType(each, length) for each in (self.kind.factor, self.kind.sum))
        bases = [self._kept(builder.gep(x, [builder.mul(WHOLE(r), x_row)])) for r in range(0, self.rows, SHARED)]
        beyond = [self._kept(builder.mul(WHOLE(row), x_row)) for row in range(min(SHARED, self.rows))]
        before, loop, end = builder.block, builder.append_basic_block("k"), builder.append_basic_block("summed")
        builder.branch(loop)
        builder.position_at_end(loop)
        k = builder.phi(WHOLE)
        found = [builder.phi(sums) for _ in range(self.rows * self.vectors)]
        at = [builder.add(builder.mul(k, x_next), row) for row in beyond]
        start = builder.gep(panel, [builder.mul(k, WHOLE(VECTORS * length))])
        columns = [self._load(start, vector, factors) for vector in range(self.vectors)]
        made: list[Any] = []
        for row in range(self.rows):  # read each number only when it is needed: no register is left to keep it
            number = builder.load(builder.gep(bases[row // SHARED], [at[row % SHARED]]))
            everywhere = self._everywhere(number, factors)
            for column in columns:
                made.append(self._multiplied(everywhere, column, found[len(made)]))
        following = builder.add(k, WHOLE(1))
        for each, made_of_it in ((k, following), *zip(found, made, strict=True)):
            each.add_incoming(each.type(0 if each is k else None), before)
            each.add_incoming(made_of_it, loop)
        builder.cbranch(builder.icmp_signed("<", following, depth), loop, end)
        builder.position_at_end(end)
        return made

    def store(self, sums: list[Any], out: Any, out_row: Any, columns: Any, added: Any) -> None:
        """Generates code that stores all sums, or only those of the first ``columns`` columns if the tile has more."""
        whole = self.builder.icmp_signed(">=", columns, WHOLE(self.vectors * self.kind.length))
        for condition, adds in ((added, True), (self.builder.not_(added), False)):
            for filled, some in ((whole, None), (self.builder.not_(whole), columns)):
                with self.builder.if_then(self.builder.and_(condition, filled)):
                    self._store(sums, out, out_row, some, adds)

    def _store(self, sums: list[Any], out: Any, out_row: Any, columns: Any, adds: bool) -> None:
        places = product(range(self.rows), range(self.vectors))
        for value, (row, vector) in zip(sums, places, strict=True):
            start = self.builder.gep(out, [self.builder.mul(WHOLE(row), out_row)])
            first = self.builder.sub(columns, WHOLE(vector * self.kind.length)) if columns is not None else None
            mask = None if first is None else self._mask(first)
            total = self.builder.fadd(self._load(start, vector, value.type, mask), value) if adds else value
            self._put(total, start, vector, mask)

    def _multiplied(self, x: Any, y: Any, added: Any) -> Any:
        """Generates x y + added, rounded once. For pairs, generates the sum of both products and ``added``."""
        if self.kind.pairs:
            return self._call("llvm.x86.avx512bf16.dpbf16ps.512", added.type, added, x, y)
        return self._call(f"llvm.fma.{_name(added.type)}", added.type, x, y, added)

    def _kept(self, number: Any) -> Any:
        """Keeps ``number``, the address or the offset of a row, in a register of its own. Without this, LLVM derives
        each row's address from the previous row's, and the CPU must compute one address after another.
        """
        return self.builder.asm(ir.FunctionType(number.type, [number.type]), "", "=r,0", [number], False)

    def _mask(self, count: Any) -> Any:
        counts = ir.VectorType(WHOLE, self.kind.length)
        places = counts(list(range(self.kind.length)))
        return self.builder.icmp_signed("<", places, self._everywhere(count, counts))

    def _everywhere(self, number: Any, vector: Any) -> Any:
        """Generates a vector that repeats this number."""
        nothing, places = vector(ir.Undefined), ir.VectorType(SHORT, vector.count)
        one = self.builder.insert_element(nothing, number, SHORT(0))
        return self.builder.shuffle_vector(one, nothing, places([0] * vector.count))

    def _load(self, start: Any, place: int, vector: Any, mask: Any = None) -> Any:
        """Generates a load of the vector at index ``place`` from ``start``. Numbers outside a ``mask`` become 0."""
        pointer = self._pointer(start, place, vector)
        if mask is None:
            return self.builder.load(pointer, align=self.kind.size)
        alignment = SHORT(self.kind.size)
        return self._call(f"llvm.masked.load.{_name(vector)}.p0", vector, pointer, alignment, mask, vector(None))

    def _put(self, value: Any, start: Any, place: int, mask: Any) -> None:
        """Generates a store of a vector at index ``place`` from ``start``. Numbers outside a ``mask`` are left out."""
        pointer = self._pointer(start, place, value.type)
        if mask is None:
            self.builder.store(value, pointer, align=self.kind.size)
        else:
            name = f"llvm.masked.store.{_name(value.type)}.p0"
            self._call(name, ir.VoidType(), value, pointer, SHORT(self.kind.size), mask)

    def _pointer(self, start: Any, place: int, vector: Any) -> Any:
        number = self.builder.gep(start, [WHOLE(place * self.kind.length)])
        return self.builder.bitcast(number, vector.as_pointer())

    def _call(self, name: str, gives: Any, *given: Any) -> Any:
        module = self.builder.module
        if (function := module.globals.get(name)) is None:
            function = ir.Function(module, ir.FunctionType(gives, [each.type for each in given]), name)
        return self.builder.call(function, given)


def _name(vector: Any) -> str:
    """Returns the abbreviation of the vector's type in names of LLVM's intrinsics."""
    return f"v{vector.count}{vector.element.intrinsic_name}"
