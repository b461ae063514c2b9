"""The only compiled code: arrays in, arrays out.

One call runs a whole plan for every start. A plan is a list of operations on *slots*; a slot is a vector
over the states of one site (a node in the message tree). Upwards, operations fill ``values`` with messages.
Downwards, ``mass`` holds for every slot the total weight of the rows that use it, spread over the states by
their posterior. Working with posterior mass in place of gradients has two gifts: a product passes its mass on
to its factors unchanged, and the scale of a message cancels, so that only the log-likelihood has to know of
rescaling.

Exponents count factors of ``2**-512`` that were taken out of a message.
"""

import numpy as np
from numba import boolean, float64, int8, int32, int64, njit, void
from numba.core.types import Array

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
#: A product this small is computed again with one exponent per state.
SMALL = 1e-200
#: Rows that are multiplied together, factor by factor, so that both stay in the cache.
BLOCK = 128


def _in(dtype, ndim):
    """Return the type of a read-only, contiguous input."""
    return Array(dtype, ndim, "C", readonly=True)


@njit(nogil=True)
def _scaled_product(values, base, card, index, pointer, count, factors, pattern, out, powers):
    """Multiply the factors of one pattern with one exponent per state; return the common exponent."""
    for state in range(card):
        out[state] = 1.0
        powers[state] = 0
    for factor in range(factors):
        start = base + index[pointer + factor * count + pattern] * card
        for state in range(card):
            value = values[start + state]
            if value < TINY and value > 0.0:
                value *= HUGE
                powers[state] += 1
            product = out[state] * value
            if product < TINY and product > 0.0:
                product *= HUGE
                powers[state] += 1
            out[state] = product
    least = -1
    for state in range(card):
        if out[state] > 0.0 and (least < 0 or powers[state] < least):
            least = powers[state]
    if least < 0:
        return 0
    for state in range(card):
        if powers[state] == least + 1:
            out[state] *= TINY
        elif powers[state] > least + 1:
            out[state] = 0.0
    return least


@njit(nogil=True)
def _product_block(values, base, card, index, pointer, count, factors, first, last, out):
    """Multiply the factors of the patterns first..last into ``out``."""
    start = pointer + first
    for row in range(last - first):
        slot = base + index[start + row] * card
        for state in range(card):
            out[row * card + state] = values[slot + state]
    for _ in range(1, factors):
        start += count
        for row in range(last - first):
            slot = base + index[start + row] * card
            for state in range(card):
                out[row * card + state] *= values[slot + state]


@njit(nogil=True)
def _largest(out, start, card):
    largest = 0.0
    for state in range(card):
        if out[start + state] > largest:
            largest = out[start + state]
    return largest


@njit(nogil=True)
def _product(op, values, exponents, base, slot_base, card, index, powers, scaled):
    """Fill the slots of a PRODUCT; return whether any slot of it carries an exponent."""
    count, factors, pointer = op[COUNT], op[A], op[B]
    out = values[base + op[SLOT] * card : base + (op[SLOT] + count) * card]
    any_scaled = False
    for first in range(0, count, BLOCK):
        last = min(first + BLOCK, count)
        block = out[first * card : last * card]
        _product_block(values, base, card, index, pointer, count, factors, first, last, block)
        for row in range(last - first):
            pattern = first + row
            power = 0
            if _largest(block, row * card, card) < SMALL:
                power = _scaled_product(
                    values, base, card, index, pointer, count, factors, pattern,
                    block[row * card : (row + 1) * card], powers,
                )  # fmt: skip
            if scaled:
                for factor in range(factors):
                    power += exponents[slot_base + index[pointer + factor * count + pattern]]
            if power != 0:
                exponents[slot_base + op[SLOT] + pattern] = power
                any_scaled = True
    return any_scaled


@njit(nogil=True)
def _edge_matrix(edge, above, table, prior, tables, rows, columns):
    """Write the factor between a site (rows) and its neighbour towards the pivot (columns).

    ``above`` tells that the site is the parent in the model; the root's prior travels with its message.
    """
    for row in range(rows):
        weight = tables[prior + row] if prior >= 0 else 1.0
        for column in range(columns):
            if above:
                edge[row * columns + column] = weight * tables[table + row * columns + column]
            else:
                edge[row * columns + column] = tables[table + column * rows + row]


@njit(nogil=True)
def _through_edge(source, edge, target, count, rows, columns):
    """Compute target = source @ edge."""
    for pattern in range(count):
        for column in range(columns):
            target[pattern * columns + column] = 0.0
        for row in range(rows):
            value = source[pattern * rows + row]
            if value != 0.0:
                for column in range(columns):
                    target[pattern * columns + column] += value * edge[row * columns + column]


@njit(nogil=True)
def _back_through_edge(source, edge, target, mass_source, mass_target, pairs, count, rows, columns):
    """Turn the mass of messages into the mass of what was sent, and add up the pairs of states."""
    for pattern in range(count):
        for column in range(columns):
            message = target[pattern * columns + column]
            at = pattern * columns + column
            mass_target[at] = mass_target[at] / message if message > 0.0 else 0.0
        for row in range(rows):
            value = source[pattern * rows + row]
            total = 0.0
            for column in range(columns):
                ratio = mass_target[pattern * columns + column]
                total += edge[row * columns + column] * ratio
                pairs[row * columns + column] += value * ratio
            mass_source[pattern * rows + row] = value * total


@njit(nogil=True)
def _add_edge_counts(counts, pairs, edge, above, table, prior, rows, columns):
    for row in range(rows):
        for column in range(columns):
            count = pairs[row * columns + column] * edge[row * columns + column]
            if above:
                counts[table + row * columns + column] += count
                if prior >= 0:
                    counts[prior + row] += count
            else:
                counts[table + column * rows + row] += count


@njit(nogil=True)
def _leaf(op, values, base, card, table, tables):
    """Fill the messages of an observed leaf; a missing cell says nothing."""
    states = op[A]
    start = base + op[SLOT] * card
    for code in range(states):
        for state in range(card):
            if op[KIND] == LEAF_BELOW:
                values[start + code * card + state] = tables[table + state * states + code]
            else:
                values[start + code * card + state] = tables[table + code * card + state]
    for at in range(start + states * card, start + op[COUNT] * card):
        values[at] = 1.0


@njit(nogil=True)
def _leaf_counts(op, mass, base, card, table, tables, counts):
    states = op[A]
    start = base + op[SLOT] * card
    for code in range(states):
        for state in range(card):
            at = table + (state * states + code if op[KIND] == LEAF_BELOW else code * card + state)
            counts[at] += mass[start + code * card + state]
    for slot in range(states, op[COUNT]):  # missing cells: spread by the table
        for state in range(card):
            for code in range(states):
                at = table + state * states + code
                counts[at] += mass[start + slot * card + state] * tables[at]


@njit(nogil=True)
def _evidence(op, values, base, card, soft):
    start = base + op[SLOT] * card
    if op[KIND] == SOFT:
        for at in range(op[COUNT] * card):
            values[start + at] = soft[op[A] + at]
    else:
        for at in range(op[COUNT] * card):
            values[start + at] = 1.0
        if op[KIND] == HARD:
            for code in range(op[A]):
                for state in range(card):
                    values[start + code * card + state] = 1.0 if code == state else 0.0


@njit(nogil=True)
def _pivot(
    op, values, exponents, mass, base, slot_base, card, index, prior, tables,
    weights, row_logs, keep_logs, backward, scaled, block, powers, counts,
):  # fmt: skip
    """Run the last product row by row; return the log-likelihood of its patterns."""
    count, factors, pointer = op[COUNT], op[A], op[B]
    total = 0.0
    for first in range(0, count, BLOCK):
        last = min(first + BLOCK, count)
        _product_block(values, base, card, index, pointer, count, factors, first, last, block)
        for row in range(last - first):
            pattern = first + row
            start = row * card
            weight = weights[op[SLOT] + pattern]
            power = 0
            if _largest(block, start, card) < SMALL:
                power = _scaled_product(
                    values, base, card, index, pointer, count, factors, pattern,
                    block[start : start + card], powers,
                )  # fmt: skip
            if scaled:
                for factor in range(factors):
                    power += exponents[slot_base + index[pointer + factor * count + pattern]]
            likelihood = 0.0
            for state in range(card):
                if prior >= 0:
                    block[start + state] *= tables[prior + state]
                likelihood += block[start + state]
            log = np.log(likelihood) if likelihood > 0.0 else -np.inf
            log += power * LOG_TINY
            if keep_logs:
                row_logs[op[SLOT] + pattern] = log
            if weight > 0.0:
                total += weight * log
            share = weight / likelihood if likelihood > 0.0 else 0.0
            for state in range(card):
                block[start + state] *= share
        if backward:
            if prior >= 0:
                for row in range(last - first):
                    for state in range(card):
                        counts[prior + state] += block[row * card + state]
            start = pointer + first
            for _ in range(factors):
                for row in range(last - first):
                    slot = base + index[start + row] * card
                    for state in range(card):
                        mass[slot + state] += block[row * card + state]
                start += count
    return total


@njit(nogil=True)
def _product_mass(op, mass, base, card, index):
    """Pass the mass of a stored product on to its factors."""
    count, factors, pointer = op[COUNT], op[A], op[B]
    out = base + op[SLOT] * card
    for _ in range(factors):
        for pattern in range(count):
            slot = base + index[pointer + pattern] * card
            for state in range(card):
                mass[slot + state] += mass[out + pattern * card + state]
        pointer += count


@njit(nogil=True)
def _edge_of(op, edge, site_card, site_prior, table_offset, theta):
    """Write the matrix of an EDGE; return the position of the prior that goes with it, or -1."""
    source = op[A]
    prior = site_prior[source] if op[ABOVE] else -1
    columns = site_card[op[SITE]]
    _edge_matrix(edge, op[ABOVE], table_offset[op[TABLE]], prior, theta, site_card[source], columns)
    return prior


@njit(nogil=True)
def _send(op, up, power, edge, site_card, site_base, site_slots, site_prior, table_offset, theta, scaled):
    """Run an EDGE upwards."""
    source, site = op[A], op[SITE]
    rows, card = site_card[source], site_card[site]
    _edge_of(op, edge, site_card, site_prior, table_offset, theta)
    begin = site_base[source] + op[B] * rows
    out = site_base[site] + op[SLOT] * card
    _through_edge(up[begin:], edge, up[out:], op[COUNT], rows, card)
    if scaled[source]:
        scaled[site] = True
        here, there = site_slots[site] + op[SLOT], site_slots[source] + op[B]
        for pattern in range(op[COUNT]):
            power[here + pattern] = power[there + pattern]


@njit(nogil=True)
def _return(op, up, mass, edge, pairs, site_card, site_base, site_prior, table_offset, theta, counts):
    """Run an EDGE downwards."""
    source, site = op[A], op[SITE]
    rows, card = site_card[source], site_card[site]
    prior = _edge_of(op, edge, site_card, site_prior, table_offset, theta)
    pairs[: rows * card] = 0.0
    begin = site_base[source] + op[B] * rows
    out = site_base[site] + op[SLOT] * card
    _back_through_edge(up[begin:], edge, up[out:], mass[begin:], mass[out:], pairs, op[COUNT], rows, card)
    _add_edge_counts(counts, pairs, edge, op[ABOVE], table_offset[op[TABLE]], prior, rows, card)


@njit(nogil=True)
def _mute(op, up, base, card):
    """Overwrite the messages of an operation with ones: what they say is not to be heard."""
    start = base + op[SLOT] * card
    for at in range(start, start + op[COUNT] * card):
        up[at] = 1.0


@njit(nogil=True)
def _upward(
    ops, index, site_card, site_base, site_slots, site_prior, table_offset, soft, weights,
    theta, muted, counts, row_logs, keep_logs, backward, up, mass, power, scaled, block, powers, edge,
):  # fmt: skip
    """Fill all messages and finish at the pivots; return the log-likelihood."""
    total = 0.0
    for at in range(ops.shape[0]):
        op = ops[at]
        kind, site = op[KIND], op[SITE]
        card, base = site_card[site], site_base[site]
        if kind == LEAF_BELOW or kind == LEAF_ABOVE:
            _leaf(op, up, base, card, table_offset[op[TABLE]], theta)
        elif kind == PRODUCT:
            if _product(op, up, power, base, site_slots[site], card, index, powers, scaled[site]):
                scaled[site] = True
        elif kind == EDGE:
            _send(op, up, power, edge, site_card, site_base, site_slots, site_prior, table_offset, theta, scaled)
        elif kind == PIVOT:
            total += _pivot(
                op, up, power, mass, base, site_slots[site], card, index, site_prior[site], theta,
                weights, row_logs, keep_logs, backward, scaled[site], block, powers, counts,
            )  # fmt: skip
        else:
            _evidence(op, up, base, card, soft)
        if muted[at]:
            _mute(op, up, base, card)
    return total


@njit(nogil=True)
def _downward(ops, index, site_card, site_base, site_prior, table_offset, theta, wanted, counts, up, mass, edge, pairs):
    """Bring the mass from the pivots down to the tables."""
    for at in range(ops.shape[0] - 1, -1, -1):
        if not wanted[at]:
            continue
        op = ops[at]
        kind, site = op[KIND], op[SITE]
        card, base = site_card[site], site_base[site]
        if kind == LEAF_BELOW or kind == LEAF_ABOVE:
            _leaf_counts(op, mass, base, card, table_offset[op[TABLE]], theta, counts)
        elif kind == PRODUCT:
            _product_mass(op, mass, base, card, index)
        elif kind == EDGE:
            _return(op, up, mass, edge, pairs, site_card, site_base, site_prior, table_offset, theta, counts)


@njit(
    void(
        _in(int64, 2), _in(int32, 1), _in(int64, 1), _in(int64, 1), _in(int64, 1), _in(int64, 1),
        _in(int64, 1), _in(float64, 1), _in(float64, 1), _in(float64, 2), _in(int8, 1),
        _in(int8, 1), float64[:, ::1], float64[::1], float64[:, ::1], boolean, boolean, float64[:, ::1],
        int32[::1],
    ),
    nogil=True,
    cache=True,
)  # fmt: skip
def run(
    ops, index, site_card, site_base, site_slots, site_prior, table_offset, soft, weights,
    tables, wanted, muted, counts, log_likelihoods, row_logs, keep_logs, backward, values, exponents,
):  # fmt: skip
    """Run a plan for every start.

    Parameters
    ----------
    ops : int64 (n_ops, 8)
        The operations, in upward order.
    index : int32
        Slots of the factors of all products.
    site_card, site_base, site_slots, site_prior : int64 (n_sites,)
        States of the site, its first entry in ``values``, its first slot, and the entry of ``tables`` where
        the prior of the site starts if it is a root (-1: none).
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
    values : float64 (2, n_entries), written
        Workspace: messages, and their mass.
    exponents : int32 (n_slots,), written
        Workspace: exponents of the messages.
    """
    widest = site_card.max()
    block = np.empty(BLOCK * widest)
    powers = np.empty(widest, np.int64)
    edge = np.empty(widest * widest)
    pairs = np.empty(widest * widest)
    scaled = np.empty(site_card.shape[0], np.bool_)
    for start in range(tables.shape[0]):
        scaled[:] = False
        exponents[:] = 0
        if backward:
            values[1] = 0.0
            counts[start] = 0.0
        log_likelihoods[start] = _upward(
            ops, index, site_card, site_base, site_slots, site_prior, table_offset, soft, weights,
            tables[start], muted, counts[start], row_logs[start if keep_logs else 0], keep_logs, backward,
            values[0], values[1], exponents, scaled, block, powers, edge,
        )  # fmt: skip
        if backward:
            _downward(
                ops, index, site_card, site_base, site_prior, table_offset, tables[start], wanted,
                counts[start], values[0], values[1], edge, pairs,
            )  # fmt: skip
