"""Arithmetic on a few neighbouring numbers at once.

The compiler vectorises long loops by itself, but not the short ones over the states of one message, which are
nearly all that message passing consists of. So messages are laid out in steps of :func:`stride` numbers, and these
functions work on a whole step with one or a few vector instructions. Padding is always zero.
"""

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic


def stride(card: int) -> int:
    """Return how many numbers a message over ``card`` states takes.

    Examples
    --------
    >>> [stride(card) for card in (1, 2, 3, 4, 5)]
    [2, 2, 4, 4, 8]
    """
    return 2 if card <= 2 else (card + 3) // 4 * 4


def _lanes(width: int) -> ir.VectorType:
    return ir.VectorType(ir.DoubleType(), width)


def _address(context, builder, array_type, array, offset, width):
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [offset]), _lanes(width).as_pointer())


def _load(builder, address):
    value = builder.load(address)
    value.align = 8
    return value


def _store(builder, value, address):
    builder.store(value, address).align = 8


def _spread(builder, number, width):
    lanes = ir.Constant(_lanes(width), ir.Undefined)
    for lane in range(width):
        lanes = builder.insert_element(lanes, number, ir.Constant(ir.IntType(32), lane))
    return lanes


def _combine(operation: str, width: int):
    """Return ``target[at:] = left[i:] operation right[j:]`` for ``width`` numbers."""

    @intrinsic
    def combine(typing_context, target, at, left, i, right, j):
        def generate(context, builder, signature, args):
            kinds = signature.args
            x = _load(builder, _address(context, builder, kinds[2], args[2], args[3], width))
            y = _load(builder, _address(context, builder, kinds[4], args[4], args[5], width))
            place = _address(context, builder, kinds[0], args[0], args[1], width)
            _store(builder, getattr(builder, operation)(x, y), place)
            return context.get_dummy_value()

        return types.void(target, types.intp, left, types.intp, right, types.intp), generate

    return combine


def _scale(width: int):
    """Return ``target[at:] *= factor`` for ``width`` numbers."""

    @intrinsic
    def scale(typing_context, target, at, factor):
        def generate(context, builder, signature, args):
            place = _address(context, builder, signature.args[0], args[0], args[1], width)
            product = builder.fmul(_load(builder, place), _spread(builder, args[2], width))
            _store(builder, product, place)
            return context.get_dummy_value()

        return types.void(target, types.intp, types.float64), generate

    return scale


def _add_scaled(width: int):
    """Return ``target[at:] += factor * source[i:]`` for ``width`` numbers."""

    @intrinsic
    def add_scaled(typing_context, target, at, factor, source, i):
        def generate(context, builder, signature, args):
            kinds = signature.args
            place = _address(context, builder, kinds[0], args[0], args[1], width)
            x = _load(builder, _address(context, builder, kinds[3], args[3], args[4], width))
            product = builder.fmul(x, _spread(builder, args[2], width))
            _store(builder, builder.fadd(_load(builder, place), product), place)
            return context.get_dummy_value()

        return types.void(target, types.intp, types.float64, source, types.intp), generate

    return add_scaled


def _add_up(width: int):
    """Return the sum of ``width`` numbers, pairs first."""

    @intrinsic
    def add_up(typing_context, source, i):
        def generate(context, builder, signature, args):
            lanes = _load(builder, _address(context, builder, signature.args[0], args[0], args[1], width))
            parts = [builder.extract_element(lanes, ir.Constant(ir.IntType(32), k)) for k in range(width)]
            while len(parts) > 1:
                parts = [builder.fadd(a, b) for a, b in zip(parts[::2], parts[1::2], strict=True)]
            return parts[0]

        return types.float64(source, types.intp), generate

    return add_up


_multiply2, _multiply4 = _combine("fmul", 2), _combine("fmul", 4)
_add2, _add4 = _combine("fadd", 2), _combine("fadd", 4)
_scale2, _scale4 = _scale(2), _scale(4)
_add_scaled2, _add_scaled4 = _add_scaled(2), _add_scaled(4)
_add_up2, _add_up4 = _add_up(2), _add_up(4)


@njit(nogil=True, inline="always")
def multiply(target, at, left, i, right, j, step):
    """Set ``target = left * right`` for one message of ``step`` numbers."""
    if step == 2:
        _multiply2(target, at, left, i, right, j)
    else:
        for k in range(0, step, 4):
            _multiply4(target, at + k, left, i + k, right, j + k)


@njit(nogil=True, inline="always")
def add(target, at, source, i, step):
    """Add one message to another: ``target += source``."""
    if step == 2:
        _add2(target, at, target, at, source, i)
    else:
        for k in range(0, step, 4):
            _add4(target, at + k, target, at + k, source, i + k)


@njit(nogil=True, inline="always")
def scale(target, at, factor, step):
    """Multiply one message by a number."""
    if step == 2:
        _scale2(target, at, factor)
    else:
        for k in range(0, step, 4):
            _scale4(target, at + k, factor)


@njit(nogil=True, inline="always")
def add_scaled(target, at, factor, source, i, step):
    """Add a multiple of one message to another."""
    if step == 2:
        _add_scaled2(target, at, factor, source, i)
    else:
        for k in range(0, step, 4):
            _add_scaled4(target, at + k, factor, source, i + k)


@njit(nogil=True, inline="always")
def add_up(source, i, step):
    """Return the sum of one message."""
    if step == 2:
        return _add_up2(source, i)
    total = _add_up4(source, i)
    for k in range(4, step, 4):
        total += _add_up4(source, i + k)
    return total
