"""Numeric columns, compiled: densities of values become messages, and their mass becomes expected features.

All numeric columns below a site are one operation. Logarithms of densities are added up over the columns; only then is
the exponential taken, once per pattern and state, after a power of two was taken out into the exponent of the message.
What the numbers in a table mean is written in :class:`pgmpy_latent.model.emissions.Emission`, once more.
"""

import math

import numpy as np
from numba import int64, njit

from pgmpy_latent.inference.kernels.products import COUNT, HALVES, SLOT, A, B
from pgmpy_latent.inference.kernels.vectors import INNER, inner, is_single

#: Columns of a header, and how many there are.
TABLE, KIND_OF_COLUMN, LARGEST, FLOOR, HAS_MISSING, N_LEVELS, LEVELS = range(7)
HEADER = 8
#: Numbers of the kinds.
GAUSSIAN, SHARED_GAUSSIAN, POISSON, NEGATIVE_BINOMIAL = range(4)
#: Not a numeric column, but the states of the site itself, where rows show them.
KNOWN_STATE = 4
#: Largest power of two, in units of exponents: a row farther out than that is put there.
FARTHEST = 2**30
#: Patterns whose logarithms are added up together: they stay in the nearest cache.
ROWS = 256
#: Logarithm of the largest entry of a message: most messages need no exponent, which takes time, and products of some
#: messages stay in the range of numbers.
ROOM = 40.0
#: Smallest entry of a message: a state that is less likely than that is not ruled out, since others may be later.
LEAST = 2.0**-1000
LOG_TWO, LOG_LEAST, PER_LOG_TWO = math.log(2.0), -1000 * math.log(2.0), 1 / math.log(2.0)
#: The logarithm of two in two parts, of which the first has few digits.
#: And what rounds a number to a whole one when it is added and taken away again.
ROUNDER = 1.5 * 2.0**52
LOG_TWO_HIGH, LOG_TWO_LOW = 6.93145751953125e-1, 1.42860682030941723212e-6
#: As in ``model.emissions``.
LEAST_RATE, LEAST_DISPERSION, LARGEST_DISPERSION = 1e-9, 1e-8, 1e4
#: Steps of Newton's method for a dispersion, and the relative change at which it ends.
STEPS, CLOSE = 100, 1e-12


@inner
def _width(kind):
    return 2 if kind == POISSON else 3


@inner
def _gaussian(table, largest, floor, theta):
    """Return mean and variance."""
    mean = largest * (4.0 * theta[table + 1] - 1.0)
    return mean, max(2.0 * largest * largest * theta[table + 2] - mean * mean, floor)


@inner
def _count(kind, table, largest, theta):
    """Return the mean of a count, and its dispersion."""
    if kind == POISSON:
        return max(largest * theta[table + 1], LEAST_RATE * largest), 0.0
    twice = min(2.0 * theta[table + 2], 1.0 - 1e-12)
    dispersion = min(max(twice / (1.0 - twice), LEAST_DISPERSION), LARGEST_DISPERSION)
    return max(2.0 * largest * theta[table + 1], LEAST_RATE * largest), dispersion


@inner
def log_rising(value, dispersion):
    """Return ``log(gamma(value + 1/a) / gamma(1/a)) + value log(a)``, exact for tiny dispersions ``a`` as well."""
    if value < 16.0 or (value < 1024.0 and value * dispersion < 1e-2):
        total = 0.0
        for at in range(int64(value)):
            total += math.log1p(at * dispersion)
        return total
    size = 1.0 / dispersion
    return math.lgamma(value + size) - math.lgamma(size) + value * math.log(dispersion)


@inner
def _log_levels(op, soft, card, table_offset, theta):
    """Return the logarithms of the probabilities of the distinct values of columns that have tables of them."""
    sizes = 0
    for member in range(op[B]):
        header = op[A] + member * HEADER
        if int64(soft[header + KIND_OF_COLUMN]) == NEGATIVE_BINOMIAL:
            sizes += int64(soft[header + N_LEVELS])
    logs = np.empty((card, max(sizes, 1)))
    first = 0
    for member in range(op[B]):
        header = op[A] + member * HEADER
        if int64(soft[header + KIND_OF_COLUMN]) != NEGATIVE_BINOMIAL:
            continue
        n_levels, at = int64(soft[header + N_LEVELS]), int64(soft[header + LEVELS])
        table = table_offset[int64(soft[header + TABLE])]
        for state in range(card):
            mean, dispersion = _count(NEGATIVE_BINOMIAL, table + 3 * state, soft[header + LARGEST], theta)
            log_zero = -math.log1p(mean * dispersion) / dispersion
            log_odds = math.log(mean) - math.log1p(mean * dispersion)
            for level in range(n_levels):
                value = soft[at + level]
                logs[state, first + level] = log_zero + value * log_odds + log_rising(value, dispersion)
        first += n_levels
    return logs


@inner
def _add_column(soft, header, data, n_rows, card, table, theta, by_level, first_level, logs):
    """Add the logarithms of a column's densities to those of the columns before it."""
    kind = int64(soft[header + KIND_OF_COLUMN])
    has_missing = soft[header + HAS_MISSING] > 0.0
    for state in range(card):
        if kind == KNOWN_STATE:
            for row in range(n_rows):
                value = soft[data + row]
                if value == value and value != state:
                    logs[state, row] = -np.inf
            continue
        if kind == NEGATIVE_BINOMIAL:
            for row in range(n_rows):
                value = soft[data + row]
                if value == value:
                    logs[state, row] += by_level[state, first_level + int64(value)]
            continue
        if kind == POISSON:
            mean, _ = _count(kind, table + 2 * state, soft[header + LARGEST], theta)
            constant, slope, curve, centre = -mean, math.log(mean), 0.0, 0.0
        else:
            mean, variance = _gaussian(table + 3 * state, soft[header + LARGEST], soft[header + FLOOR], theta)
            constant, slope, curve, centre = -0.5 * math.log(2.0 * math.pi * variance), 0.0, -0.5 / variance, mean
        if has_missing:
            for row in range(n_rows):
                value = soft[data + row] - centre
                if value == value:
                    logs[state, row] += constant + value * (slope + curve * value)
        else:
            for row in range(n_rows):
                value = soft[data + row] - centre
                logs[state, row] += constant + value * (slope + curve * value)


@inner
def fill_messages(op, up, power, base, slot_base, card, step, table_offset, soft, theta):
    """Fill the messages of numeric columns; return whether any carries an exponent."""
    n, n_members = op[COUNT], op[B]
    data = op[A] + n_members * HEADER
    unit, room = (LOG_TWO, 0.0) if is_single(up) else (HALVES * LOG_TWO, ROOM)
    by_level = _log_levels(op, soft, card, table_offset, theta)
    logs, largest, powers = np.empty((card, ROWS)), np.empty(ROWS), np.empty(ROWS, np.int64)
    factors = powers.view(np.float64)
    any_scaled = False
    for first in range(0, n, ROWS):
        n_rows = min(ROWS, n - first)
        logs[:, :n_rows] = 0.0
        first_level = 0
        for member in range(n_members):
            header = op[A] + member * HEADER
            table = table_offset[int64(soft[header + TABLE])]
            _add_column(
                soft, header, data + member * n + first, n_rows, card, table, theta, by_level, first_level, logs
            )
            if int64(soft[header + KIND_OF_COLUMN]) == NEGATIVE_BINOMIAL:
                first_level += int64(soft[header + N_LEVELS])
        largest[:n_rows] = logs[0, :n_rows]
        for state in range(1, card):
            for row in range(n_rows):
                largest[row] = max(largest[row], logs[state, row])
        for row in range(n_rows):
            exponent = int64(min(max(math.floor((room - largest[row]) / unit), -FARTHEST), FARTHEST))
            largest[row] = exponent * unit
            power[slot_base + op[SLOT] + first + row] = exponent
            any_scaled |= exponent != 0
        at = base + (op[SLOT] + first) * step
        for state in range(card):
            exponentials(logs[state], largest, n_rows, powers, factors)
            for row in range(n_rows):
                up[at + row * step + state] = logs[state, row]
        for state in range(card, step):
            for row in range(n_rows):
                up[at + row * step + state] = 0.0
    return any_scaled


@inner
def exponentials(logs, shifts, n, powers, factors):
    """Replace logarithms by the exponentials of what they are after a shift, to 1e-15; none is below ``LEAST``.

    Written so that the compiler uses vector instructions: ``exp(x) = 2**k exp(r)`` with ``|r| <= log(2) / 2``, and a
    polynomial for the second factor. ``powers`` and ``factors`` are the same memory, as integers and as numbers.
    """
    for row in range(n):
        number = max(logs[row] + shifts[row], LOG_LEAST)
        rounded = number * PER_LOG_TWO + ROUNDER
        factors[row] = rounded  # whose last bits are those of k
        whole = rounded - ROUNDER
        rest = (number - whole * LOG_TWO_HIGH) - whole * LOG_TWO_LOW
        value = 1.0 / 6227020800.0
        value = value * rest + 1.0 / 479001600.0
        value = value * rest + 1.0 / 39916800.0
        value = value * rest + 1.0 / 3628800.0
        value = value * rest + 1.0 / 362880.0
        value = value * rest + 1.0 / 40320.0
        value = value * rest + 1.0 / 5040.0
        value = value * rest + 1.0 / 720.0
        value = value * rest + 1.0 / 120.0
        value = value * rest + 1.0 / 24.0
        value = value * rest + 1.0 / 6.0
        value = value * rest + 0.5
        value = value * rest + 1.0
        value = value * rest + 1.0
        # a state that is ruled out stays so; minus infinity less itself is not a number
        logs[row] = value if logs[row] > -np.inf else 0.0
    for row in range(n):
        powers[row] = (powers[row] + 1023) << 52
    for row in range(n):
        logs[row] *= factors[row]


# Expected features


@njit(**INNER, fastmath={"reassoc", "contract"})
def _add_sums(soft, data, n, shares, card, sums):
    """Add, for every state, the mass of the values that are there, and its products with them and their squares."""
    for state in range(card):
        there, first, second = 0.0, 0.0, 0.0
        for row in range(n):
            value = soft[data + row]
            share = shares[state, row] if value == value else 0.0
            number = value if value == value else 0.0
            there += share
            first += share * number
            second += share * (number * number)
        sums[0, state] += there
        sums[1, state] += first
        sums[2, state] += second


@inner
def _all_sums(op, soft, data, n_members, mass, begin, card, step, totals):
    """Return the sums of all columns, and fill in the mass of every state."""
    n = op[COUNT]
    sums, shares = np.zeros((n_members, 3, card)), np.empty((card, ROWS))
    for first in range(0, n, ROWS):
        n_rows = min(ROWS, n - first)
        for row in range(n_rows):
            for state in range(card):
                shares[state, row] = mass[begin + (first + row) * step + state]
        for state in range(card):
            totals[state] += shares[state, :n_rows].sum()
        for member in range(n_members):
            _add_sums(soft, data + member * n + first, n_rows, shares, card, sums[member])
    return sums


@njit(nogil=True, error_model="numpy")
def dispersion_of(values, counts, start):
    """Return the dispersion of the negative binomial distribution that is most likely, given counts of values.

    The mean is that of the counts. Newton's method on the logarithm of the dispersion, within bounds that every step
    narrows.

    Examples
    --------
    >>> dispersion_of(np.arange(3.0), np.array([1.0, 2.0, 1.0]), 0.5)
    1e-08
    """
    total, mean = 0.0, 0.0
    for at in range(values.shape[0]):
        total += counts[at]
        mean += counts[at] * values[at]
    if total <= 0.0 or mean <= 0.0:
        return start
    mean /= total
    low, high = LEAST_DISPERSION, LARGEST_DISPERSION
    if _slope(values, counts, total, mean, low) <= 0.0:
        return low
    if _slope(values, counts, total, mean, high) >= 0.0:
        return high
    here = min(max(start, low), high)
    slope = _slope(values, counts, total, mean, here)
    for _ in range(STEPS):
        if slope > 0.0:
            low = here
        else:
            high = here
        near = here * (1.0 + 1e-5)
        curve = (_slope(values, counts, total, mean, near) - slope) / 1e-5  # by the logarithm of the dispersion
        new = here * math.exp(-slope / curve) if curve < 0.0 else 0.0
        if not low < new < high:
            new = math.sqrt(low * high)
        done = abs(new - here) <= CLOSE * here
        here = new
        slope = _slope(values, counts, total, mean, here)
        if done or slope == 0.0:
            break
    return here


@inner
def _slope(values, counts, total, mean, dispersion):
    """Return the derivative of the log-likelihood by the logarithm of the dispersion."""
    slope = 0.0
    size = 1.0 / dispersion
    for at in range(values.shape[0]):
        if counts[at] <= 0.0:
            continue
        value, inner = values[at], 0.0
        if value < 64.0:
            for number in range(int64(value)):
                inner += number * dispersion / (1.0 + number * dispersion)
        else:
            inner = value - size * (_digamma(value + size) - _digamma(size))
        slope += counts[at] * inner
    product = mean * dispersion
    # d/dlog(a) of -(value + 1/a) log(1 + a mean), summed over the counts, whose mean is ``mean``
    return slope + total * (math.log1p(product) * size - mean)


@inner
def _digamma(x):
    """Return the derivative of the logarithm of the gamma function, for positive numbers."""
    total = 0.0
    while x < 10.0:
        total -= 1.0 / x
        x += 1.0
    inverse = 1.0 / (x * x)
    series = inverse * (1 / 12 - inverse * (1 / 120 - inverse * (1 / 252 - inverse * (1 / 240 - inverse / 132))))
    return total + math.log(x) - 0.5 / x - series


@inner
def _dispersions(soft, header, data, n, mass, begin, card, step, table, theta, sums):
    """Replace the sums of squares by dispersions times the mass, and sums of positions by those of values."""
    n_levels, levels = int64(soft[header + N_LEVELS]), int64(soft[header + LEVELS])
    shown = np.zeros((card, n_levels))
    for row in range(n):
        value = soft[data + row]
        if value == value:
            at = begin + row * step
            for state in range(card):
                shown[state, int64(value)] += mass[at + state]
    values = np.empty(n_levels)
    for level in range(n_levels):
        values[level] = soft[levels + level]
    for state in range(card):
        _, old = _count(NEGATIVE_BINOMIAL, table + 3 * state, soft[header + LARGEST], theta)
        sums[1, state] = 0.0
        for level in range(n_levels):
            sums[1, state] += shown[state, level] * values[level]
        dispersion = dispersion_of(values, shown[state], old)
        sums[2, state] = sums[0, state] * dispersion / (1.0 + dispersion)


@inner
def add_features(op, mass, base, card, step, table_offset, soft, theta, counts):
    """Add the expected features of numeric columns to the counts; missing cells have those of the tables.

    The dispersion of a negative binomial is no mean of features: in its place stands the most likely one.
    """
    n, n_members = op[COUNT], op[B]
    data, begin = op[A] + n_members * HEADER, base + op[SLOT] * step
    totals = np.zeros(card)
    all_sums = _all_sums(op, soft, data, n_members, mass, begin, card, step, totals)
    for member in range(n_members):
        header = op[A] + member * HEADER
        kind, largest = int64(soft[header + KIND_OF_COLUMN]), soft[header + LARGEST]
        if kind == KNOWN_STATE:
            continue
        table = table_offset[int64(soft[header + TABLE])]
        width, column = _width(kind), data + member * n
        sums = all_sums[member]
        if kind == NEGATIVE_BINOMIAL:
            _dispersions(soft, header, column, n, mass, begin, card, step, table, theta, sums)
        for state in range(card):
            at, there, square = table + width * state, sums[0, state], 0.0
            if kind == POISSON:
                mean = sums[1, state] / largest
            elif kind == NEGATIVE_BINOMIAL:
                mean, square = sums[1, state] / (2.0 * largest), 0.5 * sums[2, state]
            else:
                mean = 0.25 * (there + sums[1, state] / largest)
                square = 0.5 * sums[2, state] / (largest * largest)
            gone = max(totals[state] - there, 0.0) if soft[header + HAS_MISSING] > 0.0 else 0.0
            counts[at] += there - mean - square + gone * theta[at]
            counts[at + 1] += mean + gone * theta[at + 1]
            if width == 3:
                counts[at + 2] += square + gone * theta[at + 2]
