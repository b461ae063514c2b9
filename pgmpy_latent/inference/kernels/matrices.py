"""Products of small matrices: what an edge does to the messages of many patterns at once.

One message at a time, every number of a table is fetched for every message. Here a *tile* of the result, a few rows by
one or two vectors, stays in registers while the sum runs; so a number that was fetched serves a whole tile. Tiles are
summed in the order of the terms, and their shape depends on nothing but the shape of the matrices: results do not
depend on the machine's libraries, nor on how many threads there are.
"""

from __future__ import annotations

from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba import types
from numba.core import cgutils

from pgmpy_latent.inference.kernels.vectors import converted, intrinsic, number_type, size_of, spread

#: Bytes of a vector, by the widest that this processor has.
WIDE = 64 if get_host_cpu_features().get("avx512f") else 32
#: Rows of a tile, and vectors of a row: as many sums as hide how long an addition takes, and still fit into registers.
TILE_ROWS, TILE_VECTORS = (8, 2) if WIDE == 64 else (4, 2)
#: A product and the sum it is added to may be rounded once instead of twice, where the processor can do it.
FUSED = ("contract",)


class _Matrix:
    """A matrix inside an array, while code is generated; its rows and columns lie some distance apart."""

    def __init__(self, context, builder, array_type, array, begin, row_step, column_step=None):
        self.builder, self.kind = builder, number_type(array_type)
        self.data = context.make_array(array_type)(context, builder, array).data
        self.begin, self.row_step, self.column_step = begin, row_step, column_step

    def address(self, row, column):
        if self.column_step is not None:
            column = self.builder.mul(column, self.column_step)
        place = self.builder.add(self.builder.mul(row, self.row_step), column)
        return self.builder.gep(self.data, [self.builder.add(self.begin, place)])

    def number(self, row, column, kind):
        return converted(self.builder, self.builder.load(self.address(row, column)), kind)

    def vector(self, row, column, kind):
        own = ir.VectorType(self.kind, kind.count)
        value = self.builder.load(self.builder.bitcast(self.address(row, column), own.as_pointer()))
        value.align = size_of(self.kind)
        return converted(self.builder, value, kind)

    def store(self, value, row, column):
        place = self.builder.bitcast(self.address(row, column), value.type.as_pointer())
        self.builder.store(value, place).align = size_of(self.kind)


def _tile(builder, out, left, right, row, column, shape, inner, fresh) -> None:
    """Emit the sums of one tile; its shape: rows, vectors of a row, numbers of a vector."""
    n_rows, n_vectors, width = shape
    kind = ir.VectorType(out.kind, width)
    rows = [builder.add(row, ir.Constant(row.type, at)) for at in range(n_rows)]
    columns = [builder.add(column, ir.Constant(row.type, at * width)) for at in range(n_vectors)]
    sums = {(at, here): cgutils.alloca_once(builder, kind) for at in range(n_rows) for here in range(n_vectors)}
    zero = ir.Constant(kind, [0.0] * width)
    for (at, here), total in sums.items():
        builder.store(builder.select(fresh, zero, out.vector(rows[at], columns[here], kind)), total)
    with cgutils.for_range(builder, inner) as loop:
        terms = [right.vector(loop.index, here, kind) for here in columns]
        factors = [spread(builder, left.number(at, loop.index, out.kind), kind) for at in rows]
        for (at, here), total in sums.items():
            term = builder.fmul(factors[at], terms[here], flags=FUSED)
            builder.store(builder.fadd(builder.load(total), term, flags=FUSED), total)
    for (at, here), total in sums.items():
        out.store(builder.load(total), rows[at], columns[here])


def _shapes(kind: ir.Type) -> list[tuple[int, int]]:
    """Return the tiles of a row, widest first: vectors, and numbers of each."""
    widths = [WIDE // size_of(kind)]
    while widths[-1] > 2:
        widths.append(widths[-1] // 2)
    return [(TILE_VECTORS, widths[0]), *((1, width) for width in widths)]


def _in_tiles(builder, begin, end, size, body):
    """Emit ``body(begin)`` for as many tiles of ``size`` as fit; return where they end."""
    many = ir.Constant(begin.type, size)
    n_tiles = builder.sdiv(builder.sub(end, begin), many)
    last = builder.add(begin, builder.mul(n_tiles, many))
    with cgutils.for_range_slice(builder, begin, last, many) as (at, _):
        body(at)
    return last


@intrinsic
def add_product(
    typing_context, target, at, target_step, left, i, row_step, inner_step, right, j, right_step, rows, inner, columns,
    fresh,
):  # fmt: skip
    """Add a product of matrices to another: ``target[row, column] += sum(left[row, k] * right[k, column] for k)``.

    ``left[row, k]`` stands at ``i + row * row_step + k * inner_step``: a transposed matrix has these two exchanged.
    If ``fresh``, ``target`` is overwritten. The number of columns must be even. Sums have the precision of ``target``.
    """

    def generate(context, builder, signature, args):
        kinds = signature.args
        out = _Matrix(context, builder, kinds[0], args[0], args[1], args[2])
        factors = _Matrix(context, builder, kinds[3], args[3], args[4], args[5], args[6])
        terms = _Matrix(context, builder, kinds[7], args[7], args[8], args[9])
        n_rows, n_inner, n_columns, is_fresh = args[10:]
        nothing = ir.Constant(n_rows.type, 0)

        def columns_of(row, height):
            begin = nothing
            for vectors, width in _shapes(out.kind):
                shape = height, vectors, width
                begin = _in_tiles(
                    builder, begin, n_columns, vectors * width,
                    lambda column, shape=shape: _tile(
                        builder, out, factors, terms, row, column, shape, n_inner, is_fresh
                    ),
                )  # fmt: skip

        done = nothing
        for height in (TILE_ROWS, 1):
            done = _in_tiles(builder, done, n_rows, height, lambda row, height=height: columns_of(row, height))
        return context.get_dummy_value()

    place = types.intp
    return types.void(
        target, place, place, left, place, place, place, right, place, place, place, place, place, types.boolean
    ), generate
