"""The compiled message passing: arrays in, arrays out.

One call runs a whole plan for every start. A plan is a list of operations on *slots*; a slot is a vector
over the states of one site (a node in the message tree). Upwards, operations fill ``up`` with messages.
Downwards, ``mass`` holds for every slot the total weight of the rows that use it, spread over the states by
their posterior. Working with posterior mass in place of gradients has two gifts: a product passes its mass on
to its factors unchanged, and the scale of a message cancels, so that only the log-likelihood has to know of
rescaling.

Exponents count factors of ``2**-512`` that were taken out of a message.
"""

import numpy as np
from numba import boolean, float64, int8, int32, int64, njit, void
from numba.core.types import Array

from pgmpy_latent.propagation.vectors import add, add_scaled, add_up, multiply, scale

#: Columns of an operation.
KIND, SITE, SLOT, COUNT, A, B, TABLE, ABOVE = range(8)
#: Kinds of operation. The letters A and B stand for the columns of that name.
#: LEAF_BELOW, LEAF_ABOVE: the table of an observed child (parent) becomes messages, one per state; A: number
#:   of states; COUNT is one more if cells are missing.
#: HARD: indicator messages of an observed site; A: number of states. SOFT: given messages; A: first entry.
#: ONES: no evidence.
#: PRODUCT: A factors; B: where in ``index`` their slots stand, factor by factor.
#: EDGE: message of site A, whose product starts at slot B, through the table TABLE; ABOVE: A is the parent.
#: PIVOT: a PRODUCT that is never stored, with log-likelihood and posterior; SLOT: first pattern.
LEAF_BELOW, LEAF_ABOVE, HARD, SOFT, ONES, PRODUCT, EDGE, PIVOT = range(8)

TINY = 2.0**-512
HUGE = 2.0**512
LOG_TINY = -512 * np.log(2.0)
#: A product whose largest entry is smaller than this is computed again with one exponent per state.
SMALL = 1e-200
#: Products of more factors than this are rescaled on the way, after as many factors each time.
LONG = 16
#: What rescaling on the way keeps clear of, and the size from which on it happens.
VANISHING, ROOT_TINY = 2.0**-960, 2.0**-256
#: Numbers that are multiplied together, factor by factor: few enough to stay in the nearest cache, many enough that
#: the messages of wide nodes, which do not, are fetched seldom.
BLOCK = 2048


def _in(dtype, ndim):
    """Return the type of a read-only, contiguous input."""
    return Array(dtype, ndim, "C", readonly=True)


@njit(nogil=True)
def block_rows(step):
    """Return how many rows of ``step`` numbers are multiplied together."""
    return max(16, BLOCK // step)


# Products


@njit(nogil=True)
def _scaled_product(up, base, card, step, index, pointer, count, factors, pattern, out, at, powers):
    """Multiply the factors of one pattern with one exponent per state; return the common exponent."""
    for state in range(card):
        out[at + state] = 1.0
        powers[state] = 0
    for factor in range(factors):
        slot = base + index[pointer + factor * count + pattern] * step
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


@njit(nogil=True)
def _multiply_block(up, base, step, index, pointer, count, factors, first, n_rows, out, begin, prior):
    """Multiply prior and factors of some patterns, factor by factor, into ``out`` from ``begin`` on."""
    here = pointer + first
    for row in range(n_rows):
        multiply(out, begin + row * step, prior, 0, up, base + index[here + row] * step, step)
    for _ in range(1, factors):
        here += count
        for row in range(n_rows):
            at = begin + row * step
            multiply(out, at, out, at, up, base + index[here + row] * step, step)


@njit(nogil=True)
def _rescale_block(out, begin, card, step, n_rows, state_powers, row_powers):
    """Take large powers out of the products so far; mark rows whose numbers may have vanished by -1."""
    for row in range(n_rows):
        at = row * step
        for state in range(card):
            value = out[begin + at + state]
            if value < ROOT_TINY:
                if value < VANISHING:
                    row_powers[row] = -1
                else:
                    out[begin + at + state] = value * HUGE
                    state_powers[at + state] += 1


@njit(nogil=True)
def _align_block(out, begin, card, step, n_rows, state_powers, row_powers):
    """Give all states of a row the same exponent."""
    for row in range(n_rows):
        if row_powers[row] < 0:
            continue
        at = row * step
        least = state_powers[at]
        for state in range(1, card):
            least = min(least, state_powers[at + state])
        row_powers[row] = least
        for state in range(card):
            if state_powers[at + state] == least + 1:
                out[begin + at + state] *= TINY
            elif state_powers[at + state] > least + 1:
                out[begin + at + state] = 0.0


@njit(nogil=True)
def _multiply_long_block(
    up, base, card, step, index, pointer, count, factors, first, n_rows, out, begin, prior, ones,
    state_powers, row_powers,
):  # fmt: skip
    """Do the same for many factors; ``row_powers`` gets the exponents, or -1 where a row must be done with care."""
    row_powers[:n_rows] = 0
    if factors <= LONG:
        _multiply_block(up, base, step, index, pointer, count, factors, first, n_rows, out, begin, prior)
        return
    state_powers[: n_rows * step] = 0
    here = pointer + first
    for row in range(n_rows):
        multiply(out, begin + row * step, prior, 0, ones, 0, step)
    for factor in range(factors):
        for row in range(n_rows):
            at = begin + row * step
            multiply(out, at, out, at, up, base + index[here + row] * step, step)
        here += count
        if factor % LONG == LONG - 1:
            _rescale_block(out, begin, card, step, n_rows, state_powers, row_powers)
    _rescale_block(out, begin, card, step, n_rows, state_powers, row_powers)
    _align_block(out, begin, card, step, n_rows, state_powers, row_powers)


@njit(nogil=True)
def _largest(out, at, card):
    largest = 0.0
    for state in range(card):
        if out[at + state] > largest:
            largest = out[at + state]
    return largest


@njit(nogil=True)
def _product(op, up, exponents, base, slot_base, card, step, index, powers, scaled, ones, state_powers, row_powers):
    """Fill the slots of a PRODUCT; return whether any slot of it carries an exponent."""
    count, factors, pointer = op[COUNT], op[A], op[B]
    out = base + op[SLOT] * step
    any_scaled = False
    rows = block_rows(step)
    for first in range(0, count, rows):
        n_rows = min(rows, count - first)
        _multiply_long_block(
            up, base, card, step, index, pointer, count, factors, first, n_rows, up, out + first * step, ones,
            ones, state_powers, row_powers,
        )  # fmt: skip
        for pattern in range(first, first + n_rows):
            power = row_powers[pattern - first]
            at = out + pattern * step
            if power < 0 or _largest(up, at, card) < SMALL:
                power = _scaled_product(up, base, card, step, index, pointer, count, factors, pattern, up, at, powers)
            if scaled:
                for factor in range(factors):
                    power += exponents[slot_base + index[pointer + factor * count + pattern]]
            if power != 0:
                exponents[slot_base + op[SLOT] + pattern] = power
                any_scaled = True
    return any_scaled


@njit(nogil=True)
def _product_mass(op, mass, base, step, index):
    """Pass the mass of a stored product on to its factors."""
    count, factors, pointer = op[COUNT], op[A], op[B]
    out = base + op[SLOT] * step
    for _ in range(factors):
        for pattern in range(count):
            add(mass, base + index[pointer + pattern] * step, mass, out + pattern * step, step)
        pointer += count


# The pivot: the last product, never stored


@njit(nogil=True)
def _finish_block(
    op, up, exponents, base, slot_base, card, step, index, first, n_rows, weights, row_logs, keep_logs,
    scaled, block, powers, prior, row_powers,
):  # fmt: skip
    """Turn products into posterior mass, in place; return the weighted log-likelihood."""
    count, factors, pointer = op[COUNT], op[A], op[B]
    total = 0.0
    together = 1.0  # the likelihoods of rows of weight one: a logarithm of their product costs one, not many
    for row in range(n_rows):
        pattern = first + row
        at = row * step
        weight = weights[op[SLOT] + pattern]
        power = row_powers[row]
        likelihood = add_up(block, at, step)
        if power < 0 or likelihood < SMALL:
            power = _scaled_product(up, base, card, step, index, pointer, count, factors, pattern, block, at, powers)
            multiply(block, at, block, at, prior, 0, step)
            likelihood = add_up(block, at, step)
        if scaled:
            for factor in range(factors):
                power += exponents[slot_base + index[pointer + factor * count + pattern]]
        if keep_logs:
            log = np.log(likelihood) if likelihood > 0.0 else -np.inf
            row_logs[op[SLOT] + pattern] = log + power * LOG_TINY
        if weight == 1.0 and likelihood > TINY:
            together *= likelihood
            if together < SMALL:
                total += np.log(together)
                together = 1.0
        elif weight > 0.0:
            total += weight * np.log(likelihood) if likelihood > 0.0 else -np.inf
        if power != 0:
            total += weight * power * LOG_TINY
        scale(block, at, weight / likelihood if likelihood > 0.0 else 0.0, step)
    return total + np.log(together)


@njit(nogil=True)
def _pivot(
    op, up, exponents, mass, base, slot_base, card, step, index, prior_at, theta, weights,
    row_logs, keep_logs, backward, scaled, block, powers, prior, ones, state_powers, row_powers, counts,
):  # fmt: skip
    """Run the last product block by block; return the log-likelihood of its patterns."""
    count, factors, pointer = op[COUNT], op[A], op[B]
    for state in range(step):
        prior[state] = 0.0 if state >= card else (theta[prior_at + state] if prior_at >= 0 else 1.0)
    total = 0.0
    rows = block_rows(step)
    for first in range(0, count, rows):
        n_rows = min(rows, count - first)
        _multiply_long_block(
            up, base, card, step, index, pointer, count, factors, first, n_rows, block, 0, prior, ones,
            state_powers, row_powers,
        )  # fmt: skip
        total += _finish_block(
            op, up, exponents, base, slot_base, card, step, index, first, n_rows, weights, row_logs,
            keep_logs, scaled, block, powers, prior, row_powers,
        )  # fmt: skip
        if not backward:
            continue
        if prior_at >= 0:
            for row in range(n_rows):
                for state in range(card):
                    counts[prior_at + state] += block[row * step + state]
        here = pointer + first
        for _ in range(factors):
            for row in range(n_rows):
                add(mass, base + index[here + row] * step, block, row * step, step)
            here += count
    return total


# Edges


@njit(nogil=True)
def _edge_matrix(op, edge, site_card, site_step, site_prior, table_offset, theta):
    """Write the factor [sender, receiver] of an EDGE; return where the sender's prior stands, or -1.

    The root's prior travels with its message.
    """
    source = op[A]
    rows, columns, step = site_card[source], site_card[op[SITE]], site_step[op[SITE]]
    table = table_offset[op[TABLE]]
    prior = site_prior[source] if op[ABOVE] else -1
    for row in range(rows):
        weight = theta[prior + row] if prior >= 0 else 1.0
        for column in range(columns):
            if op[ABOVE]:
                edge[row * step + column] = weight * theta[table + row * columns + column]
            else:
                edge[row * step + column] = theta[table + column * rows + row]
        for column in range(columns, step):
            edge[row * step + column] = 0.0
    return prior


@njit(nogil=True)
def _send(op, up, power, edge, site_card, site_step, site_base, site_slots, site_prior, table_offset, theta, scaled):
    """Run an EDGE upwards: message = what the sender knows @ edge."""
    source, site = op[A], op[SITE]
    rows, sender_step, step = site_card[source], site_step[source], site_step[site]
    _edge_matrix(op, edge, site_card, site_step, site_prior, table_offset, theta)
    begin = site_base[source] + op[B] * sender_step
    out = site_base[site] + op[SLOT] * step
    for pattern in range(op[COUNT]):
        at = out + pattern * step
        for state in range(step):
            up[at + state] = 0.0
        for row in range(rows):
            value = up[begin + pattern * sender_step + row]
            if value != 0.0:
                add_scaled(up, at, value, edge, row * step, step)
    if scaled[source]:
        scaled[site] = True
        here, there = site_slots[site] + op[SLOT], site_slots[source] + op[B]
        for pattern in range(op[COUNT]):
            power[here + pattern] = power[there + pattern]


@njit(nogil=True)
def _return(op, up, mass, edge, pairs, block, site_card, site_step, site_base, site_prior, table_offset, theta, counts):
    """Run an EDGE downwards: mass of the message becomes mass of what was sent, and counts of pairs."""
    source, site = op[A], op[SITE]
    rows, sender_step = site_card[source], site_step[source]
    columns, step = site_card[site], site_step[site]
    prior = _edge_matrix(op, edge, site_card, site_step, site_prior, table_offset, theta)
    pairs[: rows * step] = 0.0
    begin = site_base[source] + op[B] * sender_step
    out = site_base[site] + op[SLOT] * step
    for state in range(step):
        block[state] = 0.0
    for pattern in range(op[COUNT]):
        for column in range(columns):
            message = up[out + pattern * step + column]
            block[column] = mass[out + pattern * step + column] / message if message > 0.0 else 0.0
        for row in range(rows):
            value = up[begin + pattern * sender_step + row]
            if value != 0.0:
                add_scaled(pairs, row * step, value, block, 0, step)
                multiply(block, step, block, 0, edge, row * step, step)
                mass[begin + pattern * sender_step + row] = value * add_up(block, step, step)
    table = table_offset[op[TABLE]]
    for row in range(rows):
        for column in range(columns):
            count = pairs[row * step + column] * edge[row * step + column]
            if op[ABOVE]:
                counts[table + row * columns + column] += count
                if prior >= 0:
                    counts[prior + row] += count
            else:
                counts[table + column * rows + row] += count


# Evidence


@njit(nogil=True)
def _leaf(op, up, base, card, step, table, theta):
    """Fill the messages of an observed leaf; a missing cell says nothing."""
    states = op[A]
    for slot in range(op[COUNT]):
        at = base + (op[SLOT] + slot) * step
        for state in range(step):
            if state >= card:
                up[at + state] = 0.0
            elif slot >= states:
                up[at + state] = 1.0
            elif op[KIND] == LEAF_BELOW:
                up[at + state] = theta[table + state * states + slot]
            else:
                up[at + state] = theta[table + slot * card + state]


@njit(nogil=True)
def _leaf_counts(op, mass, base, card, step, table, theta, counts):
    states = op[A]
    begin = base + op[SLOT] * step
    for code in range(states):
        for state in range(card):
            at = table + (state * states + code if op[KIND] == LEAF_BELOW else code * card + state)
            counts[at] += mass[begin + code * step + state]
    for slot in range(states, op[COUNT]):  # missing cells: spread by the table
        for state in range(card):
            for code in range(states):
                at = table + state * states + code
                counts[at] += mass[begin + slot * step + state] * theta[at]


@njit(nogil=True)
def _evidence(op, up, base, card, step, soft):
    for slot in range(op[COUNT]):
        at = base + (op[SLOT] + slot) * step
        for state in range(step):
            if state >= card:
                up[at + state] = 0.0
            elif op[KIND] == SOFT:
                up[at + state] = soft[op[A] + slot * card + state]
            elif op[KIND] == HARD and slot < op[A]:
                up[at + state] = 1.0 if slot == state else 0.0
            else:
                up[at + state] = 1.0


@njit(nogil=True)
def _mute(op, up, base, card, step):
    """Overwrite the messages of an operation with ones: what they say is not to be heard."""
    for slot in range(op[SLOT], op[SLOT] + op[COUNT]):
        for state in range(card):
            up[base + slot * step + state] = 1.0


# All together


@njit(nogil=True)
def _upward(
    ops, index, site_card, site_step, site_base, site_slots, site_prior, table_offset, soft, weights, theta,
    muted, counts, row_logs, keep_logs, backward, up, mass, power, scaled, block, powers, edge, prior, ones,
    state_powers, row_powers,
):  # fmt: skip
    """Fill all messages and finish at the pivots; return the log-likelihood."""
    total = 0.0
    for number in range(ops.shape[0]):
        op = ops[number]
        kind, site = op[KIND], op[SITE]
        card, step, base = site_card[site], site_step[site], site_base[site]
        if kind == LEAF_BELOW or kind == LEAF_ABOVE:
            _leaf(op, up, base, card, step, table_offset[op[TABLE]], theta)
        elif kind == PRODUCT:
            if _product(
                op, up, power, base, site_slots[site], card, step, index, powers, scaled[site], ones,
                state_powers, row_powers,
            ):  # fmt: skip
                scaled[site] = True
        elif kind == EDGE:
            _send(
                op, up, power, edge, site_card, site_step, site_base, site_slots, site_prior, table_offset,
                theta, scaled,
            )  # fmt: skip
        elif kind == PIVOT:
            total += _pivot(
                op, up, power, mass, base, site_slots[site], card, step, index, site_prior[site], theta,
                weights, row_logs, keep_logs, backward, scaled[site], block, powers, prior, ones, state_powers,
                row_powers, counts,
            )  # fmt: skip
        else:
            _evidence(op, up, base, card, step, soft)
        if muted[number]:
            _mute(op, up, base, card, step)
    return total


@njit(nogil=True)
def _downward(
    ops, index, site_card, site_step, site_base, site_prior, table_offset, theta, wanted, counts, up, mass,
    edge, pairs, block,
):  # fmt: skip
    """Bring the mass from the pivots down to the tables."""
    for number in range(ops.shape[0] - 1, -1, -1):
        if not wanted[number]:
            continue
        op = ops[number]
        kind, site = op[KIND], op[SITE]
        card, step, base = site_card[site], site_step[site], site_base[site]
        if kind == LEAF_BELOW or kind == LEAF_ABOVE:
            _leaf_counts(op, mass, base, card, step, table_offset[op[TABLE]], theta, counts)
        elif kind == PRODUCT:
            _product_mass(op, mass, base, step, index)
        elif kind == EDGE:
            _return(
                op, up, mass, edge, pairs, block, site_card, site_step, site_base, site_prior, table_offset,
                theta, counts,
            )  # fmt: skip


@njit(
    void(
        _in(int64, 2), _in(int32, 1), _in(int64, 1), _in(int64, 1), _in(int64, 1), _in(int64, 1),
        _in(int64, 1), _in(int64, 1), _in(float64, 1), _in(float64, 1), _in(float64, 2), _in(int8, 1),
        _in(int8, 1), float64[:, ::1], float64[::1], float64[:, ::1], boolean, boolean, float64[::1],
        float64[::1], int32[::1],
    ),
    nogil=True,
    cache=True,
)  # fmt: skip
def run(
    ops, index, site_card, site_step, site_base, site_slots, site_prior, table_offset, soft, weights,
    tables, wanted, muted, counts, log_likelihoods, row_logs, keep_logs, backward, up, mass, exponents,
):  # fmt: skip
    """Run a plan for every start.

    Parameters
    ----------
    ops : int64 (n_ops, 8)
        The operations, in upward order.
    index : int32
        Slots of the factors of all products.
    site_card, site_step, site_base, site_slots, site_prior : int64 (n_sites,)
        States of the site, numbers per slot, its first entry in ``up``, its first slot, and the entry of ``tables``
        where the prior of the site starts if it is a root (-1: none).
    table_offset : int64 (n_tables,)
        First entry of each table.
    soft : float64
        Given messages.
    weights : float64 (n_patterns,)
        Weight of every pattern at the pivots.
    tables : float64 (starts, size)
        Parameters.
    wanted, muted : int8 (n_ops,)
        Operations with a free table at or below them (others are left out on the way down); operations whose
        messages are replaced by ones.
    counts : float64 (starts, size), written
        Expected counts.
    log_likelihoods : float64 (starts,), written
    row_logs : float64 (starts, n_patterns), written if ``keep_logs``
        Log-likelihood of each pattern.
    up, mass : float64 (n_entries,), written
        Workspace: messages, and their mass.
    exponents : int32 (n_slots,), written
        Workspace: exponents of the messages.
    """
    widest = site_step.max()
    block = np.empty(max(BLOCK, 16 * widest))
    powers = np.empty(widest, np.int64)
    state_powers = np.empty(block.shape[0], np.int64)
    row_powers = np.empty(BLOCK, np.int64)
    prior = np.empty(widest)
    ones = np.ones(widest)
    edge = np.empty(widest * widest)
    pairs = np.empty(widest * widest)
    scaled = np.empty(site_card.shape[0], np.bool_)
    for start in range(tables.shape[0]):
        scaled[:] = False
        exponents[:] = 0
        if backward:
            mass[:] = 0.0
            counts[start] = 0.0
        log_likelihoods[start] = _upward(
            ops, index, site_card, site_step, site_base, site_slots, site_prior, table_offset, soft, weights,
            tables[start], muted, counts[start], row_logs[start if keep_logs else 0], keep_logs, backward,
            up, mass, exponents, scaled, block, powers, edge, prior, ones, state_powers, row_powers,
        )  # fmt: skip
        if backward:
            _downward(
                ops, index, site_card, site_step, site_base, site_prior, table_offset, tables[start], wanted,
                counts[start], up, mass, edge, pairs, block,
            )  # fmt: skip
