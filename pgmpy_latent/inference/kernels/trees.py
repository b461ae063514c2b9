"""The compiled message passing: arrays in, arrays out.

One call runs a whole plan for every start. A plan is a list of operations on *slots*; a slot is a vector
over the states of one site (a node in the message tree). Upwards, operations fill ``up`` with messages.
Downwards, ``mass`` holds for every slot the total weight of the rows that use it, spread over the states by
their posterior. Posterior mass has two advantages over gradients: a product passes its mass on to its factors
unchanged, and the scale of a message cancels, so that only the log-likelihood depends on rescaling.
"""

from hashlib import blake2b
from pathlib import Path

import numpy as np
from numba import boolean, float32, float64, int8, int32, int64, njit, none, uint16, void
from numba.core.types import Array

from pgmpy_latent.inference.kernels.edges import ROUNDED, bring_back, send
from pgmpy_latent.inference.kernels.numbers import add_features, fill_messages
from pgmpy_latent.inference.kernels.products import (
    BLOCK,
    COUNT,
    EDGE,
    HARD,
    KIND,
    LEAF_ABOVE,
    LEAF_BELOW,
    NUMBERS,
    PIVOT,
    PRODUCT,
    SITE,
    SLOT,
    SOFT,
    TABLE,
    A,
    clear,
    pivot,
    product,
    rounded_product,
    scatter,
)
from pgmpy_latent.inference.kernels.vectors import inlined, inner

#: Which part of a plan to run.
WHOLE, UP, DOWN = range(3)


def _in(dtype, ndim):
    """Return the type of a read-only, contiguous input."""
    return Array(dtype, ndim, "C", readonly=True)


# Evidence


@inner
def _leaf(op, up, base, card, step, table, theta):
    """Fill the messages of an observed leaf; a missing cell gives ones."""
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


@inner
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


@inner
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


@inner
def _mute(op, up, base, card, step):
    """Overwrite the messages of a muted operation with ones."""
    for slot in range(op[SLOT], op[SLOT] + op[COUNT]):
        for state in range(card):
            up[base + slot * step + state] = 1.0


# All together


@inner
def scratch(ops, site_step, up):
    """Return scratch arrays; those for the products of matrices have the precision of the messages."""
    widest, edge = 2, 4
    for site in range(site_step.shape[0]):
        widest = max(widest, site_step[site])
    for number in range(ops.shape[0]):
        if ops[number][KIND] == EDGE:
            edge = max(edge, site_step[ops[number][A]] * site_step[ops[number][SITE]])
    block = np.empty(max(BLOCK, 16 * widest))
    some = ROUNDED * block.shape[0]
    return (
        block, np.empty(widest, np.int64), np.empty(block.shape[0], np.int64), np.empty(BLOCK, np.int64),
        np.empty(BLOCK), np.empty(widest), np.ones(widest), np.empty(edge, up.dtype), np.empty(edge, up.dtype),
        np.empty(edge), np.empty(edge, up.dtype), np.empty(some, up.dtype), np.empty(some, up.dtype),
    )  # fmt: skip


@inlined
def upward(
    ops, begin, end, part, low, high, firsts, lengths, sites, table_offset, soft, weights, theta, muted, counts,
    row_logs, keep_logs, backward, up, mass, mass_firsts, power, scaled, spare, numeric, rounded,
):  # fmt: skip
    """Fill the messages of the operations from ``begin`` to ``end`` and finish at pivots; return the log-likelihood.

    If ``part`` names patterns, there is one operation, which is run for these alone; ``mass`` then has the mass of its
    factors only, where ``mass_firsts`` says.
    """
    site_card, site_step, site_base, site_slots, site_prior = sites
    block, powers, state_powers, row_powers, likelihoods, prior, ones, edge, _, _, _, _, _ = spare
    total = 0.0
    for number in range(begin, end):
        op = ops[number]
        kind, site = op[KIND], op[SITE]
        first, last = (part[0], part[1]) if part[1] >= 0 else (int64(0), op[COUNT])
        card, step, base, slots = site_card[site], site_step[site], site_base[site], site_slots[site]
        if kind == LEAF_BELOW or kind == LEAF_ABOVE:
            _leaf(op, up, base, card, step, table_offset[op[TABLE]], theta)
        elif kind == NUMBERS:
            if numeric is not None:
                scaled[site] |= fill_messages(op, up, power, base, slots, card, step, table_offset, soft, theta)
        elif kind == PRODUCT:
            if rounded is None:
                scaled[site] |= product(
                    op, first, last, up, power, base, slots, card, step, low, high, firsts, powers, scaled[site], ones,
                    state_powers, row_powers, likelihoods,
                )  # fmt: skip
            else:
                rounded_product(
                    op, first, last, up, power, base, slots, card, step, low, high, firsts, powers, scaled[site], ones,
                    state_powers, row_powers, block, likelihoods,
                )  # fmt: skip
                scaled[site] = True
        elif kind == EDGE:
            send(
                op, first, last, up, power, edge, site_card, site_step, site_base, site_slots, site_prior, table_offset,
                theta, scaled,
            )  # fmt: skip
        elif kind == PIVOT:
            mass_base = int64(0) if part[1] >= 0 else base
            if backward and part[1] < 0:
                clear(op, mass, base, step, firsts, lengths)
            total += pivot(
                op, first, last, up, power, mass, mass_base, mass_firsts, base, slots, card, step, low, high, firsts,
                site_prior[site], theta, weights, row_logs, keep_logs, backward, scaled[site], block, likelihoods,
                powers, prior, state_powers, row_powers, counts,
            )  # fmt: skip
        else:
            _evidence(op, up, base, card, step, soft)
        if muted[number]:
            _mute(op, up, base, card, step)
    return total


@inlined
def downward(
    ops, begin, end, part, low, high, firsts, lengths, sites, table_offset, soft, theta, wanted, counts, up, mass,
    target, target_firsts, spare, numeric, rounded,
):  # fmt: skip
    """Bring the mass from the pivots down to the tables, through the operations from ``end`` back to ``begin``.

    If ``part`` names patterns, there is one operation, which is run for these alone; mass of the factors of a product
    then goes to ``target``, where ``target_firsts`` says.
    """
    site_card, site_step, site_base, _, site_prior = sites
    edge, turned, pairs, some_pairs, block, returned = spare[7:]
    for number in range(end - 1, begin - 1, -1):
        if not wanted[number]:
            continue
        op = ops[number]
        kind, site = op[KIND], op[SITE]
        card, step, base = site_card[site], site_step[site], site_base[site]
        first, last = (part[0], part[1]) if part[1] >= 0 else (int64(0), op[COUNT])
        if kind == LEAF_BELOW or kind == LEAF_ABOVE:
            _leaf_counts(op, mass, base, card, step, table_offset[op[TABLE]], theta, counts)
        elif kind == NUMBERS:
            if numeric is not None:
                add_features(op, mass, base, card, step, table_offset, soft, theta, counts)
        elif kind == PRODUCT:
            out = base + (op[SLOT] + first) * step
            target_base = int64(0) if part[1] >= 0 else base
            if part[1] < 0:
                clear(op, mass, base, step, firsts, lengths)
            scatter(op, target, target_base, step, low, high, target_firsts, first, last - first, mass, out)
        elif kind == EDGE:
            bring_back(
                op, first, last, up, mass, edge, turned, pairs, some_pairs, block, returned, site_card, site_step,
                site_base, site_prior, table_offset, theta, counts, rounded,
            )  # fmt: skip


def run(
    ops, span, low, high, firsts, lengths, site_card, site_step, site_base, site_slots, site_prior, table_offset,
    soft, weights, weightings, tables, wanted, muted, counts, log_likelihoods, row_logs, keep_logs, backward, up,
    mass, exponents, scaled, target, target_firsts, numeric, rounded,
):  # fmt: skip
    """Run a plan, or a part of it, for every start.

    Parameters
    ----------
    ops : int64 (n_ops, 10)
        The operations, in upward order.
    span : int64 (5,)
        What to run: WHOLE, or the way UP or DOWN alone, which begin with what stands in the workspace; from which
        operation to which; and, of a single operation, from which pattern to which (-1: all).
    low, high : uint16
        Patterns of the factors of all products, counted from the first slot of each factor: their lower halves, and,
        of the few products that need them, their upper halves.
    firsts, lengths : int64
        First slots of the factors, and how many slots each has.
    site_card, site_step, site_base, site_slots, site_prior : int64 (n_sites,)
        States of the site, numbers per slot, its first entry in ``up``, its first slot, and the entry of ``tables``
        where the prior of the site starts if it is a root (-1: none).
    table_offset : int64 (n_tables,)
        First entry of each table.
    soft : float64
        Given messages.
    weights : float64 (n_weightings, n_patterns)
        Weight of every pattern at the pivots, in one way or several.
    weightings : int64 (starts,)
        Which of these each start uses.
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
    up : float64 or float32 (n_entries,), written
        Workspace: messages, whose precision is that of the products of matrices too.
    mass : float64 (n_entries,), written
        Workspace: the mass of the messages.
    exponents : int32 (n_slots,), written
        Workspace: exponents of the messages.
    scaled : bool (n_sites,), written
        Workspace: whether any message to a site has an exponent.
    target : float64, written
        Mass of the factors of an operation that is run for some patterns, which lie there as ``target_firsts`` says.
        Otherwise ``mass``.
    target_firsts : int64
        Like ``firsts``.
    numeric : bool or None
        None: the plan has no numeric columns, and what they need is not compiled.
    rounded : bool or None
        None: messages are of double precision, and what single precision needs is not compiled.
    """
    sites = (site_card, site_step, site_base, site_slots, site_prior)
    spare = scratch(ops, site_step, up)
    begin, end, part = span[1], span[2], (span[3], span[4])
    for start in range(tables.shape[0]):
        if span[0] == WHOLE:
            scaled[:] = False
            exponents[:] = 0
            if backward:
                counts[start] = 0.0
        logs = row_logs[start if keep_logs else 0]
        if span[0] != DOWN:
            log_likelihoods[start] = upward(
                ops, begin, end, part, low, high, firsts, lengths, sites, table_offset, soft,
                weights[weightings[start]], tables[start], muted, counts[start], logs, keep_logs, backward, up, target,
                target_firsts, exponents, scaled, spare, numeric, rounded,
            )  # fmt: skip
        if backward and span[0] != UP:
            downward(
                ops, begin, end, part, low, high, firsts, lengths, sites, table_offset, soft, tables[start], wanted,
                counts[start], up, mass, target, target_firsts, spare, numeric, rounded,
            )  # fmt: skip


def _digest() -> str:
    """Return a fingerprint of all compiled code: the compiler keeps its results by the name of a function."""
    here = Path(__file__).parent
    texts = [
        (here / name).read_bytes()
        for name in ("trees.py", "edges.py", "numbers.py", "products.py", "matrices.py", "vectors.py")
    ]
    return blake2b(b"".join(texts), digest_size=8).hexdigest()


def signature(number, numeric, rounded):
    """Return the types of the arguments of ``run``, given that of the numbers in messages, and of the last two."""
    return void(
        _in(int64, 2), _in(int64, 1), _in(uint16, 1), _in(uint16, 1), _in(int64, 1), _in(int64, 1), _in(int64, 1),
        _in(int64, 1), _in(int64, 1), _in(int64, 1),
        _in(int64, 1), _in(int64, 1), _in(float64, 1), _in(float64, 2), _in(int64, 1), _in(float64, 2), _in(int8, 1),
        _in(int8, 1), float64[:, ::1], float64[::1], float64[:, ::1], boolean, boolean, number[::1],
        float64[::1], int32[::1], boolean[::1], float64[::1], _in(int64, 1), numeric, rounded,
    )  # fmt: skip


run.__qualname__ = f"run_{_digest()}"


def compiled(precision, numeric):
    """Return ``run`` for messages of a precision, "double" or "single", and for plans with numeric columns or without.

    The compiler keeps the result of each. Most tables have no numeric columns, and need no more than two thirds of it.
    """
    number, rounded = (float32, boolean) if precision == "single" else (float64, none)
    types = signature(number, boolean if numeric else none, rounded)
    return njit(types, nogil=True, error_model="numpy", cache=True)(run)
