"""Products of messages, compiled: stored ones, and the last one at a pivot, which is never stored.

Messages can get too small for a floating-point number. A product whose largest entry is tiny is computed again with
an exponent for every state, and products of many factors are rescaled on the way. Exponents count factors of
``2**-512`` that were taken out of a message.

Messages of single precision have a shorter range. Products are computed in double all the same; a stored one is scaled
by a power of two, so that its largest entry is a half or more, and then rounded. Exponents count halves in this case.
"""

import numpy as np
from numba import int64

from pgmpy_latent.inference.kernels.vectors import (
    add,
    add_up,
    add_up_rows,
    gather_multiply,
    inlined,
    inner,
    is_single,
    largest_in_rows,
    multiply,
    power_of_two,
    scale_rows,
    scatter_add,
    two_to_the,
)

#: Columns of an operation.
KIND, SITE, SLOT, COUNT, A, B, TABLE, ABOVE, FIRSTS, HIGH = range(10)
#: Kinds of operation. The letters A and B stand for the columns of that name.
#: LEAF_BELOW, LEAF_ABOVE: the table of an observed child (parent) becomes messages, one per state; A: number
#:   of states; COUNT is one more if cells are missing.
#: HARD: indicator messages of an observed site; A: number of states. SOFT: given messages; A: first entry.
#: ONES: no evidence.
#: PRODUCT: A factors; FIRSTS: where in ``firsts`` their first slots stand; B: where in ``low`` the patterns stand that
#:   say which of a factor's slots to take, factor by factor; HIGH: where in ``high`` their upper halves stand, or -1.
#: EDGE: message of site A, whose product starts at slot B, through the table TABLE; ABOVE: A is the parent.
#: PIVOT: a PRODUCT that is never stored, with log-likelihood and posterior; SLOT: first pattern.
#: NUMBERS: all numeric columns below a site, B of them; A: first of their headers in ``soft``.
LEAF_BELOW, LEAF_ABOVE, HARD, SOFT, ONES, PRODUCT, EDGE, PIVOT, NUMBERS = range(9)

TINY = 2.0**-512
HUGE = 2.0**512
LOG_TINY = -512 * np.log(2.0)
#: Halves in TINY.
HALVES = 512
#: A product whose largest entry is smaller than this is computed again with one exponent per state.
SMALL = 1e-200
#: Likelihoods are multiplied before their logarithm is taken if they lie between this and its reciprocal; so no product
#: of one more leaves the range of numbers. Only soft evidence can make a likelihood exceed one.
LARGE = 1e100
#: Products of more factors than this are rescaled on the way, after as many factors each time.
LONG = 8
#: What rescaling on the way keeps clear of. It happens below TINY, so that messages never exceed one.
VANISHING = 2.0**-1000
#: Exponent of a state that a factor of zero rules out.
RULED_OUT = 2**40
#: Numbers that are multiplied together, factor by factor: few enough to stay in the nearest cache, many enough that
#: the messages of wide nodes, which do not, are fetched seldom.
BLOCK = 2048


@inner
def block_rows(step):
    """Return how many rows of ``step`` numbers are multiplied together."""
    return max(16, BLOCK // step)


@inner
def _slot_of_factor(op, low, high, firsts, factor, pattern):
    """Return the slot of a factor that a pattern of a product takes."""
    at = factor * op[COUNT] + pattern
    slot = firsts[op[FIRSTS] + factor] + low[op[B] + at]
    if op[HIGH] >= 0:
        slot += int64(high[op[HIGH] + at]) << 16
    return slot


@inner
def _scaled_product(op, up, base, card, step, low, high, firsts, pattern, out, at, powers):
    """Multiply the factors of one pattern with one exponent per state; return the common exponent."""
    for state in range(card):
        out[at + state] = 1.0
        powers[state] = 0
    for factor in range(op[A]):
        slot = base + _slot_of_factor(op, low, high, firsts, factor, pattern) * step
        for state in range(card):
            value = up[slot + state]
            if value < TINY and value > 0.0:
                value *= HUGE
                powers[state] += 1
            product = out[at + state] * value
            if product < TINY and product > 0.0:
                product *= HUGE
                powers[state] += 1
            out[at + state] = product
    least = -1
    for state in range(card):
        if out[at + state] > 0.0 and (least < 0 or powers[state] < least):
            least = powers[state]
    if least < 0:
        return 0
    for state in range(card):
        if powers[state] == least + 1:
            out[at + state] *= TINY
        elif powers[state] > least + 1:
            out[at + state] = 0.0
    return least


@inner
def clear(op, mass, base, step, firsts, lengths):
    """Set the mass of the factors of a product to zero, before it is summed: it is in the nearest cache then."""
    for factor in range(op[FIRSTS], op[FIRSTS] + op[A]):
        begin = base + firsts[factor] * step
        mass[begin : begin + lengths[factor] * step] = 0.0


@inner
def scatter(op, mass, base, step, low, high, firsts, first, n_rows, source, begin):
    """Add the mass of some patterns to that of their factors."""
    here, there = op[B] + first, op[HIGH] + first
    for factor in range(op[A]):
        start = base + firsts[op[FIRSTS] + factor] * step
        if op[HIGH] < 0:
            scatter_add(low, here, mass, start, source, begin, n_rows, step)
        else:
            for row in range(n_rows):
                pattern = low[here + row] + (int64(high[there + row]) << 16)
                add(mass, start + pattern * step, source, begin + row * step, step)
        here += op[COUNT]
        there += op[COUNT]


@inner
def _add_exponents(op, exponents, slot_base, low, high, firsts, first, n_rows, row_powers):
    """Add the exponents that the factors of some patterns bring along.

    No array is handed on for a single pattern: to count who holds it takes longer than all the rest.
    """
    here, there, has_high = op[B] + first, op[HIGH] + first, op[HIGH] >= 0
    for factor in range(op[A]):
        start = slot_base + firsts[op[FIRSTS] + factor]
        for row in range(n_rows):
            slot = start + low[here + row]
            if has_high:
                slot += int64(high[there + row]) << 16
            row_powers[row] += exponents[slot]
        here += op[COUNT]
        there += op[COUNT]


@inner
def _has_zero(op, up, base, step, low, high, firsts, pattern, state, last):
    """Tell whether one of the factors since the last rescaling rules a state out."""
    for factor in range(last - last % LONG, last + 1):
        if up[base + _slot_of_factor(op, low, high, firsts, factor, pattern) * step + state] == 0.0:
            return True
    return False


@inner
def _rescale_block(
    op, up, base, card, step, low, high, firsts, first, n_rows, last, out, begin, state_powers, row_powers
):
    """Take large powers out of the products so far; mark rows whose numbers may have vanished by -1."""
    for row in range(n_rows):
        for state in range(card):
            at = row * step + state
            value = out[begin + at]
            if value < TINY and state_powers[at] < RULED_OUT:
                if value >= VANISHING:
                    out[begin + at] = value * HUGE
                    state_powers[at] += 1
                elif _has_zero(op, up, base, step, low, high, firsts, first + row, state, last):
                    state_powers[at] = RULED_OUT
                else:
                    row_powers[row] = -1


@inner
def _align_block(out, begin, card, step, n_rows, state_powers, row_powers):
    """Give all states of a row the same exponent."""
    for row in range(n_rows):
        if row_powers[row] < 0:
            continue
        at = row * step
        least = state_powers[at]
        for state in range(1, card):
            least = min(least, state_powers[at + state])
        row_powers[row] = least if least < RULED_OUT else 0
        for state in range(card):
            if state_powers[at + state] == least + 1:
                out[begin + at + state] *= TINY
            elif state_powers[at + state] > least + 1:
                out[begin + at + state] = 0.0


@inner
def _multiply_block(
    op, up, base, card, step, low, high, firsts, first, n_rows, out, begin, prior, state_powers, row_powers
):
    """Multiply prior and factors of some patterns, factor by factor, into ``out`` from ``begin`` on.

    ``row_powers`` gets the exponents, or -1 where a row must be done with care.
    """
    is_long = op[A] > LONG
    row_powers[:n_rows] = 0
    if is_long:
        for row in range(n_rows):
            for state in range(card):
                state_powers[row * step + state] = 0 if prior[state] > 0.0 else RULED_OUT
    here, there = op[B] + first, op[HIGH] + first
    for factor in range(op[A]):
        start = base + firsts[op[FIRSTS] + factor] * step
        if op[HIGH] < 0 and factor == 0:
            gather_multiply(low, here, out, begin, prior, 0, up, start, n_rows, step, True)
        elif op[HIGH] < 0:
            gather_multiply(low, here, out, begin, out, begin, up, start, n_rows, step, False)
        else:
            for row in range(n_rows):
                pattern = low[here + row] + (int64(high[there + row]) << 16)
                at = begin + row * step
                if factor == 0:
                    multiply(out, at, prior, 0, up, start + pattern * step, step)
                else:
                    multiply(out, at, out, at, up, start + pattern * step, step)
        here += op[COUNT]
        there += op[COUNT]
        if is_long and (factor % LONG == LONG - 1 or factor == op[A] - 1):
            _rescale_block(
                op, up, base, card, step, low, high, firsts, first, n_rows, factor, out, begin, state_powers,
                row_powers,
            )  # fmt: skip
    if is_long:
        _align_block(out, begin, card, step, n_rows, state_powers, row_powers)


@inner
def _largest(out, at, card):
    largest = 0.0
    for state in range(card):
        if out[at + state] > largest:
            largest = out[at + state]
    return largest


@inlined
def product(
    op, begin, end, up, exponents, base, slot_base, card, step, low, high, firsts, powers, scaled, ones, state_powers,
    row_powers, largest,
):  # fmt: skip
    """Fill the slots of a PRODUCT from ``begin`` to ``end``; return whether any of them carries an exponent."""
    out = base + op[SLOT] * step
    any_scaled = False
    rows = block_rows(step)
    for first in range(begin, end, rows):
        n_rows = min(rows, end - first)
        _multiply_block(
            op, up, base, card, step, low, high, firsts, first, n_rows, up, out + first * step, ones, state_powers,
            row_powers,
        )  # fmt: skip
        largest_in_rows(largest, up, out + first * step, n_rows, step)
        for row in range(n_rows):
            if row_powers[row] < 0 or largest[row] < SMALL:
                pattern = first + row
                at = out + pattern * step
                row_powers[row] = _scaled_product(op, up, base, card, step, low, high, firsts, pattern, up, at, powers)
        if scaled:
            _add_exponents(op, exponents, slot_base, low, high, firsts, first, n_rows, row_powers)
        for row in range(n_rows):
            if row_powers[row] != 0:
                exponents[slot_base + op[SLOT] + first + row] = row_powers[row]
                any_scaled = True
    return any_scaled


@inner
def rounded_product(
    op, begin, end, up, exponents, base, slot_base, card, step, low, high, firsts, powers, scaled, ones, state_powers,
    row_powers, block, factors,
):  # fmt: skip
    """Fill the slots of a PRODUCT of single precision from ``begin`` to ``end``; all carry exponents."""
    out = base + op[SLOT] * step
    rows = block_rows(step)
    for first in range(begin, end, rows):
        n_rows = min(rows, end - first)
        _multiply_block(
            op, up, base, card, step, low, high, firsts, first, n_rows, block, int64(0), ones, state_powers, row_powers
        )
        largest_in_rows(factors, block, int64(0), n_rows, step)
        for row in range(n_rows):
            if row_powers[row] < 0 or factors[row] < SMALL:
                at = row * step
                row_powers[row] = _scaled_product(
                    op, up, base, card, step, low, high, firsts, first + row, block, at, powers
                )
                factors[row] = _largest(block, at, card)
            exponent = power_of_two(factors[row]) if factors[row] > 0.0 else int64(0)
            factors[row] = two_to_the(-exponent)
            row_powers[row] = row_powers[row] * HALVES - exponent
        if scaled:
            _add_exponents(op, exponents, slot_base, low, high, firsts, first, n_rows, row_powers)
        for row in range(n_rows):
            exponents[slot_base + op[SLOT] + first + row] = row_powers[row]
        scale_rows(up, out + first * step, block, factors, n_rows, step)


# The pivot: the last product, never stored


@inlined
def _finish_block(
    op, up, exponents, base, slot_base, card, step, low, high, firsts, first, n_rows, weights, row_logs, keep_logs,
    scaled, block, likelihoods, powers, prior, row_powers,
):  # fmt: skip
    """Turn products into posterior mass, in place; return the weighted log-likelihood."""
    unit = LOG_TINY / HALVES if is_single(up) else LOG_TINY
    add_up_rows(likelihoods, block, n_rows, step)
    for row in range(n_rows):
        pattern, at = first + row, row * step
        if row_powers[row] < 0 or likelihoods[row] < SMALL:
            power = _scaled_product(op, up, base, card, step, low, high, firsts, pattern, block, at, powers)
            multiply(block, at, block, at, prior, 0, step)
            likelihoods[row] = add_up(block, at, step)
            row_powers[row] = power
    if is_single(up):
        for row in range(n_rows):
            row_powers[row] *= HALVES
    if scaled:
        _add_exponents(op, exponents, slot_base, low, high, firsts, first, n_rows, row_powers)
    place = op[SLOT] + first
    if keep_logs:
        for row in range(n_rows):
            row_logs[place + row] = np.log(likelihoods[row]) + row_powers[row] * unit
    total = _weighted_logs(likelihoods, row_powers, weights, place, n_rows, unit)
    for row in range(n_rows):
        share = weights[place + row] / likelihoods[row]
        likelihoods[row] = share if likelihoods[row] > 0.0 else 0.0
    scale_rows(block, int64(0), block, likelihoods, n_rows, step)
    return total


@inner
def _weighted_logs(likelihoods, row_powers, weights, place, n_rows, unit):
    """Return the sum of the weighted logarithms of the likelihoods; ``unit`` is the logarithm of an exponent of one."""
    total = 0.0
    together = 1.0  # the likelihoods of rows of weight one: the logarithm of their product costs one, not many
    for row in range(n_rows):
        weight, likelihood = weights[place + row], likelihoods[row]
        if weight == 1.0 and 1 / LARGE < likelihood < LARGE:
            together *= likelihood
            if together < SMALL or together > LARGE:
                total += np.log(together)
                together = 1.0
        elif weight > 0.0:
            total += weight * np.log(likelihood)
        if row_powers[row] != 0:
            total += weight * row_powers[row] * unit
    return total + np.log(together)


@inlined
def pivot(
    op, begin, end, up, exponents, mass, mass_base, mass_firsts, base, slot_base, card, step, low, high, firsts,
    prior_at, theta, weights, row_logs, keep_logs, backward, scaled, block, likelihoods, powers, prior, state_powers,
    row_powers, counts,
):  # fmt: skip
    """Run the last product block by block, from pattern ``begin`` to ``end``; return their log-likelihood.

    The mass of its factors goes to ``mass``, where they lie from ``mass_base`` on as ``mass_firsts`` says.
    """
    for state in range(step):
        prior[state] = 0.0 if state >= card else (theta[prior_at + state] if prior_at >= 0 else 1.0)
    total = 0.0
    rows = block_rows(step)
    for first in range(begin, end, rows):
        n_rows = min(rows, end - first)
        _multiply_block(
            op, up, base, card, step, low, high, firsts, first, n_rows, block, int64(0), prior, state_powers, row_powers
        )
        total += _finish_block(
            op, up, exponents, base, slot_base, card, step, low, high, firsts, first, n_rows, weights, row_logs,
            keep_logs, scaled, block, likelihoods, powers, prior, row_powers,
        )  # fmt: skip
        if not backward:
            continue
        if prior_at >= 0:
            for row in range(n_rows):
                for state in range(card):
                    counts[prior_at + state] += block[row * step + state]
        scatter(op, mass, mass_base, step, low, high, mass_firsts, first, n_rows, block, int64(0))
    return total
