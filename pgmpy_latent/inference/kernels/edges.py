"""Messages through an edge, compiled: upwards the messages themselves, downwards their mass, and counts of pairs.

The messages of many patterns are a matrix, and what an edge does to them is a product of matrices: one on the way up,
two on the way down. States that are ruled out are not left out: to look for them takes longer than to multiply zeros.
"""

from pgmpy_latent.inference.kernels.matrices import add_product
from pgmpy_latent.inference.kernels.products import ABOVE, SITE, SLOT, TABLE, A, B, block_rows
from pgmpy_latent.inference.kernels.vectors import add, divide, inlined, inner, multiply

#: How many times as many patterns are worked on at once in single precision.
ROUNDED = 2


@inner
def _write_edge(op, edge, site_card, site_step, site_prior, table_offset, theta):
    """Write the factor [sender, receiver] of an EDGE; return the position of the sender's prior, or -1.

    The prior of a root is part of its message.
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


@inner
def _turn(edge, rows, columns, step, turned, turned_step):
    """Write the factor of an EDGE the other way round: [receiver, sender]."""
    for column in range(columns):
        for row in range(rows):
            turned[column * turned_step + row] = edge[row * step + column]
        for row in range(rows, turned_step):
            turned[column * turned_step + row] = 0.0


@inlined
def send(
    op, first, last, up, power, edge, site_card, site_step, site_base, site_slots, site_prior, table_offset, theta,
    scaled,
):  # fmt: skip
    """Run an EDGE upwards, for some patterns: message = product at the sender @ edge."""
    source, site = op[A], op[SITE]
    rows, sender_step, step = site_card[source], site_step[source], site_step[site]
    _write_edge(op, edge, site_card, site_step, site_prior, table_offset, theta)
    begin = site_base[source] + (op[B] + first) * sender_step
    out = site_base[site] + (op[SLOT] + first) * step
    add_product(up, out, step, up, begin, sender_step, 1, edge, 0, step, last - first, rows, step, True)
    if scaled[source]:
        scaled[site] = True
        here, there = site_slots[site] + op[SLOT], site_slots[source] + op[B]
        for pattern in range(first, last):
            power[here + pattern] = power[there + pattern]


@inlined
def _return_mass(up, mass, begin, sender_step, out, step, columns, n_patterns, turned, pairs, block):
    """Write the mass of the products at the sender; add products times outside messages to ``pairs``.

    Blocks of patterns stay in the nearest cache from one product to the next.
    """
    rows = block_rows(step)
    for first in range(0, n_patterns, rows):
        n_rows = min(rows, n_patterns - first)
        here, there = begin + first * sender_step, out + first * step
        divide(block, 0, mass, there, up, there, n_rows * step)
        add_product(
            mass, here, sender_step, block, 0, step, 1, turned, 0, sender_step, n_rows, columns, sender_step, True
        )
        multiply(mass, here, mass, here, up, here, n_rows * sender_step)
        add_product(pairs, 0, step, up, here, 1, sender_step, block, 0, step, sender_step, n_rows, step, False)


@inner
def _return_rounded_mass(
    up, mass, begin, sender_step, out, step, columns, n_patterns, turned, pairs, some_pairs, block, returned
):
    """Do the same with messages of single precision: only products of matrices are rounded, and sums over a block."""
    rows = ROUNDED * block_rows(max(step, sender_step))
    for first in range(0, n_patterns, rows):
        n_rows = min(rows, n_patterns - first)
        here, there = begin + first * sender_step, out + first * step
        divide(block, 0, mass, there, up, there, n_rows * step)
        add_product(
            returned, 0, sender_step, block, 0, step, 1, turned, 0, sender_step, n_rows, columns, sender_step, True
        )
        multiply(mass, here, returned, 0, up, here, n_rows * sender_step)
        add_product(some_pairs, 0, step, up, here, 1, sender_step, block, 0, step, sender_step, n_rows, step, True)
        add(pairs, 0, some_pairs, 0, sender_step * step)


@inlined
def bring_back(
    op, first, last, up, mass, edge, turned, pairs, some_pairs, block, returned, site_card, site_step, site_base,
    site_prior, table_offset, theta, counts, rounded,
):  # fmt: skip
    """Run an EDGE downwards, for some patterns: mass of messages becomes mass at the sender, and counts of pairs."""
    source, site = op[A], op[SITE]
    rows, sender_step = site_card[source], site_step[source]
    columns, step = site_card[site], site_step[site]
    prior = _write_edge(op, edge, site_card, site_step, site_prior, table_offset, theta)
    _turn(edge, rows, columns, step, turned, sender_step)
    pairs[: sender_step * step] = 0.0
    begin = site_base[source] + (op[B] + first) * sender_step
    out = site_base[site] + (op[SLOT] + first) * step
    n_patterns = last - first
    if rounded is None:
        _return_mass(up, mass, begin, sender_step, out, step, columns, n_patterns, turned, pairs, block)
    else:
        _return_rounded_mass(
            up, mass, begin, sender_step, out, step, columns, n_patterns, turned, pairs, some_pairs, block, returned
        )
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
