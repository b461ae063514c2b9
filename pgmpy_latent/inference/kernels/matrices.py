"""Products of small matrices: what an edge does to the messages of many patterns at once.

One message at a time, every number of a table is fetched for every message. Here a *tile* of the result, a few rows by
one or two vectors, stays in registers while the sum runs; so a number that was fetched serves a whole tile. Tiles are
summed in the order of the terms, and their shape depends on nothing but the shape of the matrices: results do not
depend on the machine's libraries, nor on how many threads there are.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils

from pgmpy_latent.inference.kernels.vectors import LANES, intrinsic

#: Rows of a tile, and its columns: as many sums as hide how long an addition takes, and still fit into registers.
TILE_ROWS = 4
TILE_COLUMNS = (2 * LANES, LANES, LANES // 2)
#: A product and the sum it is added to may be rounded once instead of twice, where the processor can do it.
FUSED = ("contract",)


class _Matrix:
    """A matrix inside an array, while code is generated; its rows and columns lie some distance apart."""

    def __init__(self, context, builder, array_type, array, begin, row_step, column_step=None):
        self.builder = builder
        self.data = context.make_array(array_type)(context, builder, array).data
        self.begin, self.row_step, self.column_step = begin, row_step, column_step

    def address(self, row, column):
        if self.column_step is not None:
            column = self.builder.mul(column, self.column_step)
        place = self.builder.add(self.builder.mul(row, self.row_step), column)
        return self.builder.gep(self.data, [self.builder.add(self.begin, place)])

    def number(self, row, column):
        return self.builder.load(self.address(row, column))

    def vector(self, row, column, kind):
        value = self.builder.load(self.builder.bitcast(self.address(row, column), kind.as_pointer()))
        value.align = 8
        return value

    def store(self, value, row, column):
        place = self.builder.bitcast(self.address(row, column), value.type.as_pointer())
        self.builder.store(value, place).align = 8


def _spread(builder, number, kind):
    """Emit a vector of one and the same number."""
    first = builder.insert_element(ir.Constant(kind, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
    nowhere = ir.Constant(ir.VectorType(ir.IntType(32), kind.count), [0] * kind.count)
    return builder.shuffle_vector(first, ir.Constant(kind, ir.Undefined), nowhere)


def _tile(builder, out, left, right, row, column, n_rows, width, inner, fresh) -> None:
    """Emit the sums of one tile."""
    kind = ir.VectorType(ir.DoubleType(), width)
    rows = [builder.add(row, ir.Constant(row.type, at)) for at in range(n_rows)]
    sums = [cgutils.alloca_once(builder, kind) for _ in rows]
    zero = ir.Constant(kind, [0.0] * width)
    for at, total in zip(rows, sums, strict=True):
        builder.store(builder.select(fresh, zero, out.vector(at, column, kind)), total)
    with cgutils.for_range(builder, inner) as loop:
        terms = right.vector(loop.index, column, kind)
        for at, total in zip(rows, sums, strict=True):
            factor = _spread(builder, left.number(at, loop.index), kind)
            term = builder.fmul(factor, terms, flags=FUSED)
            builder.store(builder.fadd(builder.load(total), term, flags=FUSED), total)
    for at, total in zip(rows, sums, strict=True):
        out.store(builder.load(total), at, column)


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
    If ``fresh``, ``target`` is overwritten. The number of columns must be a multiple of LANES.
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
            for width in TILE_COLUMNS:
                begin = _in_tiles(
                    builder, begin, n_columns, width,
                    lambda column, width=width: _tile(
                        builder, out, factors, terms, row, column, height, width, n_inner, is_fresh
                    ),
                )  # fmt: skip

        whole = _in_tiles(builder, nothing, n_rows, TILE_ROWS, lambda row: columns_of(row, TILE_ROWS))
        _in_tiles(builder, whole, n_rows, 1, lambda row: columns_of(row, 1))
        return context.get_dummy_value()

    place = types.intp
    return types.void(
        target, place, place, left, place, place, place, right, place, place, place, place, place, types.boolean
    ), generate
