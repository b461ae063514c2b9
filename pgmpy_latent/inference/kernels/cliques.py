"""Compiled variable elimination for all patterns of known states around a component, one after the other.

A step multiplies factors over a clique of hidden variables and sums one of them out; what is left is a message, which
is a factor of a later step. On the way back every entry of a clique gets its share of the weight, which is what the
entries of the tables count: no factor is ever divided out.
"""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path

import numpy as np
from numba import boolean, float64, int64, njit, types, void

#: Columns of ``steps``: entries of the clique, first factor, number of factors, entries of the message, where message
#: and clique begin in their workspaces, and where the map from clique to message begins.
ENTRIES, FIRST, FACTORS, LEFT, MESSAGE, CLIQUE, OUT = range(7)
#: Columns of ``factors``: whether it is a table or a message, which, and where its map begins.
KIND, SOURCE, MAP = range(3)
TABLE, PASSED = 0, 1


def _upward(steps, factors, maps, base, theta, cliques, messages, scales):
    """Eliminate all variables; return the logarithm of what is left, or minus infinity."""
    total = 0.0
    for number in range(steps.shape[0]):
        step = steps[number]
        begin, left, clique, out = step[MESSAGE], step[LEFT], step[CLIQUE], step[OUT]
        for at in range(left):
            messages[begin + at] = 0.0
        for entry in range(step[ENTRIES]):
            value = 1.0
            for number_of_factor in range(step[FIRST], step[FIRST] + step[FACTORS]):
                factor = factors[number_of_factor]
                place = maps[factor[MAP] + entry]
                if factor[KIND] == TABLE:
                    value *= theta[base[factor[SOURCE]] + place]
                else:
                    value *= messages[factor[SOURCE] + place]
            cliques[clique + entry] = value
            messages[begin + maps[out + entry]] += value
        top = 0.0
        for at in range(left):
            top = max(top, messages[begin + at])
        if not top > 0.0:
            return -np.inf
        scales[number] = top
        total += np.log(top)
        for at in range(left):
            messages[begin + at] /= top
    return total


def _downward(steps, factors, maps, base, weight, cliques, messages, masses, scales, counts, last, keep):
    """Distribute the weight of a pattern over the entries of all tables."""
    for number in range(steps.shape[0] - 1, -1, -1):
        step = steps[number]
        begin, left, clique, out = step[MESSAGE], step[LEFT], step[CLIQUE], step[OUT]
        if number == steps.shape[0] - 1:
            masses[begin] = weight
        for at in range(left):
            value = messages[begin + at]
            masses[begin + at] = masses[begin + at] / value / scales[number] if value > 0.0 else 0.0
        for entry in range(step[ENTRIES]):
            mass = cliques[clique + entry] * masses[begin + maps[out + entry]]
            if keep and number == steps.shape[0] - 1:
                last[entry] = mass
            if mass == 0.0:
                continue
            for number_of_factor in range(step[FIRST], step[FIRST] + step[FACTORS]):
                factor = factors[number_of_factor]
                place = maps[factor[MAP] + entry]
                if factor[KIND] == TABLE:
                    counts[base[factor[SOURCE]] + place] += mass
                else:
                    masses[factor[SOURCE] + place] += mass


def eliminate(
    steps, factors, maps, bases, weights, theta, counts, logs, last, backward, keep, cliques, messages, masses, scales
):  # fmt: skip
    """Eliminate the hidden variables of a component for every pattern.

    Parameters
    ----------
    steps, factors : int64 (n_steps, 7) and (n_factors, 3)
        What to do; see the names of the columns. The last step leaves nothing but a number.
    maps : int64
        For every entry of a clique, its place in a factor or a message.
    bases : int64 (n_patterns, n_tables)
        Offset of the table slice that the observed values select.
    weights : float64 (n_patterns,)
        Weight of every pattern.
    theta : float64 (size,)
        All tables.
    counts : float64 (size,), added to if ``backward``
        Expected counts.
    logs : float64 (n_patterns,), written
        Log-likelihoods; minus infinity where a pattern is impossible, which then counts nothing.
    last : float64 (n_patterns, entries of the last clique), written if ``backward`` and ``keep``
        The weight of each entry of the last clique.
    cliques, messages, masses, scales : float64, written
        Workspace.
    """
    for pattern in range(bases.shape[0]):
        base = bases[pattern]
        logs[pattern] = _upward(steps, factors, maps, base, theta, cliques, messages, scales)
        if not backward:
            continue
        if logs[pattern] > -np.inf:
            masses[:] = 0.0
            _downward(
                steps, factors, maps, base, weights[pattern], cliques, messages, masses, scales, counts,
                last[pattern if keep else 0], keep,
            )  # fmt: skip
        elif keep:
            last[pattern] = 0.0


def _in(kind, ndim):
    return types.Array(kind, ndim, "C", readonly=True)


_upward = njit(nogil=True, error_model="numpy")(_upward)
_downward = njit(nogil=True, error_model="numpy")(_downward)
_SIGNATURE = void(
    _in(int64, 2), _in(int64, 2), _in(int64, 1), _in(int64, 2), _in(float64, 1), _in(float64, 1), float64[::1],
    float64[::1], float64[:, ::1], boolean, boolean, float64[::1], float64[::1], float64[::1], float64[::1],
)  # fmt: skip
#: The compiler keeps its results by the name of a function.
eliminate.__qualname__ = f"eliminate_{blake2b(Path(__file__).read_bytes(), digest_size=8).hexdigest()}"
eliminate = njit(_SIGNATURE, nogil=True, error_model="numpy", cache=True)(eliminate)
