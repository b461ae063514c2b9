"""Arithmetic on one message at a time.

The compiler vectorises long loops by itself, but not the short ones over the states of one message, which are
nearly all that message passing consists of. So messages are laid out in steps of :func:`stride` numbers, and these
functions work on a whole step with one or a few vector instructions. Padding is always zero.

Arrays may be of double or of single precision. Numbers are multiplied and added in double if any of the arrays is, and
rounded where they are stored.

They are written as instructions for the compiler (intrinsics), not as compiled functions: what they do appears in
the place where they are used, and compiling stays quick.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

from llvmlite import ir
from numba import extending, njit, types
from numba.core import cgutils

#: The decorator. Its own type counts the typing context, which callers do not pass, as an argument of theirs.
intrinsic: Callable[[Callable], Callable] = extending.intrinsic

#: How functions are compiled that only compiled code calls: without what Python would need to call them, which takes a
#: tenth of the time of compiling.
INNER: Any = {"nogil": True, "error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
#: The decorator of such functions.
inner = njit(**INNER)
#: The decorator of those that stand in one place only: they become part of their caller before it is compiled. What one
#: compiled function calls is otherwise compiled twice, once by itself and once more inside its caller.
inlined = njit(**INNER, inline="always")

#: Numbers that one vector instruction handles; messages over one or two states use a half.
LANES = 4
#: Largest quotient in single precision: products of it and of sums of probabilities stay in the range of numbers.
LARGEST = 2.0**100


def stride(card: int) -> int:
    """Return how many numbers a message over ``card`` states takes.

    Examples
    --------
    >>> [stride(card) for card in (1, 2, 3, 4, 5)]
    [2, 2, 4, 4, 8]
    """
    return 2 if card <= 2 else (card + LANES - 1) // LANES * LANES


DOUBLE, SINGLE = ir.DoubleType(), ir.FloatType()


def number_type(array_type) -> ir.Type:
    """Return the type of an array's numbers, for the compiler."""
    return SINGLE if array_type.dtype == types.float32 else DOUBLE


def converted(builder, value, kind: ir.Type):
    """Emit a number or a vector in another precision."""
    if value.type == kind:
        return value
    narrow = (value.type.element if isinstance(value.type, ir.VectorType) else value.type) == DOUBLE
    return builder.fptrunc(value, kind) if narrow else builder.fpext(value, kind)


def _by_length(builder, step, emit) -> None:
    """Emit ``emit(length)`` for the usual lengths of a message, and ``emit(None)`` for all others."""

    def has_length(length: int):
        return builder.icmp_signed("==", step, ir.Constant(step.type, length))

    with builder.if_else(has_length(LANES)) as (four, others):
        with four:
            emit(LANES)
        with others, builder.if_else(has_length(2 * LANES)) as (eight, rest):
            with eight:
                emit(2 * LANES)
            with rest, builder.if_else(has_length(2)) as (two, many):
                with two:
                    emit(2)
                with many:
                    emit(None)


def _parts(builder, step, length: int | None, body) -> None:
    """Emit ``body(width, offset)`` for the parts of a message: without a loop if its length is known."""
    if length is None:
        begin = ir.Constant(step.type, 0)
        for width in (2 * LANES, LANES, LANES // 2):
            end = builder.and_(step, ir.Constant(step.type, -width))
            with cgutils.for_range_slice(builder, begin, end, ir.Constant(step.type, width)) as (offset, _):
                body(width, offset)
            begin = end
    else:
        width = min(length, LANES)
        for offset in range(0, length, width):
            body(width, ir.Constant(step.type, offset))


def _for_each_part(builder, step, body) -> None:
    """Emit ``body(width, offset)`` for the parts that a message of ``step`` numbers consists of."""
    _by_length(builder, step, lambda length: _parts(builder, step, length, body))


class _Message:
    """The numbers of an array from some position on, while code is generated.

    They are loaded, and handed over to be stored, as numbers of the type ``work``.
    """

    def __init__(self, context, builder, array_type, array, position, work=DOUBLE):
        self.builder, self.kind, self.work = builder, number_type(array_type), work
        self.data = context.make_array(array_type)(context, builder, array).data
        self.position = position

    def moved(self, distance) -> _Message:
        """Return the numbers that begin further on in the array."""
        other = copy(self)
        other.position = self.builder.add(self.position, distance)
        return other

    def _address(self, width: int, offset):
        place = self.builder.gep(self.data, [self.builder.add(self.position, offset)])
        return self.builder.bitcast(place, ir.VectorType(self.kind, width).as_pointer())

    def load(self, width: int, offset):
        value = self.builder.load(self._address(width, offset))
        value.align = size_of(self.kind)
        return converted(self.builder, value, ir.VectorType(self.work, width))

    def store(self, value, width: int, offset) -> None:
        value = converted(self.builder, value, ir.VectorType(self.kind, width))
        self.builder.store(value, self._address(width, offset)).align = size_of(self.kind)


def size_of(kind: ir.Type) -> int:
    """Return how many bytes a number takes."""
    return 8 if kind == DOUBLE else 4


def spread(builder, number, kind: ir.VectorType):
    """Emit a vector of one and the same number."""
    first = builder.insert_element(ir.Constant(kind, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
    nowhere = ir.Constant(ir.VectorType(ir.IntType(32), kind.count), [0] * kind.count)
    return builder.shuffle_vector(first, ir.Constant(kind, ir.Undefined), nowhere)


def _widest(array_types) -> ir.Type:
    """Return the type of number to work with, given some arrays."""
    return DOUBLE if any(number_type(kind) == DOUBLE for kind in array_types) else SINGLE


@intrinsic
def multiply(typing_context, target, at, left, i, right, j, step):
    """Set ``target[at:] = left[i:] * right[j:]`` for one message."""

    def generate(context, builder, signature, args):
        kinds = signature.args
        work = _widest([kinds[0], kinds[2], kinds[4]])
        out, x, y = (_Message(context, builder, kinds[k], args[k], args[k + 1], work) for k in (0, 2, 4))

        def part(width, offset):
            out.store(builder.fmul(x.load(width, offset), y.load(width, offset)), width, offset)

        _for_each_part(builder, args[6], part)
        return context.get_dummy_value()

    return types.void(target, types.intp, left, types.intp, right, types.intp, types.intp), generate


@intrinsic
def divide(typing_context, target, at, left, i, right, j, step):
    """Set ``target[at:] = left[i:] / right[j:]`` for one message, and zero where ``right`` is not positive.

    Numbers are divided in the precision of ``target``; in single precision no quotient exceeds LARGEST.
    """

    def generate(context, builder, signature, args):
        kinds = signature.args
        work = number_type(kinds[0])
        out, x, y = (_Message(context, builder, kinds[k], args[k], args[k + 1], work) for k in (0, 2, 4))

        def part(width, offset):
            kind = ir.VectorType(work, width)
            divisor, nothing = y.load(width, offset), ir.Constant(kind, [0.0] * width)
            positive = builder.fcmp_ordered(">", divisor, nothing)
            quotient = builder.fdiv(x.load(width, offset), divisor)
            if work == SINGLE:
                most = ir.Constant(kind, [LARGEST] * width)
                quotient = builder.select(builder.fcmp_ordered("<", quotient, most), quotient, most)
            out.store(builder.select(positive, quotient, nothing), width, offset)

        _for_each_part(builder, args[6], part)
        return context.get_dummy_value()

    return types.void(target, types.intp, left, types.intp, right, types.intp, types.intp), generate


@intrinsic
def add(typing_context, target, at, source, i, step):
    """Add one message to another: ``target[at:] += source[i:]``."""

    def generate(context, builder, signature, args):
        kinds = signature.args
        work = _widest([kinds[0], kinds[2]])
        out, x = (_Message(context, builder, kinds[k], args[k], args[k + 1], work) for k in (0, 2))

        def part(width, offset):
            out.store(builder.fadd(out.load(width, offset), x.load(width, offset)), width, offset)

        _for_each_part(builder, args[4], part)
        return context.get_dummy_value()

    return types.void(target, types.intp, source, types.intp, types.intp), generate


def _add_lanes(builder, message: _Message, step, length: int | None, total) -> None:
    """Emit adding up a message, pairs first, into the variable ``total``."""
    builder.store(ir.Constant(ir.DoubleType(), 0.0), total)

    def part(width, offset):
        lanes = message.load(width, offset)
        parts = [builder.extract_element(lanes, ir.Constant(ir.IntType(32), k)) for k in range(width)]
        for first in range(0, width, LANES):  # the order of sums does not depend on the width
            few = parts[first : first + LANES]
            while len(few) > 1:
                few = [builder.fadd(a, b) for a, b in zip(few[::2], few[1::2], strict=True)]
            builder.store(builder.fadd(builder.load(total), few[0]), total)

    _parts(builder, step, length, part)


@intrinsic
def add_up(typing_context, source, i, step):
    """Return the sum of one message."""

    def generate(context, builder, signature, args):
        x = _Message(context, builder, signature.args[0], args[0], args[1])
        total = cgutils.alloca_once(builder, ir.DoubleType())
        _by_length(builder, args[2], lambda length: _add_lanes(builder, x, args[2], length, total))
        return builder.load(total)

    return types.float64(source, types.intp, types.intp), generate


def _for_each_row(builder, count, step, body) -> None:
    """Emit ``body(number, begin, length, size)`` for every row: its number, where it begins, and how long it is."""

    def emit(length):
        size = step if length is None else ir.Constant(step.type, length)
        with cgutils.for_range(builder, count) as loop:
            body(loop.index, builder.mul(loop.index, size), length, size)

    _by_length(builder, step, emit)


def _slot(context, builder, array_type, array, position, size):
    """Emit reading the number of a slot; return where the slot begins."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.mul(builder.zext(builder.load(builder.gep(data, [position])), size.type), size)


@intrinsic
def gather_multiply(typing_context, numbers, first, target, at, left, i, source, j, count, step, alike):
    """Set ``target[row] = left[row] * source[numbers[row]]`` for ``count`` messages.

    With ``alike`` all rows have the same ``left``.
    """

    def generate(context, builder, signature, args):
        kinds = signature.args
        out, x, y = (_Message(context, builder, kinds[k], args[k], args[k + 1]) for k in (2, 4, 6))
        nothing = ir.Constant(args[9].type, 0)

        def row(number, begin, length, size):
            slot = y.moved(_slot(context, builder, kinds[0], args[0], builder.add(args[1], number), size))
            before, after = x.moved(builder.select(args[10], nothing, begin)), out.moved(begin)

            def part(width, offset):
                product = builder.fmul(before.load(width, offset), slot.load(width, offset))
                after.store(product, width, offset)

            _parts(builder, args[9], length, part)

        _for_each_row(builder, args[8], args[9], row)
        return context.get_dummy_value()

    place = types.intp
    kinds = (numbers, place, target, place, left, place, source, place, place, place, types.boolean)
    return types.void(*kinds), generate


@intrinsic
def scatter_add(typing_context, numbers, first, target, at, source, i, count, step):
    """Add messages to others: ``target[numbers[row]] += source[row]`` for ``count`` rows."""

    def generate(context, builder, signature, args):
        kinds = signature.args
        out, x = (_Message(context, builder, kinds[k], args[k], args[k + 1]) for k in (2, 4))

        def row(number, begin, length, size):
            slot = out.moved(_slot(context, builder, kinds[0], args[0], builder.add(args[1], number), size))
            added = x.moved(begin)

            def part(width, offset):
                total = builder.fadd(slot.load(width, offset), added.load(width, offset))
                slot.store(total, width, offset)

            _parts(builder, args[7], length, part)

        _for_each_row(builder, args[6], args[7], row)
        return context.get_dummy_value()

    place = types.intp
    return types.void(numbers, place, target, place, source, place, place, place), generate


@intrinsic
def add_up_rows(typing_context, target, source, count, step):
    """Set ``target[row]`` to the sum of the message ``source[row]``, for ``count`` rows."""

    def generate(context, builder, signature, args):
        x = _Message(context, builder, signature.args[1], args[1], ir.Constant(args[3].type, 0))
        sums = context.make_array(signature.args[0])(context, builder, args[0]).data
        total = cgutils.alloca_once(builder, ir.DoubleType())

        def row(number, begin, length, size):
            _add_lanes(builder, x.moved(begin), args[3], length, total)
            builder.store(builder.load(total), builder.gep(sums, [number]))

        _for_each_row(builder, args[2], args[3], row)
        return context.get_dummy_value()

    return types.void(target, source, types.intp, types.intp), generate


@intrinsic
def scale_rows(typing_context, target, at, source, factors, count, step):
    """Set ``target[row] = factors[row] * source[row]``, for ``count`` messages; ``target`` begins at ``at``."""

    def generate(context, builder, signature, args):
        kinds = signature.args
        out = _Message(context, builder, kinds[0], args[0], args[1])
        x = _Message(context, builder, kinds[2], args[2], ir.Constant(args[5].type, 0))
        numbers = context.make_array(kinds[3])(context, builder, args[3]).data

        def row(number, begin, length, size):
            factor, before, after = builder.load(builder.gep(numbers, [number])), x.moved(begin), out.moved(begin)

            def part(width, offset):
                factors_of_part = spread(builder, factor, ir.VectorType(DOUBLE, width))
                after.store(builder.fmul(before.load(width, offset), factors_of_part), width, offset)

            _parts(builder, args[5], length, part)

        _for_each_row(builder, args[4], args[5], row)
        return context.get_dummy_value()

    return types.void(target, types.intp, source, factors, types.intp, types.intp), generate


@intrinsic
def largest_in_rows(typing_context, target, source, i, count, step):
    """Set ``target[row]`` to the largest number of the message ``source[row]``, none of them negative."""

    def generate(context, builder, signature, args):
        x = _Message(context, builder, signature.args[1], args[1], args[2])
        found = context.make_array(signature.args[0])(context, builder, args[0]).data

        def larger(a, b):
            return builder.select(builder.fcmp_ordered(">", a, b), a, b)

        def row(number, begin, length, size):
            message = x.moved(begin)
            most = cgutils.alloca_once_value(builder, ir.Constant(DOUBLE, 0.0))
            builder.store(ir.Constant(DOUBLE, 0.0), most)

            def part(width, offset):
                lanes = message.load(width, offset)
                while width > 1:
                    width //= 2
                    halves = [[*range(begin, begin + width)] for begin in (0, width)]
                    low, high = (
                        builder.shuffle_vector(
                            lanes, lanes, ir.Constant(ir.VectorType(ir.IntType(32), width), half)
                        )
                        for half in halves
                    )  # fmt: skip
                    lanes = larger(low, high)
                lane = builder.extract_element(lanes, ir.Constant(ir.IntType(32), 0))
                builder.store(larger(lane, builder.load(most)), most)

            _parts(builder, args[4], length, part)
            builder.store(builder.load(most), builder.gep(found, [number]))

        _for_each_row(builder, args[3], args[4], row)
        return context.get_dummy_value()

    return types.void(target, source, types.intp, types.intp, types.intp), generate


@intrinsic
def power_of_two(typing_context, number):
    """Return the least power of two, as an exponent, that exceeds a number; neither zero nor nearly so."""

    def generate(context, builder, signature, args):
        bits = builder.bitcast(args[0], ir.IntType(64))
        place = builder.lshr(bits, ir.Constant(ir.IntType(64), 52))
        return builder.sub(place, ir.Constant(ir.IntType(64), 1022))

    return types.int64(types.float64), generate


@intrinsic
def two_to_the(typing_context, exponent):
    """Return a power of two, from 2**-1022 to 2**1023."""

    def generate(context, builder, signature, args):
        place = builder.add(args[0], ir.Constant(ir.IntType(64), 1023))
        return builder.bitcast(builder.shl(place, ir.Constant(ir.IntType(64), 52)), DOUBLE)

    return types.float64(types.int64), generate


@intrinsic
def is_single(typing_context, array):
    """Tell whether an array is of single precision: known when code is compiled."""

    def generate(context, builder, signature, args):
        return ir.Constant(ir.IntType(1), int(number_type(signature.args[0]) == SINGLE))

    return types.boolean(array), generate
